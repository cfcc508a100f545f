//! Which processes hold how much of a GPU's memory.

use std::path::Path;

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

/// What is missing of processes whose memory the driver does not know.
const MEMORY: &str = "memory of some processes";

/// The namespace of processes that the machine itself has; the kernel gives it this number always.
const NAMESPACE_OF_THE_MACHINE: &str = "pid:[4026531836]";

/// The longest name that is asked for.
const LONGEST_NAME: usize = 256;

/// Asks which processes compute on the GPU, and how they are called.
pub(super) fn ask(device: &Device<'_>, looking: &mut Looking<'_>) -> Result<(), NvmlError> {
    let processes = match device.running_compute_processes() {
        // One came while they were counted.
        Err(NvmlError::InsufficientSize(_)) => device.running_compute_processes()?,
        processes => processes?,
    };
    let all = processes.len();
    let mut holding: Vec<(f64, u32, Option<u32>)> = processes
        .into_iter()
        .filter_map(|process| match process.used_gpu_memory {
            UsedGpuMemory::Used(bytes) => Some((long(bytes).ok()?, process.pid, process.gpu_instance_id)),
            UsedGpuMemory::Unavailable => None,
        })
        .collect();
    if holding.len() < all {
        let why =
            format!("the driver does not tell it of {} of {all} processes ({CALL})", all - holding.len());
        looking.looked.lacks.insert(MEMORY, why);
    }
    holding.sort_by(|one, other| other.0.total_cmp(&one.0));
    holding.truncate(MOST_PROCESSES);
    looking.calling("nvmlSystemGetProcessName");
    for (bytes, pid, slice) in holding {
        let name = match device.nvml().sys_process_name(pid, LONGEST_NAME) {
            Ok(name) => short(&name),
            // Of another user: the kernel may tell it.
            Err(_) => name_of(Path::new("/proc"), pid),
        };
        let before = std::mem::replace(&mut looking.slice, slice);
        looking.part(GPU_PROCESS_MEMORY, format!("{pid} {name}").trim_end(), Value::Gauge(bytes));
        looking.slice = before;
    }
    Ok(())
}

/// The kernel's name of a process; nothing within a container, where the driver may tell the machine's numbers and another
/// process has the same one.
fn name_of(proc: &Path, pid: u32) -> String {
    let namespace = std::fs::read_link(proc.join("self/ns/pid"));
    if !namespace.is_ok_and(|namespace| namespace == Path::new(NAMESPACE_OF_THE_MACHINE)) {
        return String::new();
    }
    std::fs::read_to_string(proc.join(format!("{pid}/comm"))).map_or(String::new(), |name| short(&name))
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
    fn within_a_container_no_process_is_named_by_a_number_that_may_be_the_machine_s() {
        for (namespace, name) in [(NAMESPACE_OF_THE_MACHINE, "tritonserver"), ("pid:[4026532201]", "")] {
            let proc = tempfile::tempdir().unwrap();
            std::fs::create_dir_all(proc.path().join("self/ns")).unwrap();
            std::fs::create_dir_all(proc.path().join("40")).unwrap();
            std::os::unix::fs::symlink(namespace, proc.path().join("self/ns/pid")).unwrap();
            std::fs::write(proc.path().join("40/comm"), "tritonserver\n").unwrap();
            assert_eq!(name_of(proc.path(), 40), name, "{namespace}");
        }
    }

    #[test]
    fn a_program_is_named_without_folder_and_arguments() {
        assert_eq!(short("/usr/bin/python3 -m server --token secret"), "python3");
        assert_eq!(short("tritonserver\n"), "tritonserver");
        assert_eq!(short("[Not Found]"), "");
        assert_eq!(short(""), "");
    }
}
