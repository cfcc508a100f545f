//! The kernel benchmark by the real binary: on the CPU, without a driver, and against a stub of the CUDA driver, which proves
//! what the host does and nothing about a GPU or its times.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use headwater_test_support::{NvmlRelease, StubCuda, StubNvml, wait_until};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// Little memory and little time: what is tried is the way, not the numbers.
const SMALL: [&str; 4] = ["--memory", "1MiB", "--budget", "1s"];

/// A home of its own, so that no test meets another's baselines, and the driver that is found there.
struct Home {
    folder: TempDir,
    stub: Option<StubCuda>,
}

impl Home {
    fn new(stub: Option<StubCuda>) -> Self {
        Self { folder: TempDir::new().expect("a temporary folder can be made"), stub }
    }

    fn with_stub(scenario: &str) -> Self {
        let stub = StubCuda::new();
        stub.set(scenario);
        Self::new(Some(stub))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_headwater"));
        command
            .arg("bench")
            .args(arguments)
            .env("HOME", self.folder.path())
            .env("XDG_STATE_HOME", self.folder.path());
        command.env_remove("HEADWATER_NVML");
        if let Some(stub) = &self.stub {
            command.env("LD_LIBRARY_PATH", stub.folder()).env("HEADWATER_CUDA_STUB", stub.scenario_file());
        } else {
            // What is no library hides the real driver, where a developer has one.
            let nothing = self.folder.path().join("libraries");
            std::fs::create_dir_all(&nothing).expect("a folder can be made");
            for name in ["libcuda.so", "libcuda.so.1"] {
                std::fs::write(nothing.join(name), "no library").expect("a file can be written");
            }
            command.env("LD_LIBRARY_PATH", nothing);
        }
        command
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(self.command(arguments).output().expect("headwater runs"))
    }

    fn small(&self, arguments: &[&str]) -> Ran {
        self.run(&[&SMALL, arguments].concat())
    }
}

#[derive(Debug)]
struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Ran {
    fn of(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
        let ran = Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) };
        assert!(!ran.err.contains("panicked"), "{ran:?}");
        ran
    }

    fn json(&self) -> Value {
        let read = serde_json::from_str(&self.out);
        assert!(read.is_ok(), "{read:?}: {self:?}");
        read.unwrap_or_default()
    }
}

