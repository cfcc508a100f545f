//! The canary: the kernel benchmark as a source, against a stub of the CUDA driver and on the CPU, and ordered by the screen.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use headwater::app::App;
use headwater::bench::BackendChoice;
use headwater::config::Config;
use headwater::sources::Source;
use headwater::sources::canary::{Canary, CanarySpec, Turn};
use headwater::tui::feed::live::live;
use headwater::tui::feed::{Feed, Order};
use headwater_engine::metric::{GPU_LAUNCH, KERNEL_TIME, MetricName};
use headwater_engine::reading::{Event, FaultKind, Reading, Value};
use headwater_engine::{Baselines, RemoteText, Snapshot, Subject};
use headwater_panels::Status;
use headwater_test_support::{PATIENCE, StubCuda, wait_until};

/// What the other computers of this test are called.
const HOST: &str = "box";

/// A canary whose child meets the stub, and a binary of which only the child is started.
fn canary(stub: &StubCuda) -> CanarySpec {
    let (folder, scenario) = (stub.folder().display(), stub.scenario_file());
    let driver = format!("LD_LIBRARY_PATH={folder} HEADWATER_CUDA_STUB={}", scenario.display());
    spec(BackendChoice::Cuda, program(stub.folder(), &driver))
}

/// A program that is this binary with a home in this folder, and with this environment.
fn program(folder: &Path, environment: &str) -> PathBuf {
    let program = folder.join("start");
    let (home, binary) = (folder.display(), env!("CARGO_BIN_EXE_headwater"));
    let script = format!(
        "#!/bin/sh\nexport HOME={home} XDG_STATE_HOME={home} HEADWATER_LOCKS={home} {environment}\nexec {binary} \"$@\"\n"
    );
    std::fs::write(&program, script).expect("a script can be written");
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o700)).expect("it can be made to run");
    program
}

fn spec(backend: BackendChoice, program: PathBuf) -> CanarySpec {
    let mut spec = CanarySpec::new(HOST, Duration::from_millis(500));
    spec.plan.backend = backend;
    spec.plan.set_bytes = Some(1 << 20);
    spec.plan.kernels = vec!["launch".to_owned(), "triad".to_owned()];
    spec.plan.program = Some(program);
    spec
}

fn on_cpu(folder: &Path) -> CanarySpec {
    let mut spec = spec(BackendChoice::Cpu, program(folder, ""));
    spec.plan.is_forced = true;
    spec
}

/// The subjects, metrics and parts of the times in a reading.
fn times(reading: &Reading) -> Vec<(String, String)> {
    let is_time = |metric: &MetricName| {
        [KERNEL_TIME, GPU_LAUNCH].iter().any(|known| *metric == MetricName::Known(*known))
    };
    let samples = reading.samples.iter().filter(|sample| is_time(&sample.metric));
    samples
        .map(|sample| {
            assert!(matches!(sample.value, Value::Gauge(time) if time > 0.0), "{sample:?}");
            (sample.subject.to_string(), sample.part.as_ref().map(ToString::to_string).unwrap_or_default())
        })
        .collect()
}

