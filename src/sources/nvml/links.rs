//! NVLinks: how many are up, and what went wrong on them.

use headwater_engine::metric::{GPU_NVLINK_ERRORS, GPU_NVLINKS};
use headwater_engine::reading::Value;
use nvml_wrapper::Device;
use nvml_wrapper::enum_wrappers::nv_link::ErrorCounter;
use nvml_wrapper::error::NvmlError;

use super::questions::long;
use super::session::Looking;
use super::trouble::{Sense, sense};

/// The call for the state of a link.
pub(super) const CALL: &str = "nvmlDeviceGetNvLinkState";

/// The most links that a GPU has.
const MOST_LINKS: u32 = 18;

/// The kinds of error that are counted, with their names as exporters have them.
const ERRORS: &[(ErrorCounter, &str)] = &[
    (ErrorCounter::DlReplay, "replay"),
    (ErrorCounter::DlRecovery, "recovery"),
    (ErrorCounter::DlCrcFlit, "crc_flit"),
    (ErrorCounter::DlCrcData, "crc_data"),
];

/// Asks for the state of every link, and for the errors on those that are up.
pub(super) fn ask(device: &Device<'_>, looking: &mut Looking<'_>) -> Result<(), NvmlError> {
    let mut up = vec![];
    for number in 0..MOST_LINKS {
        match device.link_wrapper_for(number).is_active() {
            Ok(true) => up.push(number),
            Ok(false) => {}
            Err(error) if number == 0 || !matches!(sense(&error), Sense::Lacking(_)) => return Err(error),
            // The links before it are all that there are.
            Err(_) => break,
        }
    }
    looking.level(GPU_NVLINKS, up.len() as f64);
    looking.calling("nvmlDeviceGetNvLinkErrorCounter");
    for (kind, name) in ERRORS {
        let errors = |number: &u32| device.link_wrapper_for(*number).error_counter(*kind).and_then(long);
        match up.iter().map(errors).sum::<Result<f64, NvmlError>>() {
            Ok(_) if up.is_empty() => {}
            Ok(sum) => looking.part(GPU_NVLINK_ERRORS, *name, Value::Counter(sum)),
            Err(error) => {
                if !matches!(
                    looking.note("errors on NVLinks", "nvmlDeviceGetNvLinkErrorCounter", &error),
                    Sense::Lacking(_)
                ) {
                    return Err(error);
                }
            }
        }
    }
    Ok(())
}
