//! What is asked about a GPU, one row a question.

use headwater_engine::metric::{
    GPU_CLOCK, GPU_CLOCK_MAX, GPU_CLOCK_MEMORY, GPU_ECC, GPU_MEMORY, GPU_MEMORY_BUSY, GPU_MEMORY_MAX,
    GPU_PCIE_GENERATION, GPU_PCIE_GENERATION_MAX, GPU_PCIE_IN, GPU_PCIE_OUT, GPU_PCIE_REPLAYS,
    GPU_PCIE_WIDTH, GPU_PCIE_WIDTH_MAX, GPU_POWER, GPU_POWER_MAX, GPU_REMAP, GPU_REMAPPED, GPU_TEMPERATURE,
    GPU_UTILIZATION,
};
use headwater_engine::reading::Value;
use nvml_wrapper::Device;
use nvml_wrapper::enum_wrappers::device::{
    Clock, EccCounter, MemoryError, PcieUtilCounter, TemperatureSensor,
};
use nvml_wrapper::error::NvmlError;

use super::session::Looking;
use super::{links, processes, raw, throttling};

/// A clock is told in MHz, power in mW, the rate of a PCIe link in KiB/s.
const MEGA: f64 = 1e6;
const MILLI: f64 = 1e-3;
const KIBI: f64 = 1_024.0;

/// One question about a GPU.
pub(super) struct Question {
    /// What is missing without an answer, as users call it.
    pub(super) what: &'static str,
    /// The library's call.
    pub(super) call: &'static str,
    /// Asks, and puts the answer into the look.
    pub(super) ask: fn(&Device<'_>, &mut Looking<'_>) -> Result<(), NvmlError>,
}

/// Everything that is asked about a GPU at each look.
pub(super) const QUESTIONS: &[Question] = &[
    Question {
        what: "utilisation",
        call: "nvmlDeviceGetUtilizationRates",
        ask: |device, looking| {
            let busy = device.utilization_rates()?;
            looking.level(GPU_UTILIZATION, whole(busy.gpu)? / 100.0);
            looking.level(GPU_MEMORY_BUSY, whole(busy.memory)? / 100.0);
            Ok(())
        },
    },
    MEMORY,
    Question {
        what: "temperature",
        call: "nvmlDeviceGetTemperature",
        ask: |device, looking| {
            looking.level(GPU_TEMPERATURE, whole(device.temperature(TemperatureSensor::Gpu)?)?);
            Ok(())
        },
    },
    Question {
        what: "power",
        call: "nvmlDeviceGetPowerUsage",
        ask: |device, looking| {
            looking.level(GPU_POWER, whole(device.power_usage()?)? * MILLI);
            Ok(())
        },
    },
    Question {
        what: "power limit",
        call: "nvmlDeviceGetEnforcedPowerLimit",
        ask: |device, looking| {
            looking.level(GPU_POWER_MAX, whole(device.enforced_power_limit()?)? * MILLI);
            Ok(())
        },
    },
    Question {
        what: "clock",
        call: "nvmlDeviceGetClockInfo",
        ask: |device, looking| {
            looking.level(GPU_CLOCK, whole(device.clock_info(Clock::SM)?)? * MEGA);
            Ok(())
        },
    },
    Question {
        what: "clock of the memory",
        call: "nvmlDeviceGetClockInfo",
        ask: |device, looking| {
            looking.level(GPU_CLOCK_MEMORY, whole(device.clock_info(Clock::Memory)?)? * MEGA);
            Ok(())
        },
    },
    Question {
        what: "highest clock",
        call: "nvmlDeviceGetMaxClockInfo",
        ask: |device, looking| {
            looking.level(GPU_CLOCK_MAX, whole(device.max_clock_info(Clock::SM)?)? * MEGA);
            Ok(())
        },
    },
    Question { what: "reasons of throttling", call: throttling::CALL, ask: throttling::ask },
    Question {
        what: "bytes received over PCIe",
        call: "nvmlDeviceGetPcieThroughput",
        ask: |device, looking| {
            let rate = whole(device.pcie_throughput(PcieUtilCounter::Receive)?)?;
            looking.level(GPU_PCIE_IN, rate * KIBI);
            Ok(())
        },
    },
    Question {
        what: "bytes sent over PCIe",
        call: "nvmlDeviceGetPcieThroughput",
        ask: |device, looking| {
            let rate = whole(device.pcie_throughput(PcieUtilCounter::Send)?)?;
            looking.level(GPU_PCIE_OUT, rate * KIBI);
            Ok(())
        },
    },
    Question {
        what: "generation of the PCIe link",
        call: "nvmlDeviceGetCurrPcieLinkGeneration",
        ask: |device, looking| {
            looking.level(GPU_PCIE_GENERATION, whole(device.current_pcie_link_gen()?)?);
            Ok(())
        },
    },
    Question {
        what: "highest generation of the PCIe link",
        call: "nvmlDeviceGetMaxPcieLinkGeneration",
        ask: |device, looking| {
            looking.level(GPU_PCIE_GENERATION_MAX, whole(device.max_pcie_link_gen()?)?);
            Ok(())
        },
    },
    Question {
        what: "lanes of the PCIe link",
        call: "nvmlDeviceGetCurrPcieLinkWidth",
        ask: |device, looking| {
            looking.level(GPU_PCIE_WIDTH, whole(device.current_pcie_link_width()?)?);
            Ok(())
        },
    },
    Question {
        what: "most lanes of the PCIe link",
        call: "nvmlDeviceGetMaxPcieLinkWidth",
        ask: |device, looking| {
            looking.level(GPU_PCIE_WIDTH_MAX, whole(device.max_pcie_link_width()?)?);
            Ok(())
        },
    },
    Question {
        what: "replays on PCIe",
        call: "nvmlDeviceGetPcieReplayCounter",
        ask: |device, looking| {
            looking.total(GPU_PCIE_REPLAYS, whole(device.pcie_replay_counter()?)?);
            Ok(())
        },
    },
    Question {
        what: "memory errors (ECC)",
        call: "nvmlDeviceGetTotalEccErrors",
        ask: |device, looking| {
            // Both or none: they come from one place.
            let errors = |kind| device.total_ecc_errors(kind, EccCounter::Volatile).and_then(long);
            let (corrected, uncorrected) =
                (errors(MemoryError::Corrected)?, errors(MemoryError::Uncorrected)?);
            looking.part(GPU_ECC, "corrected", Value::Counter(corrected));
            looking.part(GPU_ECC, "uncorrected", Value::Counter(uncorrected));
            Ok(())
        },
    },
    Question {
        what: "replaced memory rows",
        call: "nvmlDeviceGetRemappedRows",
        ask: |device, looking| {
            let rows = raw::remapped_rows(device)?;
            looking.part(GPU_REMAPPED, "corrected", Value::Gauge(whole(rows.corrected)?));
            looking.part(GPU_REMAPPED, "uncorrected", Value::Gauge(whole(rows.uncorrected)?));
            looking.level(GPU_REMAP, f64::from(u8::from(rows.has_failed)));
            Ok(())
        },
    },
    Question { what: "NVLinks", call: links::CALL, ask: links::ask },
    Question { what: "processes", call: processes::CALL, ask: processes::ask },
];

