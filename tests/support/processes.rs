//! Processes that others have started, as Linux tells of them.

use std::path::PathBuf;

use rustix::process::{Pid, test_kill_process};

/// The processes that any thread of a process has started and that have not been waited for.
pub fn children(process: Pid) -> Vec<Pid> {
    let tasks = PathBuf::from(format!("/proc/{}/task", process.as_raw_nonzero()));
    let lists = std::fs::read_dir(tasks).into_iter().flatten().flatten();
    let lists = lists.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let all: Vec<i32> = lists
        .flat_map(|list| list.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>())
        .collect();
    all.into_iter().filter_map(Pid::from_raw).collect()
}

/// Whether a process has ended.
pub fn is_gone(process: Pid) -> bool {
    let state =
        std::fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).unwrap_or_default();
    // One that nobody waits for any more is a name in a list and nothing else.
    test_kill_process(process).is_err()
        || state.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'))
}
