//! Drivers that fail, crash or hang, processes that are killed, and GPUs that are not there.

use std::collections::BTreeSet;
use std::process::{Child, Stdio};

use headwater_test_support::processes::{children, is_gone};
use headwater_test_support::{NvmlRelease, Ran, StubCuda, StubNvml, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::home::{Home, SMALL};

#[test]
fn what_is_wrong_with_a_driver_is_said_with_what_was_done_last() {
    for (scenario, said) in [
        ("fail cuInit 100", "the CUDA driver does not start: CUDA_ERROR_NO_DEVICE"),
        ("devices 0", "the CUDA driver knows no GPU"),
        ("fail cuDevicePrimaryCtxRetain 2", "no context can be made on the GPU: CUDA_ERROR_OUT_OF_MEMORY"),
        ("fail cuModuleLoadData 222", "the kernels cannot be loaded: CUDA_ERROR_UNSUPPORTED_PTX_VERSION"),
        ("crash cuMemcpyDtoHAsync_v2", "the benchmark's process crashed (signal 6) during 'gemm'"),
        ("fail cuLaunchKernel 700", "launch: CUDA_ERROR_ILLEGAL_ADDRESS"),
        ("free 500000000", "refused: only 500 MB of memory are free"),
    ] {
        let home = Home::with_stub(scenario);
        let ran = home.small(&["--backend", "cuda", "--kernels", "launch,gemm"]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(69), ""), "{scenario}: {ran:?}");
        assert!(ran.err.contains(said), "{scenario}: {ran:?}");
    }
    let home = Home::new(Some(StubCuda::without_memory_info()));
    let ran = home.small(&["--backend", "cuda"]);
    assert_eq!(ran.code, Some(69), "{ran:?}");
    assert!(
        ran.err.contains("the CUDA driver lacks 'cuMemGetInfo_v2'") && ran.err.contains("update the driver"),
        "{ran:?}"
    );
}

/// Runs on whatever there is, for JSON: the exit code, the backend of a result, and what sort of failure there is instead.
fn on_whatever_there_is(home: &Home, nvml: Option<&StubNvml>, hidden: bool) -> (Ran, Value, Value) {
    let automatic = ["--backend", "auto", "--force", "--kernels", "launch,gemm", "--format", "json"];
    let mut command = home.command(&[&SMALL, &automatic[..], &["--timeout", "20s"]].concat());
    command.envs(nvml.map(|nvml| ("HEADWATER_NVML", nvml.library())));
    command.envs(hidden.then_some(("CUDA_VISIBLE_DEVICES", "")));
    let ran = Ran::of(command.output().expect("headwater runs"));
    let told = ran.json();
    (ran, told["backend"].clone(), told["failure"]["kind"].clone())
}

#[test]
fn a_gpu_that_is_there_and_fails_is_never_replaced_by_the_cpu() {
    for (scenario, kind, said) in [
        ("fail cuInit 999", "unusable", "the CUDA driver does not start"),
        ("fail cuInit 803", "unusable", "the CUDA driver does not start"),
        ("fail cuDeviceGetCount 999", "unusable", "the GPUs cannot be counted"),
        ("fail cuDeviceGet 101", "unusable", "the GPU cannot be opened"),
        ("fail cuDevicePrimaryCtxRetain 2", "unusable", "no context can be made"),
        ("fail cuModuleLoadData 222", "unusable", "the kernels cannot be loaded"),
        ("fail cuLaunchKernel 214", "failed", "launch: "),
        ("fail cuStreamSynchronize 719", "failed", "launch: "),
        ("crash cuInit", "died", "crashed (signal 6)"),
        ("hang cuInit", "hung", "did not answer within 20 s"),
    ] {
        let home = Home::with_stub(scenario);
        let (ran, backend, failure) = on_whatever_there_is(&home, None, false);
        assert_eq!((ran.code, backend, failure), (Some(69), Value::Null, kind.into()), "{scenario}: {ran:?}");
        assert!(ran.err.contains(said), "{scenario}: {ran:?}");
        let why = ran.json()["failure"]["why"].to_string();
        assert!(why.contains(said), "{scenario}: {ran:?}");
    }
}