/// The memory of a GPU, or of a slice of one.
pub(super) const MEMORY: Question = Question {
    what: "memory",
    call: "nvmlDeviceGetMemoryInfo_v2",
    ask: |device, looking| {
        let (used, total) = match device.memory_info() {
            // What the driver keeps back nobody can have, and it is not among what is used.
            Ok(memory) => (memory.used, memory.total.saturating_sub(memory.reserved)),
            // Drivers before 510 know the first version alone, in which what the driver keeps back counts as used.
            Err(NvmlError::FailedToLoadSymbol(_) | NvmlError::FunctionNotFound) => {
                looking.calling("nvmlDeviceGetMemoryInfo");
                raw::memory_v1(device)?
            }
            Err(error) => return Err(error),
        };
        let (used, total) = (long(used)?, long(total)?);
        looking.level(GPU_MEMORY, used);
        looking.level(GPU_MEMORY_MAX, total);
        Ok(())
    },
};

/// A number of 32 bits, unless it is the one that means "none".
pub(super) fn whole(value: u32) -> Result<f64, NvmlError> {
    if value == u32::MAX { Err(NvmlError::NotSupported) } else { Ok(f64::from(value)) }
}

/// A number of 64 bits, unless it is one of those that mean "none".
pub(super) fn long(value: u64) -> Result<f64, NvmlError> {
    // All ones, and the blank values that begin at 2^63 - 16.
    const LEAST_BLANK: u64 = 0x7fff_ffff_ffff_fff0;
    if value >= LEAST_BLANK { Err(NvmlError::NotSupported) } else { Ok(value as f64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentinel_is_no_value() {
        assert_eq!(whole(0).unwrap(), 0.0);
        assert_eq!(whole(97).unwrap(), 97.0);
        assert!(whole(u32::MAX).is_err());
        assert_eq!(long(85_899_345_920).unwrap(), 85_899_345_920.0);
        for sentinel in [u64::MAX, 9_223_372_036_854_775_794, 0x7fff_ffff_ffff_fff0] {
            assert!(long(sentinel).is_err(), "{sentinel}");
        }
    }
}
