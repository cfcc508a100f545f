//! The kernels that are timed, as a table.

/// One kernel of the benchmark.
#[derive(Debug)]
pub struct Kernel {
    /// Which one.
    pub id: KernelId,
    /// Its name on the command line, in JSON and as the part of a metric.
    pub name: &'static str,
    /// What one run of it works through, and so what its rate counts.
    pub work: Work,
    /// What it tells, in one line.
    pub tells: &'static str,
}

/// The kernels by what they do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelId {
    /// Hands over one empty kernel to an idle device, without waiting for it.
    Launch,
    /// Hands over one empty kernel and waits until it has ended.
    LaunchSync,
    /// Hands over many empty kernels one behind the other and waits for the last.
    LaunchQueue,
    /// Copies device memory.
    Copy,
    /// Adds one array and a multiple of another into a third.
    Triad,
    /// Multiplies two matrices.
    Gemm,
    /// Reads rows of a large table in no order, as a model looks up embeddings.
    Gather,
    /// Adds up an array.
    Reduce,
    /// Copies page-locked memory of the host to the device.
    ToDevicePinned,
    /// Copies plain memory of the host to the device.
    ToDevicePageable,
    /// Copies device memory to page-locked memory of the host.
    ToHostPinned,
    /// Copies device memory to plain memory of the host.
    ToHostPageable,
}

/// What one run of a kernel works through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Nothing: only its time tells.
    Nothing,
    /// Bytes that are read and written.
    Bytes,
    /// Multiplications and additions of single precision.
    Operations,
}

impl Work {
    /// The unit of a rate of it, as JSON names it; `None` where there is no rate.
    pub fn rate_unit(self) -> Option<&'static str> {
        match self {
            Self::Nothing => None,
            Self::Bytes => Some("B/s"),
            Self::Operations => Some("FLOP/s"),
        }
    }
}

/// Empty kernels in one run of [`KernelId::LaunchQueue`]; its time is that of one of them.
pub const QUEUED: u32 = 64;

/// Every kernel, the cheap ones first, so that a short budget still times them.
pub static KERNELS: &[Kernel] = &[
    Kernel {
        id: KernelId::Launch,
        name: "launch",
        work: Work::Nothing,
        tells: "what the host pays to ask for one kernel; rises when the host is starved",
    },
    Kernel {
        id: KernelId::LaunchSync,
        name: "launch_sync",
        work: Work::Nothing,
        tells: "asking for an empty kernel until it is known to have ended",
    },
    Kernel {
        id: KernelId::LaunchQueue,
        name: "launch_queue",
        work: Work::Nothing,
        tells: "one of 64 empty kernels in a row: the pace at which a queue drains",
    },
    Kernel {
        id: KernelId::Gemm,
        name: "gemm",
        work: Work::Operations,
        tells: "matrix product in single precision, by our own tiled kernel: compute, not the vendor's best",
    },
    Kernel {
        id: KernelId::Copy,
        name: "copy",
        work: Work::Bytes,
        tells: "memory bandwidth, one array read and one written",
    },
    Kernel {
        id: KernelId::Triad,
        name: "triad",
        work: Work::Bytes,
        tells: "memory bandwidth, two arrays read and one written, as STREAM counts",
    },
    Kernel {
        id: KernelId::Reduce,
        name: "reduce",
        work: Work::Bytes,
        tells: "memory bandwidth, one array read and added up",
    },
    Kernel {
        id: KernelId::Gather,
        name: "gather",
        work: Work::Bytes,
        tells: "rows of 512 bytes of a large table in no order, as embeddings are looked up",
    },
    Kernel {
        id: KernelId::ToDevicePinned,
        name: "h2d_pinned",
        work: Work::Bytes,
        tells: "host to device from page-locked memory: the PCIe link at its best",
    },
    Kernel {
        id: KernelId::ToHostPinned,
        name: "d2h_pinned",
        work: Work::Bytes,
        tells: "device to host into page-locked memory",
    },
    Kernel {
        id: KernelId::ToDevicePageable,
        name: "h2d_pageable",
        work: Work::Bytes,
        tells: "host to device from plain memory, which the driver copies twice",
    },
    Kernel {
        id: KernelId::ToHostPageable,
        name: "d2h_pageable",
        work: Work::Bytes,
        tells: "device to host into plain memory",
    },
];

/// The kernel of this name.
pub fn by_name(name: &str) -> Option<&'static Kernel> {
    KERNELS.iter().find(|kernel| kernel.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_ids_are_unique() {
        for (place, kernel) in KERNELS.iter().enumerate() {
            let before = &KERNELS[..place];
            assert!(before.iter().all(|other| other.name != kernel.name && other.id != kernel.id));
            assert_eq!(by_name(kernel.name).map(|found| found.id), Some(kernel.id));
        }
    }
}