#[test]
fn an_absent_gpu_is_replaced_by_the_cpu_and_one_that_nvml_lists_is_not_absent() {
    let mut nvml = StubNvml::new(NvmlRelease::Present);
    let absent = |nvml: Option<&StubNvml>, hidden: bool| {
        let without = Home::new(None);
        let homes = ["fail cuInit 100", "fail cuInit 34", "devices 0"].map(Home::with_stub);
        let told = homes.iter().chain([&without]).map(|home| on_whatever_there_is(home, nvml, hidden));
        told.collect::<Vec<_>>()
    };
    let is_on_the_cpu = |(ran, backend, _): &(Ran, Value, Value)| {
        let is_said = ran.json()["notes"].to_string().contains("measured on the CPU: ");
        ran.code == Some(0) && backend == "cpu" && is_said
    };
    let told = absent(None, false);
    assert!(told.iter().all(is_on_the_cpu), "{told:?}");
    nvml.set(&[("count", "0")]);
    let told = absent(Some(&nvml), false);
    assert!(told.iter().all(is_on_the_cpu), "{told:?}");
    // One that has fallen off the bus, or whose library for computing a container lacks.
    nvml.set(&[("count", "1")]);
    for (ran, backend, failure) in absent(Some(&nvml), false) {
        assert_eq!((ran.code, backend, failure), (Some(69), Value::Null, "unusable".into()), "{ran:?}");
        assert!(ran.err.contains("yet NVML lists 1 GPU,"), "{ran:?}");
    }
    // Somebody wants none to be seen.
    let told = absent(Some(&nvml), true);
    assert!(told.iter().all(is_on_the_cpu), "{told:?}");
}

#[test]
fn a_process_whose_parent_cannot_kill_it_ends_itself_and_that_is_the_hang_it_was() {
    let home = hanging_home();
    let (parent, child) = hanging(&home, "5s");
    let stopped = Pid::from_child(&parent);
    kill_process(stopped, Signal::STOP).expect("it can be stopped");
    wait_until("the measuring process has ended", || is_gone(child));
    kill_process(stopped, Signal::CONT).expect("it can go on");
    let ran = Ran::of(parent.wait_with_output().expect("it ends by itself"));
    assert_eq!(ran.code, Some(69), "{ran:?}");
    assert!(ran.err.contains("the driver did not answer within 5 s"), "{ran:?}");
}

#[test]
fn a_hang_in_any_call_is_killed_at_the_deadline_and_said() {
    let home = Home::with_stub("");
    let stub = home.stub.as_ref().expect("it was just made");
    stub.set(&format!("log {}\n", stub.log_file().display()));
    let whole =
        ["--backend", "cuda", "--memory", "64KiB", "--budget", "1s", "--kernels", "launch,copy,h2d_pinned"];
    assert_eq!(home.run(&whole).code, Some(0));
    let calls: BTreeSet<String> = stub.calls().into_iter().collect();
    assert!(calls.len() > 20, "{calls:?}");
    let calls: Vec<String> = calls.into_iter().collect();
    let hung = |call: &String| {
        let home = Home::with_stub(&format!("hang {call}\n"));
        let ran = home.run(&[&whole[..], &["--timeout", "3s"]].concat());
        let is_told = ran.code == Some(69) && ran.err.contains("the driver did not answer within 3 s");
        // What is called only when all results are told keeps nobody from them.
        assert!(is_told || (ran.code == Some(0) && ran.out.contains("launch")), "{call}: {ran:?}");
        is_told
    };
    let told: usize = std::thread::scope(|scope| {
        let parts = calls
            .chunks(calls.len().div_ceil(8))
            .map(|calls| scope.spawn(move || calls.iter().filter(|call| hung(call)).count()));
        parts.collect::<Vec<_>>().into_iter().map(|part| part.join().expect("it is told")).sum()
    });
    assert!(told > 15, "{told} of {calls:?}");
}

/// A benchmark whose driver hangs, and the process that it measures in.
fn hanging(home: &Home, timeout: &str) -> (Child, Pid) {
    hanging_in(home, "cuInit", &["--timeout", timeout])
}

/// The same with these arguments, in this call.
fn hanging_in(home: &Home, call: &str, arguments: &[&str]) -> (Child, Pid) {
    let mut command = home.command(&[&["--backend", "cuda"], arguments].concat());
    let parent = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("headwater runs");
    let stub = home.stub.as_ref().expect("these tests have a stub");
    wait_until("the driver is asked", || stub.calls().iter().any(|made| made == call));
    let child =
        children(Pid::from_child(&parent)).first().copied().expect("it measures in a process of its own");
    (parent, child)
}

fn hanging_home() -> Home {
    home_hanging_in("cuInit", "")
}

/// A home whose driver hangs in this call, and has this in store beside.
fn home_hanging_in(call: &str, scenario: &str) -> Home {
    let home = Home::with_stub("");
    let stub = home.stub.as_ref().expect("it was just made");
    stub.set(&format!("hang {call}\nlog {}\n{scenario}", stub.log_file().display()));
    home
}