fn named(rows: &[(&str, &str)]) -> Vec<(String, String)> {
    rows.iter().map(|(subject, part)| ((*subject).to_owned(), (*part).to_owned())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_canary_tells_times_and_what_keeps_it_from_them_and_goes_on_when_it_can_again() {
    let stub = StubCuda::new();
    let mut spec = canary(&stub);
    spec.plan.deadline = Duration::from_secs(30);
    stub.set("devices 2\n");
    spec.devices = vec![0, 1];
    let mut source = Canary::new(&spec, &Turn::default());
    let reading = source.ask().await;
    assert!(reading.faults.is_empty(), "{:?}", reading.faults);
    let both = [("gpu/box:0", "launch"), ("gpu/box:0", "canary"), ("gpu/box:0", "triad")];
    let other = both.map(|(_, part)| ("gpu/box:1", part));
    assert_eq!(times(&reading), named(&[both, other].concat()));

    // A device that is better left alone is no fault of it.
    stub.set("devices 2\nfree 1000000\n");
    let reading = source.ask().await;
    assert!(reading.faults.is_empty() && times(&reading).is_empty(), "{reading:?}");
    let why = reading.events.iter().find_map(|event| match event {
        Event::Unavailable { why, .. } => Some(why.to_string()),
        _ => None,
    });
    assert!(why.is_some_and(|why| why.contains("1 MB of memory are free")), "{reading:?}");

    for (scenario, kind) in [
        ("devices 0\n", FaultKind::Unreachable),
        ("devices 2\ncrash cuModuleLoadData\n", FaultKind::Malformed),
        ("devices 2\nwrong headwater_triad\n", FaultKind::Malformed),
    ] {
        stub.set(scenario);
        let reading = source.ask().await;
        assert!(reading.faults.iter().all(|fault| fault.kind == kind), "{scenario}: {reading:?}");
        assert_eq!(reading.faults.len(), 2, "{scenario}: {reading:?}");
        let of = ["0", "1"].map(|number| [format!("GPU {number}: "), format!("gpu/box:{number} ")]);
        for (fault, of) in reading.faults.iter().zip(of) {
            assert!(
                of.iter().any(|of| fault.message.as_str().starts_with(of.as_str())),
                "{scenario}: {reading:?}"
            );
        }
        assert!(times(&reading).iter().all(|(_, part)| part != "triad"), "{scenario}: {reading:?}");
    }

    stub.set("devices 2\n");
    let reading = source.ask().await;
    assert_eq!((reading.faults.len(), times(&reading).len()), (0, 6), "{reading:?}");
    assert!(reading.events.iter().any(|event| matches!(event, Event::Available { .. })), "{reading:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_driver_that_hangs_is_a_silence_and_nothing_waits_for_it_longer_than_the_deadline() {
    let stub = StubCuda::new();
    let mut spec = canary(&stub);
    spec.plan.deadline = Duration::from_secs(1);
    stub.set("hang cuLaunchKernel\n");
    let reading = tokio::time::timeout(PATIENCE, Canary::new(&spec, &Turn::default()).ask()).await;
    let reading = reading.expect("the child is killed");
    assert_eq!(
        reading.faults.iter().map(|fault| fault.kind).collect::<Vec<_>>(),
        [FaultKind::Silent],
        "{reading:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kernel_that_is_too_long_for_its_budget_is_unknown_and_the_others_are_not() {
    let stub = StubCuda::new();
    let mut spec = canary(&stub);
    // Each launch of the pass over memory takes as long as its share of the budget.
    stub.set("launch_us 250000\n");
    spec.plan.kernels = vec!["triad".to_owned()];
    let slow = Canary::new(&spec, &Turn::default()).ask().await;
    assert!(slow.faults.is_empty() && times(&slow).is_empty(), "{slow:?}");
    let unknown = |reading: &Reading| {
        reading.events.iter().find_map(|event| match event {
            Event::Unavailable { what, why } if what.as_str() == "medians of some kernels" => {
                Some(why.to_string())
            }
            _ => None,
        })
    };
    let why = unknown(&slow).unwrap_or_default();
    assert!(why.contains("a median needs 3 batches") && why.contains("triad of gpu/box:0 had "), "{slow:?}");

    stub.set("");
    spec.plan.budget = Duration::from_secs(4);
    let quick = Canary::new(&spec, &Turn::default()).ask().await;
    assert_eq!((unknown(&quick), times(&quick).len()), (None, 1), "{quick:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn none_is_begun_beside_one_that_has_not_ended() {
    let stub = StubCuda::new();
    let mut spec = canary(&stub);
    let hangs = format!("hang cuInit\nlog {}\n", stub.log_file().display());
    stub.set(&hangs);
    spec.plan.deadline = Duration::from_secs(600);
    let mut first = Canary::new(&spec, &Turn::default());
    let first = tokio::spawn(async move { first.ask().await });
    let begun = || stub.calls().iter().filter(|call| *call == "cuInit").count();
    wait_until("the first one is at work", || begun() == 1);
    spec.plan.deadline = Duration::from_secs(20);
    let second = tokio::time::timeout(PATIENCE, Canary::new(&spec, &Turn::default()).ask()).await;
    let second = second.expect("it is not begun");
    assert!(second.faults.is_empty() && times(&second).is_empty(), "{second:?}");
    let is_said = |event: &Event| matches!(event, Event::Unavailable { why, .. } if why.as_str().contains("another benchmark"));
    assert!(second.events.iter().any(is_said), "{second:?}");
    assert_eq!(begun(), 1, "no driver was asked beside it");
    first.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cpu_backend_is_told_of_the_host_and_labelled() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let mut spec = on_cpu(folder.path());
    // So much that even a busy machine comes to the second kernel.
    spec.plan.budget = Duration::from_secs(4);
    let reading = Canary::new(&spec, &Turn::default()).ask().await;
    assert!(reading.faults.is_empty(), "{:?}", reading.faults);
    assert_eq!(times(&reading), named(&[("host/box", "cpu launch"), ("host/box", "cpu triad")]));
}

/// Waits for a notice that holds one of these; which of them it was.
async fn told(feed: &mut Feed, words: &[&str]) -> usize {
    let told = async {
        while let Some(notice) = feed.notices.recv().await {
            if let Some(found) = words.iter().position(|words| notice.text.contains(words)) {
                return Some(found);
            }
        }
        None
    };
    let found = tokio::time::timeout(PATIENCE, told).await.ok().flatten();
    assert!(found.is_some(), "never told any of {words:?}");
    found.unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_screen_has_kernels_timed_once_and_hears_what_came_of_it() {
    const BUSY: &str = "kernels are being timed already";
    // Nothing answers there, which keeps nobody from timing kernels.
    let mut config =
        Config::parse("[[metrics]]\nurl = \"http://127.0.0.1:1/metrics\"\n", "test").expect("it is right");
    let stub = StubCuda::new();
    let mut spec = canary(&stub);
    // It has its turn when the application starts, and no other.
    spec.every = Duration::from_secs(3_600);
    config.canary = Some(spec);
    let app = App::start(&config, Baselines::default(), None).expect("the targets are sound");
    let mut feed = live(app, Status::default());
    let orders = feed.orders.clone();
    let gpu: Subject = "gpu/box:0".parse().expect("it is a subject");
    let order = async |gpu: &str| {
        let order = Order::TimeKernels(Some(gpu.parse().expect("it is a subject")));
        orders.send(order).await.expect("the feed takes orders");
    };
    order("gpu/elsewhere:0").await;
    told(&mut feed, &["gpu/elsewhere:0 is not a GPU of this machine"]).await;
    order("gpu/box:0-mig-9").await;
    told(&mut feed, &["gpu/box:0-mig-9 is a slice (MIG) of GPU 0 of this machine"]).await;
    let begun = async |feed: &mut Feed| {
        order("gpu/box:0").await;
        told(feed, &["timing kernels for at most 2 s", BUSY]).await == 0
    };
    while !begun(&mut feed).await {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(!begun(&mut feed).await, "one at a time");
    told(&mut feed, &["gpu/box:0: launch "]).await;
    let part = RemoteText::new("copy");
    let is_shown = |snapshot: &Snapshot| snapshot.present(&gpu, KERNEL_TIME, Some(&part)).is_some();
    let shown = feed.snapshots.wait_for(|newest| newest.as_deref().is_some_and(is_shown));
    let shown = tokio::time::timeout(PATIENCE, shown).await;
    assert!(shown.is_ok_and(|shown| shown.is_ok()), "what an order measured is in the snapshots");
    feed.stop().await;
}
