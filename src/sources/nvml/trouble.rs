//! What the library's errors mean: something is not offered, a GPU is lost, the driver is gone, or a call failed.

use headwater_engine::RemoteText;
use headwater_engine::reading::{Fault, FaultKind};
use nvml_wrapper::error::NvmlError;

/// What is wrong, as it becomes a fault.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Trouble {
    /// What sort of failure.
    pub(super) kind: FaultKind,
    /// One sentence: what happened and what to do.
    pub(super) message: String,
}

impl Trouble {
    pub(super) fn fault(&self) -> Fault {
        Fault { kind: self.kind, message: RemoteText::new(&self.message) }
    }
}

/// What an error means for whoever asked.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Sense {
    /// This number is not to be had here, for this reason; everything else is.
    Lacking(&'static str),
    /// The GPU is not there any more.
    Lost(&'static str),
    /// The driver or the library is gone, so that everything has to begin anew.
    Gone,
    /// The call failed, for once or for ever.
    Failed,
}

/// What an error means.
pub(super) fn sense(error: &NvmlError) -> Sense {
    match error {
        NvmlError::NotSupported => Sense::Lacking("not supported by this GPU or this driver"),
        NvmlError::FailedToLoadSymbol(_) | NvmlError::FunctionNotFound => {
            Sense::Lacking("the library of this driver has no such call")
        }
        NvmlError::NoPermission => Sense::Lacking("this user may not ask it"),
        NvmlError::NotFound | NvmlError::NoData => Sense::Lacking("the driver knows no such number"),
        NvmlError::InvalidArg | NvmlError::UnexpectedVariant(_) | NvmlError::IncorrectBits(_) => {
            Sense::Lacking("this driver means something else by that question")
        }
        NvmlError::GpuLost => Sense::Lost("it has fallen off the bus, or cannot be reached any more"),
        NvmlError::ResetRequired => Sense::Lost("it needs a reset before it can be used again"),
        NvmlError::Uninitialized | NvmlError::DriverNotLoaded | NvmlError::LibRmVersionMismatch => {
            Sense::Gone
        }
        _ => Sense::Failed,
    }
}

/// What is wrong with the library or the driver as a whole, met in this call.
pub(super) fn of_the_driver(call: &str, error: &NvmlError) -> Trouble {
    let (kind, message) = match error {
        NvmlError::LibloadingError(error) => (
            FaultKind::Unreachable,
            format!(
                "NVIDIA's management library cannot be loaded ({error}): install the driver, or name the library in {}",
                super::LIBRARY_VARIABLE
            ),
        ),
        NvmlError::FailedToLoadSymbol(_) | NvmlError::FunctionNotFound => (
            FaultKind::Malformed,
            format!("the library has no '{call}': it is another library, or far too old"),
        ),
        NvmlError::DriverNotLoaded => (
            FaultKind::Unreachable,
            "the NVIDIA driver is not loaded: load it ('modprobe nvidia'); a container needs the GPU's devices and the \
             driver's libraries"
                .to_owned(),
        ),
        NvmlError::LibRmVersionMismatch => (
            FaultKind::Unreachable,
            "library and driver are of different versions, as after an upgrade: reload the driver, or reboot".to_owned(),
        ),
        NvmlError::NoPermission => (
            FaultKind::Denied,
            "this user may not talk to the NVIDIA driver: see the rights of /dev/nvidiactl".to_owned(),
        ),
        NvmlError::Uninitialized => {
            (FaultKind::Unreachable, "the NVIDIA driver was shut down; it is asked again".to_owned())
        }
        other => (FaultKind::Malformed, format!("'{call}' failed: {other}")),
    };
    Trouble { kind, message }
}

/// What is said of a GPU that is not there any more.
pub(super) fn of_a_lost_gpu(why: &str) -> Trouble {
    let message = format!(
        "this GPU is lost: {why}; 'dmesg | grep -i xid' says more, and only a reset of it or a reboot brings it back"
    );
    Trouble { kind: FaultKind::Unreachable, message }
}

/// What is said where this user may open none of the GPUs, or one that could be opened before.
pub(super) fn of_a_denied_gpu() -> Trouble {
    let message = "this user may not open it: see the rights of /dev/nvidia* and which GPUs this job or container was \
                   given";
    Trouble { kind: FaultKind::Denied, message: message.to_owned() }
}

/// What is said of a call that failed, while others may not.
pub(super) fn of_a_call(call: &str, error: &NvmlError) -> Trouble {
    Trouble { kind: FaultKind::Malformed, message: format!("'{call}' failed: {error}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_offered_is_no_failure_and_a_lost_gpu_is_none_of_the_driver() {
        assert!(matches!(sense(&NvmlError::NotSupported), Sense::Lacking(_)));
        assert!(matches!(sense(&NvmlError::FailedToLoadSymbol(String::new())), Sense::Lacking(_)));
        assert!(matches!(sense(&NvmlError::GpuLost), Sense::Lost(_)));
        assert_eq!(sense(&NvmlError::DriverNotLoaded), Sense::Gone);
        assert_eq!(sense(&NvmlError::Unknown), Sense::Failed);
        assert_eq!(sense(&NvmlError::Timeout), Sense::Failed);
    }
}
