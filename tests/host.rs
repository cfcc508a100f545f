//! The machine that Headwater runs on, as its kernel tells of it.

use std::fs;
use std::path::Path;

use headwater::sources::Source as _;
use headwater::sources::host::{HostSource, HostSpec, name_of_this_machine};
use headwater_engine::metric::{
    HOST_CORE, HOST_CPU, HOST_CPUS, HOST_LOAD, HOST_MEMORY_AVAILABLE, HOST_MEMORY_MAX, HOST_RUNNABLE,
    HOST_SWITCHES, HOST_THROTTLED, Metric,
};
use headwater_engine::reading::{Event, Reading, Value};
use headwater_test_support::value_of;

fn parts(reading: &Reading, metric: Metric) -> Vec<(&str, f64)> {
    let samples = reading.samples.iter().filter(|sample| sample.metric == metric.into());
    samples
        .filter_map(|sample| match (&sample.part, &sample.value) {
            (Some(part), Value::Counter(value)) => Some((part.as_str(), *value)),
            _ => None,
        })
        .collect()
}

fn file(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder can be made");
    fs::write(path, text).expect("a file can be written");
}

#[tokio::test]
async fn this_machine_is_told_as_its_kernel_tells_it() {
    let name = name_of_this_machine();
    let mut source = HostSource::new(&HostSpec::new(&name));
    let reading = source.ask().await;
    assert_eq!(reading.source.as_str(), format!("host/{name}"));
    assert_eq!(reading.faults, []);
    let cores = fs::read_to_string("/proc/stat").expect("this is Linux");
    let cores = cores.lines().filter(|line| line.starts_with("cpu") && !line.starts_with("cpu ")).count();
    assert_eq!(value_of(&reading, HOST_CPUS), Some(cores as f64));
    assert_eq!(parts(&reading, HOST_CORE).len(), cores);
    let (available, all) = (value_of(&reading, HOST_MEMORY_AVAILABLE), value_of(&reading, HOST_MEMORY_MAX));
    assert!(available > Some(0.0) && available < all, "{available:?} of {all:?}");
    // Whoever asks is one of those that run.
    assert!(value_of(&reading, HOST_RUNNABLE) >= Some(1.0));
    let switches = value_of(&reading, HOST_SWITCHES);
    let user = parts(&reading, HOST_CPU)[0];
    let later = source.ask().await;
    assert!(value_of(&later, HOST_SWITCHES) > switches, "being asked again takes some");
    assert!(user.0 == "user" && parts(&later, HOST_CPU)[0].1 >= user.1);
    assert!(value_of(&later, HOST_LOAD).is_some());
}

#[tokio::test]
async fn what_a_limit_holds_back_is_told_by_container_and_its_absence_is_said() {
    let root = tempfile::tempdir().expect("a folder can be made");
    file(
        root.path(),
        "proc/stat",
        "cpu 100 0 50 900 0 0 0 0\ncpu0 100 0 50 900 0 0 0 0\nctxt 5\nprocs_running 3\n",
    );
    file(root.path(), "proc/loadavg", "2.50 1.00 0.50 3/100 4\n");
    file(root.path(), "proc/meminfo", "MemTotal: 2000 kB\nMemAvailable: 500 kB\n");
    let spec = HostSpec { root: root.path().into(), ..HostSpec::new("host-a") };
    let mut source = HostSource::new(&spec);
    let reading = source.ask().await;
    let is_lack = |event: &Event| {
        matches!(event, Event::Unavailable { what, why }
            if what.as_str().contains("CPU limits") && why.as_str().contains("no control groups"))
    };
    assert!(reading.events.iter().any(is_lack), "{:?}", reading.events);
    assert_eq!(parts(&reading, HOST_CPU)[..2], [("user", 1.0), ("nice", 0.0)]);
    assert_eq!(value_of(&reading, HOST_LOAD), Some(2.5));
    assert_eq!(value_of(&reading, HOST_RUNNABLE), Some(3.0));
    assert_eq!(source.ask().await.events, [], "it is said once");

    file(root.path(), "sys/fs/cgroup/cgroup.controllers", "cpu\n");
    let numbers = "usage_usec 1\nnr_periods 9\nnr_throttled 3\nthrottled_usec 750000\n";
    file(root.path(), "sys/fs/cgroup/kubepods.slice/ranker/cpu.stat", numbers);
    let reading = HostSource::new(&spec).ask().await;
    assert_eq!(parts(&reading, HOST_THROTTLED), [("ranker", 0.75)]);
    assert_eq!(reading.events, []);
}

#[tokio::test]
async fn a_machine_that_tells_nothing_is_a_fault_that_names_the_file() {
    let root = tempfile::tempdir().expect("a folder can be made");
    let spec = HostSpec { root: root.path().into(), ..HostSpec::new("host-a") };
    let reading = HostSource::new(&spec).ask().await;
    assert_eq!(reading.samples, []);
    assert!(reading.faults[0].message.as_str().contains("proc/stat' cannot be read"), "{:?}", reading.faults);
}
