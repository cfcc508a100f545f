//! The slices of a GPU (MIG): each has a memory of its own, and is told as a GPU of its own.

use nvml_wrapper::Device;

use super::questions::MEMORY;
use super::raw;
use super::session::Looking;
use super::trouble::Sense;

/// What is missing when slices cannot be read.
const SLICES: &str = "slices (MIG)";

/// Asks for the slices of a GPU and for the memory of each. A GPU that knows no slices lacks nothing. Gives what went
/// wrong last.
pub(super) fn ask(device: &Device<'_>, looking: &mut Looking<'_>) -> Option<Sense> {
    const MODE: &str = "nvmlDeviceGetMigMode";
    const COUNT: &str = "nvmlDeviceGetMaxMigDeviceCount";
    const HANDLE: &str = "nvmlDeviceGetMigDeviceHandleByIndex";
    const INSTANCE: &str = "nvmlDeviceGetGpuInstanceId";
    looking.calling(MODE);
    match device.mig_mode() {
        Ok(mode) if mode.current == 1 => {}
        Ok(_) => return None,
        Err(error) => {
            let sense = looking.note(SLICES, MODE, &error);
            if matches!(sense, Sense::Lacking(_)) {
                looking.looked.lacks.remove(SLICES);
            }
            return Some(sense);
        }
    }
    looking.calling(COUNT);
    let count = match device.mig_device_count() {
        Ok(count) => count,
        Err(error) => return Some(looking.note(SLICES, COUNT, &error)),
    };
    let mut seen = vec![];
    let mut worst = None;
    for place in 0..count {
        looking.calling(HANDLE);
        // Most places are empty.
        let Ok(slice) = device.mig_device_by_index(place) else { continue };
        looking.calling(INSTANCE);
        match raw::gpu_instance(&slice) {
            // Those who share the memory of one instance are one.
            Ok(instance) if seen.contains(&instance) => {}
            Ok(instance) => {
                seen.push(instance);
                looking.slice = Some(instance);
                worst = looking.ask(&MEMORY, &slice).or(worst);
                looking.slice = None;
            }
            Err(error) => worst = Some(looking.note(SLICES, INSTANCE, &error)),
        }
    }
    worst
}