#[test]
fn a_parent_that_is_killed_takes_the_measuring_process_with_it() {
    let home = hanging_home();
    let (mut parent, child) = hanging(&home, "10min");
    parent.kill().expect("it can be killed");
    parent.wait().expect("it has ended");
    wait_until("the measuring process has ended", || is_gone(child));
}

#[test]
fn a_measuring_process_that_is_killed_is_told() {
    let home = hanging_home();
    let (parent, child) = hanging(&home, "10min");
    kill_process(child, Signal::KILL).expect("it can be killed");
    let ran = Ran::of(parent.wait_with_output().expect("it ends by itself"));
    assert_eq!(ran.code, Some(69), "{ran:?}");
    assert!(ran.err.contains("the benchmark's process was killed (signal 9)"), "{ran:?}");
}

#[test]
fn a_second_one_is_not_begun_beside_one_that_has_not_ended() {
    let home = hanging_home();
    let stub = home.stub.as_ref().expect("it was just made");
    let (mut parent, child) = hanging(&home, "10min");
    let second = home.run(&["--backend", "cuda", "--timeout", "9s"]);
    assert_eq!(second.code, Some(69), "{second:?}");
    let named = format!("refused: another benchmark (process {}) is under way", child.as_raw_nonzero());
    assert!(second.err.contains(&named), "{second:?}");
    assert_eq!(
        stub.calls().iter().filter(|call| *call == "cuInit").count(),
        1,
        "the driver was not asked again"
    );
    // What hangs in a GPU's driver does not disturb the processors.
    assert_eq!(home.small(&["--backend", "cpu", "--force", "--kernels", "launch"]).code, Some(0));
    parent.kill().expect("it can be killed");
    parent.wait().expect("it has ended");
    wait_until("the measuring process has ended", || is_gone(child));
    stub.set("");
    assert_eq!(home.small(&["--backend", "cuda", "--kernels", "launch"]).code, Some(0));
}

#[test]
fn one_gpu_is_measured_once_at_a_time_by_whichever_way_and_others_beside_it() {
    const CALL: &str = "cuDevicePrimaryCtxRetain";
    let home = home_hanging_in(CALL, "devices 3\n");
    let (mut parent, child) = hanging_in(&home, CALL, &["--device", "2", "--timeout", "10min"]);
    // Somebody else, to whom the driver shows them in another order, one of them or its slice.
    let run = |scenario: &str, arguments: &[&str]| {
        let other = Home::with_stub(scenario);
        let all = [&SMALL[..], &["--backend", "cuda", "--kernels", "launch", "--timeout", "9s"], arguments]
            .concat();
        let mut command = other.command(&all);
        command.env("HEADWATER_LOCKS", home.folder.path());
        Ran::of(command.output().expect("headwater runs"))
    };
    let named = format!("refused: another benchmark (process {}) is under way", child.as_raw_nonzero());
    for (scenario, arguments) in
        [("devices 2\nshows 2 1\n", &[][..]), ("devices 3\n", &["--device", "2"]), ("shows 2\nmig 2\n", &[])]
    {
        let same = run(scenario, arguments);
        assert!(same.code == Some(69) && same.err.contains(&named), "{scenario}: {same:?}");
    }
    for (scenario, arguments) in [("devices 2\nshows 2 1\n", &["--device", "1"][..]), ("devices 3\n", &[])] {
        let beside = run(scenario, arguments);
        assert!(beside.code == Some(0) && !beside.out.contains("not seen: '"), "{scenario}: {beside:?}");
    }
    parent.kill().expect("it can be killed");
    parent.wait().expect("it has ended");
    wait_until("the measuring process has ended", || is_gone(child));
    assert_eq!(run("shows 2\n", &[]).code, Some(0));
}

#[test]
fn a_lock_that_cannot_be_had_is_said_and_keeps_nobody_from_measuring() {
    let home = Home::new(None);
    let lock = home.folder.path().join("headwater-bench-cpu.lock");
    std::os::unix::fs::symlink(home.folder.path().join("elsewhere"), &lock).expect("a link can be made");
    let ran = home.small(&["--backend", "cpu", "--force", "--kernels", "launch"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let said =
        format!("other benchmarks of the same device are not seen: '{}' cannot be locked", lock.display());
    assert!(ran.out.contains(&said), "{ran:?}");
    assert!(!home.folder.path().join("elsewhere").exists(), "no link is followed");
}
