//! The CUDA backend: the driver is loaded while running, the kernels are embedded as PTX. Only ever in a child process.

mod choice;
mod device;
mod kernels;
mod launches;
mod matrices;
mod streams;
mod transfers;
mod watch;

pub(super) use device::{Gpu, NotOpen, open};

use cudarc::driver::DriverError;

use super::backend::{Backend, GoOn, Runnable, Trouble};
use super::kernel::KernelId;
use super::report::DeviceState;
use launches::Launches;
use matrices::Matrices;
use streams::{Gathered, Pass, Reduced, Streamed};
use transfers::{Host, Transfer, Way};

impl Backend for Gpu {
    fn prepare(&self, kernel: KernelId, go_on: GoOn<'_>) -> Result<Box<dyn Runnable + '_>, Trouble> {
        Ok(match kernel {
            KernelId::Launch | KernelId::LaunchSync | KernelId::LaunchQueue => {
                Box::new(Launches::new(self, kernel)?)
            }
            KernelId::Copy => Box::new(Streamed::new(self, Pass::Copy, go_on)?),
            KernelId::Triad => Box::new(Streamed::new(self, Pass::Triad, go_on)?),
            KernelId::Gemm => Box::new(Matrices::new(self, go_on)?),
            KernelId::Gather => Box::new(Gathered::new(self, go_on)?),
            KernelId::Reduce => Box::new(Reduced::new(self, go_on)?),
            KernelId::ToDevicePinned => Box::new(Transfer::new(self, Way::ToDevice, Host::Pinned, go_on)?),
            KernelId::ToDevicePageable => {
                Box::new(Transfer::new(self, Way::ToDevice, Host::Pageable, go_on)?)
            }
            KernelId::ToHostPinned => Box::new(Transfer::new(self, Way::ToHost, Host::Pinned, go_on)?),
            KernelId::ToHostPageable => Box::new(Transfer::new(self, Way::ToHost, Host::Pageable, go_on)?),
        })
    }

    /// What the multiprocessors work at: while copies run they rest, and an empty kernel is no work.
    fn watch_next(&self, kernel: KernelId) -> bool {
        let works = matches!(
            kernel,
            KernelId::Copy | KernelId::Triad | KernelId::Gemm | KernelId::Gather | KernelId::Reduce
        );
        if works {
            Self::watch_next(self);
        }
        works
    }

    fn at_work(&self) -> DeviceState {
        Self::at_work(self)
    }
}

impl From<DriverError> for Trouble {
    fn from(error: DriverError) -> Self {
        use cudarc::driver::sys::CUresult;
        match error.0 {
            // What serves requests may have taken it meanwhile; kernels that need less can still run.
            CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
                Self::NotHere("the device has no memory left for it".to_owned())
            }
            _ => Self::Failed(words(error)),
        }
    }
}

/// What the driver calls an error: its name and its sentence.
fn words(error: DriverError) -> String {
    let text = |said: Result<&std::ffi::CStr, DriverError>| {
        said.ok().map(|text| text.to_string_lossy().into_owned())
    };
    let name = text(error.error_name()).unwrap_or_else(|| format!("{:?}", error.0));
    match text(error.error_string()) {
        Some(sentence) => format!("{name} ({sentence})"),
        None => name,
    }
}