fn names(report: &Value, list: &str) -> Vec<String> {
    let rows = report[list].as_array().map(Vec::as_slice).unwrap_or_default();
    rows.iter().map(|row| row["name"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn the_cpu_backend_measures_and_says_that_it_is_no_gpu() {
    let home = Home::new(None);
    let ran = home.small(&["--backend", "cpu", "--force", "--format", "json"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
    let report = ran.json();
    assert_eq!((report["schema"].as_u64(), report["backend"].as_str()), (Some(1), Some("cpu")));
    assert!(report["device"].as_str().is_some_and(|device| device.contains("thread")), "{report}");
    assert!(report["driver"].is_null());
    for kernel in report["kernels"].as_array().expect("kernels") {
        for number in ["median", "min", "cold"] {
            assert!(kernel[number].as_f64().is_some_and(|time| time > 0.0), "{number} of {kernel}");
        }
        assert!(kernel["iqr"].is_f64() && kernel["runs"].as_u64().is_some_and(|runs| runs > 0), "{kernel}");
        assert!(
            kernel["unit"] == "s" && kernel["baseline"].is_null() && kernel["ratio"].is_null(),
            "{kernel}"
        );
        assert!(kernel["wrong"].is_null(), "{kernel}");
    }
    // What the budget left out is named; a copy to a device is never there.
    let (timed, skipped) = (names(&report, "kernels"), names(&report, "skipped"));
    assert_eq!(timed.len() + skipped.len(), 12, "{timed:?} {skipped:?}");
    assert!(
        timed.contains(&"launch".to_owned()) && skipped.contains(&"h2d_pinned".to_owned()),
        "{timed:?} {skipped:?}"
    );
    let conditions = &report["conditions"];
    assert_eq!(conditions["budget_s"], 1.0);
    assert!(conditions["spent_s"].is_f64() && conditions["before"].is_object(), "{conditions}");

    let text = home.small(&["--backend", "cpu", "--force", "--kernels", "launch,copy"]);
    assert!(text.out.starts_with("CPU, not a GPU: "), "{text:?}");
    let rows = text.out.lines().filter(|line| line.starts_with("launch") || line.starts_with("copy")).count();
    assert_eq!(rows, 2, "{text:?}");
}

#[test]
fn without_a_driver_a_gpu_cannot_be_measured_and_auto_takes_the_cpu_and_says_so() {
    let home = Home::new(None);
    let ran = home.small(&["--backend", "cuda"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(69), ""), "{ran:?}");
    assert!(ran.err.contains("no CUDA driver: libcuda.so.1 cannot be loaded"), "{ran:?}");
    let ran = home.small(&["--force", "--kernels", "launch", "--format", "json"]);
    assert_eq!((ran.code, ran.json()["backend"].as_str()), (Some(0), Some("cpu")));
    let notes = ran.json()["notes"].to_string();
    assert!(notes.contains("measured on the CPU: no CUDA driver"), "{notes}");
}

#[test]
fn every_kernel_arrives_at_the_driver_and_its_result_is_right() {
    let home = Home::with_stub("print a driver that talks\n");
    let ran = home.run(&["--backend", "cuda", "--memory", "1MiB", "--budget", "10s", "--format", "json"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
    let report = ran.json();
    assert_eq!(report["device"], "Stub GPU 0");
    assert_eq!(report["driver"], "CUDA 12.8");
    assert_eq!(report["conditions"]["compute_capability"], "9.0");
    assert_eq!(report["conditions"]["memory_free_bytes"], 64_u64 << 30);
    let missing = report["conditions"]["missing"].to_string();
    assert!(missing.contains("NVML does not tell"), "what cannot be read is said: {missing}");
    assert!(report["conditions"]["before"]["temperature_c"].is_null(), "and is never a zero: {report}");
    let kernels = report["kernels"].as_array().expect("kernels");
    assert_eq!(kernels.len(), 12, "{report}");
    assert!(kernels.iter().all(|kernel| kernel["wrong"].is_null()), "{report}");
    let copy = kernels.iter().find(|kernel| kernel["name"] == "copy").expect("it was timed");
    assert_eq!((&copy["work"], &copy["rate_unit"]), (&Value::from(1_048_576.0), &Value::from("B/s")));
}

#[test]
fn the_driver_s_own_numbers_stand_beside_the_times_and_a_busy_gpu_is_left_alone() {
    let home = Home::with_stub("");
    let stub = home.stub.as_ref().expect("it was just made");
    stub.set(&format!("log {}\n", stub.log_file().display()));
    let mut nvml = StubNvml::new(NvmlRelease::Present);
    nvml.set(&[
        // Another one is lost, which keeps nobody from looking at this one.
        ("count", "2"),
        ("1.lost", "1"),
        ("driver", "570.86.15"),
        ("0.uuid", "GPU-07070707-0707-0707-0707-070707070707"),
        ("0.temperature.0", "83"),
        ("0.clock.1", "1410"),
        ("0.power", "698500"),
        ("0.reasons", "36"),
        ("0.utilization", "40"),
        ("0.utilization.memory", "10"),
        ("0.memory.total", "85899345920"),
        ("0.memory.used", "10000000000"),
    ]);
    let library = nvml.library();
    let run = |arguments: &[&str]| {
        let mut command = home.command(&[&SMALL, arguments].concat());
        Ran::of(command.env("HEADWATER_NVML", &library).output().expect("headwater runs"))
    };
    let ran = run(&["--backend", "cuda", "--kernels", "launch", "--format", "json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let report = ran.json();
    assert_eq!(report["driver"], "570.86.15");
    let expected = serde_json::json!({
        "sm_clock_hz": 1.41e9, "temperature_c": 83.0, "power_w": 698.5, "utilization": 0.4,
        "throttle": ["sw_power_cap", "sw_thermal_slowdown"],
    });
    for moment in ["before", "after"] {
        for (key, value) in expected.as_object().expect("it is one") {
            assert_eq!(&report["conditions"][moment][key], value, "{key} {moment}");
        }
        // A clock that the driver does not tell is no zero.
        assert!(report["conditions"][moment].get("memory_clock_hz").is_none(), "{report}");
    }
    assert!(report["conditions"]["missing"].is_null(), "{report}");

    nvml.set(&[("0.utilization", "97")]);
    let calls = || stub.calls().iter().filter(|call| *call == "cuDevicePrimaryCtxRetain").count();
    let before = calls();
    let ran = run(&["--backend", "cuda", "--kernels", "launch"]);
    assert_eq!(ran.code, Some(69), "{ran:?}");
    assert!(ran.err.contains("refused: it is 97 % in use"), "{ran:?}");
    assert_eq!(calls(), before, "a context alone would take hundreds of megabytes");
    assert_eq!(run(&["--backend", "cuda", "--kernels", "launch", "--force"]).code, Some(0));
}

#[test]
fn a_wrong_result_is_told_and_is_no_baseline() {
    let home = Home::with_stub("wrong headwater_gemm\nwrong headwater_gather\n");
    let ran = home.run(&["--backend", "cuda", "--budget", "5s", "--kernels", "launch,gemm,gather", "--save"]);
    assert_eq!(ran.code, Some(74), "{ran:?}");
    assert!(ran.out.contains("WRONG RESULT of gemm: value 0 is "), "{ran:?}");
    assert!(ran.out.contains("WRONG RESULT of gather: "), "{ran:?}");
    assert!(ran.err.contains("is not saved as a baseline"), "{ran:?}");
    let ran = home.small(&["--backend", "cuda", "--kernels", "gemm"]);
    assert_eq!(ran.code, Some(69), "{ran:?}");
}

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
    // A GPU that is there and does not do is not replaced by the CPU.
    let ran = home.small(&[]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(69), ""), "{ran:?}");
}

#[test]
fn short_memory_refuses_politely_and_can_be_forced() {
    let home = Home::with_stub("free 500000000");
    let ran = home.small(&["--backend", "auto", "--kernels", "launch"]);
    assert_eq!(ran.code, Some(69), "{ran:?}");
    assert!(ran.err.contains("'--force' measures all the same"), "{ran:?}");
    let ran = home.small(&["--backend", "auto", "--kernels", "launch", "--force"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    // What does not fit costs the kernels that need it, and not the others.
    let home = Home::with_stub("most 100000");
    let ran = home.small(&["--backend", "cuda", "--kernels", "launch,copy", "--format", "json"]);
    let report = ran.json();
    assert_eq!(
        (names(&report, "kernels"), names(&report, "skipped")),
        (vec!["launch".to_owned()], vec!["copy".to_owned()])
    );
    assert!(
        report["skipped"][0]["why"].as_str().is_some_and(|why| why.contains("no memory left")),
        "{report}"
    );
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
fn hanging(home: &Home) -> (Child, Pid) {
    let mut command = home.command(&["--backend", "cuda", "--timeout", "10min"]);
    let parent = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("headwater runs");
    let stub = home.stub.as_ref().expect("these tests have a stub");
    wait_until("the driver is asked", || stub.calls().iter().any(|call| call == "cuInit"));
    let child = children(parent.id()).first().copied().expect("it measures in a process of its own");
    (parent, child)
}

/// The processes that any thread of a process has started.
fn children(process: u32) -> Vec<Pid> {
    let tasks = PathBuf::from(format!("/proc/{process}/task"));
    let lists = std::fs::read_dir(tasks).into_iter().flatten().flatten();
    let lists = lists.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let all: Vec<i32> = lists
        .flat_map(|list| list.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>())
        .collect();
    all.into_iter().filter_map(Pid::from_raw).collect()
}

fn is_gone(process: Pid) -> bool {
    let state =
        std::fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).unwrap_or_default();
    // One that nobody waits for any more is a name in a list and nothing else.
    test_kill_process(process).is_err()
        || state.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'))
}

fn hanging_home() -> Home {
    let home = Home::with_stub("");
    let stub = home.stub.as_ref().expect("it was just made");
    stub.set(&format!("hang cuInit\nlog {}\n", stub.log_file().display()));
    home
}

#[test]
fn a_parent_that_is_killed_takes_the_measuring_process_with_it() {
    let home = hanging_home();
    let (mut parent, child) = hanging(&home);
    parent.kill().expect("it can be killed");
    parent.wait().expect("it has ended");
    wait_until("the measuring process has ended", || is_gone(child));
}

#[test]
fn a_measuring_process_that_is_killed_is_told() {
    let home = hanging_home();
    let (parent, child) = hanging(&home);
    kill_process(child, Signal::KILL).expect("it can be killed");
    let ran = Ran::of(parent.wait_with_output().expect("it ends by itself"));
    assert_eq!(ran.code, Some(69), "{ran:?}");
    assert!(ran.err.contains("the benchmark's process was killed (signal 9)"), "{ran:?}");
}

#[test]
fn a_saved_result_is_what_later_ones_are_compared_with() {
    let home = Home::with_stub("");
    let arguments = ["--backend", "cuda", "--kernels", "launch,copy"];
    let ran = home.small(&[&arguments[..], &["--compare"]].concat());
    assert_eq!(ran.code, Some(64), "{ran:?}");
    assert!(ran.err.contains("there is no saved result of Stub GPU 0"), "{ran:?}");
    let first = home.small(&[&arguments[..], &["--save", "--format", "json"]].concat());
    assert_eq!(first.code, Some(0), "{first:?}");
    let saved = home.folder.path().join("headwater/kernels/cuda-Stub-GPU-0-CUDA-12.8.json");
    assert!(first.err.contains(&saved.display().to_string()), "{first:?}");
    assert_eq!(std::fs::read_to_string(&saved).expect("it was saved"), first.out);

    let report = home.small(&[&arguments[..], &["--format", "json"]].concat()).json();
    for (now, then) in report["kernels"]
        .as_array()
        .expect("kernels")
        .iter()
        .zip(first.json()["kernels"].as_array().expect("kernels"))
    {
        let ratio = now["median"].as_f64().expect("a time") / then["median"].as_f64().expect("a time");
        assert_eq!(now["baseline"], then["median"], "{now}");
        assert!(now["ratio"].as_f64().is_some_and(|told| (told / ratio - 1.0).abs() < 1e-9), "{now}");
    }

    // Other work is not compared, and a file can be named.
    let file = saved.display().to_string();
    let other =
        home.run(&["--backend", "cuda", "--memory", "2MiB", "--kernels", "launch,copy", "--compare", &file]);
    assert!(other.out.contains("not compared, because they did other work then: copy"), "{other:?}");
    for (path, said) in
        [("nowhere.json", "cannot be used"), (file_with(&home, "{}").as_str(), "is no result of")]
    {
        let ran = home.small(&["--compare", path]);
        assert_eq!(ran.code, Some(64), "{ran:?}");
        assert!(ran.err.contains(said), "{ran:?}");
    }
    std::fs::write(&saved, "half a fi").expect("it can be damaged");
    let ran = home.small(&arguments);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.contains("is no result of 'headwater bench'"), "{ran:?}");
}

fn file_with(home: &Home, text: &str) -> String {
    let path = home.folder.path().join("other.json");
    std::fs::write(&path, text).expect("a file can be written");
    path.display().to_string()
}

#[test]
fn one_of_several_gpus_is_chosen_and_wrong_names_are_refused() {
    let home = Home::with_stub("devices 2");
    let ran = home.small(&["--backend", "cuda", "--device", "1", "--kernels", "launch", "--format", "json"]);
    assert_eq!((ran.json()["device"].as_str(), ran.json()["index"].as_u64()), (Some("Stub GPU 1"), Some(1)));
    let ran = home.small(&["--backend", "cuda", "--device", "2"]);
    assert!(ran.code == Some(69) && ran.err.contains("there is no GPU 2: this host has 2"), "{ran:?}");
    let ran = home.small(&["--kernels", "lunch"]);
    assert!(ran.code == Some(64) && ran.err.contains("'lunch'") && ran.err.contains("'launch'"), "{ran:?}");
}

/// Runs `scripts/gpu-check` with this binary, and with these programs first in PATH.
fn gpu_check(home: &Home, programs: &str) -> Ran {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/gpu-check");
    let path = format!("{programs}:{}", std::env::var("PATH").unwrap_or_default());
    let mut command = home.command(&[]);
    let environment: Vec<_> =
        command.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))).collect();
    command = Command::new(script);
    command.arg(env!("CARGO_BIN_EXE_headwater")).envs(environment).env("PATH", path);
    Ran::of(command.output().expect("the script runs"))
}

/// A program of this name that does what this script says.
fn program(home: &Home, name: &str, script: &str) -> String {
    let folder = home.folder.path().join("programs");
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    let file = folder.join(name);
    std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).expect("a script can be written");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o700)).expect("it can be made to run");
    folder.display().to_string()
}

#[test]
fn the_check_of_a_machine_with_a_gpu_says_where_there_is_none_and_what_does_not_hold() {
    let home = Home::new(None);
    let ran = gpu_check(&home, &program(&home, "nvidia-smi", "exit 9"));
    assert_eq!((ran.code, ran.out.as_str()), (Some(69), ""), "{ran:?}");
    assert!(ran.err.contains("no GPU here"), "{ran:?}");

    let home = Home::with_stub("wrong headwater_gemm");
    let names = "case \"$*\" in -L) echo 'GPU 0: Stub GPU 0 (UUID: GPU-07)' ;; *) echo 'Stub GPU 0' ;; esac";
    let ran = gpu_check(&home, &program(&home, "nvidia-smi", names));
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let state = |check: &str| {
        let row = ran.out.lines().find(|line| line.starts_with(check)).unwrap_or_default();
        row[check.len().min(row.len())..].trim().to_owned()
    };
    assert!(state("GPU 0: gemm").starts_with("WRONG"), "{ran:?}");
    assert!(state("GPU 0: bench, saved").starts_with("EXIT 74"), "a wrong result is no baseline: {ran:?}");
    assert!(state("GPU 0: triad against the memory's peak").contains("no peak is known"), "{ran:?}");
    let kernels = ran.out.lines().filter(|line| line.contains(" us")).count();
    assert_eq!(kernels, 12, "{ran:?}");
    assert_eq!(state("nothing is left behind"), "ok", "{ran:?}");
}

#[test]
fn the_committed_kernels_are_those_of_the_source() {
    let read = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/kernels").join(name);
        std::fs::read_to_string(path).expect("it is committed")
    };
    let (source, ptx) = (read("kernels.cu"), read("kernels.ptx"));
    let declared: Vec<&str> = source
        .lines()
        .filter(|line| line.starts_with("extern"))
        .filter_map(|line| line.split(' ').find(|word| word.starts_with("headwater_"))?.split('(').next())
        .collect();
    assert_eq!(declared.len(), 7, "{declared:?}");
    for name in declared {
        assert!(ptx.contains(&format!(".visible .entry {name}(")), "'{name}': run scripts/kernels --update");
    }
    // What CUDA 12.0 takes, on every GPU from Volta on.
    assert!(ptx.contains("\n.version 8.0\n.target sm_70\n"));
}
