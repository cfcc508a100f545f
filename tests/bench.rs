//! The kernel benchmark by the real binary: on the CPU, without a driver, and against a stub of the CUDA driver, which proves
//! what the host does and nothing about a GPU or its times.

mod bench {
    mod check;
    mod choice;
    mod failing;
    pub(crate) mod home;
}

use std::path::Path;
use std::time::Instant;

use headwater_test_support::{NvmlRelease, Ran, StubNvml};
use serde_json::Value;

use bench::home::{Home, SMALL};

fn names(report: &Value, list: &str) -> Vec<String> {
    let rows = report[list].as_array().map(Vec::as_slice).unwrap_or_default();
    rows.iter().map(|row| row["name"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn the_cpu_backend_measures_and_says_that_it_is_no_gpu() {
    let home = Home::new(None);
    let begun = Instant::now();
    let ran = home.small(&["--backend", "cpu", "--force", "--format", "json"]);
    let whole = begun.elapsed().as_secs_f64();
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
    let report = ran.json();
    assert_eq!((report["schema"].as_u64(), report["backend"].as_str()), (Some(1), Some("cpu")));
    assert!(report["device"].as_str().is_some_and(|device| device.contains("thread")), "{report}");
    assert!(report["driver"].is_null());
    for kernel in report["kernels"].as_array().expect("kernels") {
        for number in ["median", "min", "cold"] {
            assert!(kernel[number].as_f64().is_some_and(|time| time > 0.0), "{number} of {kernel}");
        }
        assert!(kernel["runs"].as_u64().is_some_and(|runs| runs > 0), "{kernel}");
        assert!(
            kernel["unit"] == "s" && kernel["baseline"].is_null() && kernel["ratio"].is_null(),
            "{kernel}"
        );
        assert!(kernel["wrong"].is_null(), "{kernel}");
        // Of few batches nobody knows how noisy they are.
        let is_known = kernel["batches"].as_u64().is_some_and(|batches| batches >= 9);
        assert_eq!(kernel["iqr"].is_f64(), is_known, "{kernel}");
        assert!(kernel["iqr"].is_f64() || kernel["iqr"].is_null() && kernel["noise"].is_null(), "{kernel}");
        assert!(kernel["min"].as_f64() <= kernel["cold"].as_f64(), "the first run is one of all: {kernel}");
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
    assert!(conditions["before"].is_object(), "{conditions}");
    // By this process' clock as well; and far from the deadline, which is 18 s after the start.
    let spent = conditions["spent_s"].as_f64().expect("a time");
    assert!(spent > 0.0 && spent <= whole && spent < 5.0, "{whole} s in all: {conditions}");

    let text = home.small(&["--backend", "cpu", "--force", "--kernels", "launch,copy"]);
    assert!(text.out.starts_with("CPU, not a GPU: "), "{text:?}");
    let rows = text
        .out
        .lines()
        .filter(|line| line.starts_with("cpu launch") || line.starts_with("cpu copy"))
        .count();
    assert_eq!(rows, 2, "{text:?}");
}

#[test]
fn what_a_budget_is_too_short_for_is_made_smaller_or_skipped_and_said() {
    // No machine fills half a gigabyte in five milliseconds.
    let home = Home::new(None);
    let hurried = ["--backend", "cpu", "--force", "--memory", "512MiB", "--budget", "5ms"];
    let ran = home.run(&[&hurried[..], &["--kernels", "reduce", "--format", "json"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let report = ran.json();
    let taken = report["conditions"]["working_set_bytes"].as_u64().expect("a size");
    assert!(taken < 512 << 20, "{report}");
    assert!(
        report["notes"].to_string().contains("instead of 537 MB, because the budget is too short"),
        "{report}"
    );
    for kernel in report["kernels"].as_array().expect("kernels") {
        assert_eq!(kernel["work"].as_f64(), Some(taken as f64), "{report}");
    }
    assert_eq!(names(&report, "kernels").len() + names(&report, "skipped").len(), 1, "{report}");
    // One run alone is longer than all there is.
    let home = Home::with_stub("launch_us 250000");
    let stalled = ["--backend", "cuda", "--budget", "200ms", "--kernels", "launch,triad", "--format", "json"];
    let report = home.run(&stalled).json();
    assert_eq!(names(&report, "skipped"), ["launch", "triad"], "{report}");
    let why = |place: usize| report["skipped"][place]["why"].as_str().unwrap_or_default().to_owned();
    assert!(why(0).starts_with("running it takes some ") && why(0).contains("--budget"), "{report}");
    assert_eq!(why(1), "the budget was spent: give more with '--budget'", "{report}");
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
    let busy = stub.folder().join("busy").display().to_string();
    stub.set(&format!("log {}\nbusy {busy}\n", stub.log_file().display()));
    let mut nvml = StubNvml::new(NvmlRelease::Present);
    nvml.set(&[
        // Another one is lost, which keeps nobody from looking at this one.
        ("count", "2"),
        ("1.lost", "1"),
        ("driver", "570.86.15"),
        ("0.uuid", "GPU-07070707-0707-0707-0707-070707070707"),
        ("0.busy", &busy),
        ("0.temperature.0", "41"),
        ("0.busy.temperature.0", "83"),
        ("0.clock.1", "345"),
        ("0.busy.clock.1", "1410"),
        ("0.power", "75000"),
        ("0.busy.power", "698500"),
        // Rest is no reason.
        ("0.reasons", "1"),
        ("0.busy.reasons", "36"),
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
    let ran = run(&["--backend", "cuda", "--kernels", "launch,triad", "--format", "json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let report = ran.json();
    assert_eq!(report["driver"], "570.86.15");
    let resting = serde_json::json!({
        "sm_clock_hz": 3.45e8, "temperature_c": 41.0, "power_w": 75.0, "utilization": 0.4, "throttle": [],
    });
    // While the kernel works, and not once it has ended: a GPU that rests has other clocks at once.
    let working = serde_json::json!({
        "sm_clock_hz": 1.41e9, "temperature_c": 83.0, "power_w": 698.5, "utilization": 0.4,
        "throttle": ["sw_power_cap", "sw_thermal_slowdown"],
    });
    for (moment, expected) in [("before", resting), ("during", working)] {
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
    assert!(ran.err.contains("refused: GPU 0 is 97 % in use"), "{ran:?}");
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

    // What is not timed again keeps its value, and says how old it is.
    let gather =
        ["--backend", "cuda", "--memory", "1MiB", "--budget", "10s", "--kernels", "gather", "--save"];
    let gather = home.run(&gather);
    assert_eq!(gather.code, Some(0), "{gather:?}");
    let kept: Value = serde_json::from_slice(&std::fs::read(&saved).expect("it was saved")).expect("JSON");
    assert_eq!(names(&kept, "kernels"), ["launch", "copy", "gather"]);
    assert_eq!(
        (&kept["kernels"][1]["median"], &kept["kernels"][1]["at"]),
        (&first.json()["kernels"][1]["median"], &first.json()["at"])
    );

    // Other work is not compared, nor is a table of another size; and a file can be named.
    let file = saved.display().to_string();
    let larger = ["--backend", "cuda", "--memory", "16MiB", "--kernels", "launch,copy,gather"];
    let other = home.run(&[&larger[..], &["--compare", &file]].concat());
    let said =
        "not compared, because they did other work then, or read from a table of another size: copy, gather";
    assert!(other.out.contains(said), "{other:?}");
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
