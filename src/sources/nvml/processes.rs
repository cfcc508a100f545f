//! Which processes hold how much of a GPU's memory.

use headwater_engine::metric::GPU_PROCESS_MEMORY;
use headwater_engine::reading::Value;
use nvml_wrapper::Device;
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;

use super::questions::long;
use super::session::Looking;

/// The call for the processes that compute.
pub(super) const CALL: &str = "nvmlDeviceGetComputeRunningProcesses_v3";

/// Processes that are told of, those with the most memory: each is a series.
const MOST_PROCESSES: usize = 32;

/// The longest name that is asked for.
const LONGEST_NAME: usize = 256;

/// Asks which processes compute on the GPU, and how they are called.
pub(super) fn ask(device: &Device<'_>, looking: &mut Looking<'_>) -> Result<(), NvmlError> {
    let processes = match device.running_compute_processes() {
        // One came while they were counted.
        Err(NvmlError::InsufficientSize(_)) => device.running_compute_processes()?,
        processes => processes?,
    };
    let mut holding: Vec<(f64, u32, Option<u32>)> = processes
        .into_iter()
        .filter_map(|process| match process.used_gpu_memory {
            UsedGpuMemory::Used(bytes) => Some((long(bytes).ok()?, process.pid, process.gpu_instance_id)),
            UsedGpuMemory::Unavailable => None,
        })
        .collect();
    holding.sort_by(|one, other| other.0.total_cmp(&one.0));
    holding.truncate(MOST_PROCESSES);
    looking.calling("nvmlSystemGetProcessName");
    for (bytes, pid, slice) in holding {
        let name = match device.nvml().sys_process_name(pid, LONGEST_NAME) {
            Ok(name) => short(&name),
            // Of another user, or in another container: the kernel may tell it.
            Err(_) => std::fs::read_to_string(format!("/proc/{pid}/comm"))
                .map_or(String::new(), |name| short(&name)),
        };
        let before = std::mem::replace(&mut looking.slice, slice);
        looking.part(GPU_PROCESS_MEMORY, format!("{pid} {name}").trim_end(), Value::Gauge(bytes));
        looking.slice = before;
    }
    Ok(())
}

/// The program's name without its folder and its arguments, which may be anything, secrets included.
fn short(name: &str) -> String {
    let program = name.split_whitespace().next().unwrap_or_default();
    let name = program.rsplit('/').find(|part| !part.is_empty()).unwrap_or_default();
    if name.starts_with('[') { String::new() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_named_without_folder_and_arguments() {
        assert_eq!(short("/usr/bin/python3 -m server --token secret"), "python3");
        assert_eq!(short("tritonserver\n"), "tritonserver");
        assert_eq!(short("[Not Found]"), "");
        assert_eq!(short(""), "");
    }
}
