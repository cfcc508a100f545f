//! GPUs as NVIDIA's management library tells of them, against a stub of the library. The stub proves what is made of
//! answers, hangs and errors; that a real driver answers so was read in its documentation.

use std::collections::BTreeMap;
use std::time::Duration;

use headwater::sources::Outlet;
use headwater::sources::nvml::{NvmlSpec, spawn_nvml};
use headwater_engine::Subject;
use headwater_engine::metric::{
    GPU_CLOCK, GPU_ECC, GPU_MEMORY, GPU_MEMORY_MAX, GPU_NVLINKS, GPU_POWER, GPU_PROCESS_MEMORY, GPU_REMAPPED,
    GPU_TEMPERATURE, GPU_UTILIZATION, GPU_XID, GPU_XIDS, SCRAPE_TIME,
};
use headwater_engine::reading::{Event, FaultKind, Reading, Value};
use headwater_test_support::terminal::Terminal;
use headwater_test_support::{NvmlRelease, Readings, StubNvml, value_of};
use tokio_util::sync::CancellationToken;

fn spec(stub: &StubNvml) -> NvmlSpec {
    NvmlSpec {
        library: Some(stub.library()),
        // A machine that is busy is no driver that hangs.
        patience: Duration::from_secs(30),
        lists_every: Duration::from_millis(200),
        ..NvmlSpec::new("host-a", true)
    }
}

/// The same for tests of a driver that hangs.
fn impatient(stub: &StubNvml) -> NvmlSpec {
    NvmlSpec { patience: Duration::from_millis(300), ..spec(stub) }
}

/// A source that looks every fifty milliseconds, until it is dropped.
struct Looks {
    readings: Readings,
    stop: CancellationToken,
}

impl Drop for Looks {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

fn looks(spec: &NvmlSpec) -> Looks {
    let (send, readings) = Readings::channel();
    let stop = CancellationToken::new();
    spawn_nvml(spec, Duration::from_millis(50), Outlet { readings: send, stop: stop.clone() });
    Looks { readings, stop }
}

fn gpu(index: u32) -> Subject {
    format!("gpu/host-a:{index}").parse().expect("it is a subject")
}

/// The numbers of a reading by subject, metric and part, but for our own cost.
fn numbers(reading: &Reading) -> BTreeMap<String, f64> {
    let known = reading.samples.iter().filter(|sample| sample.metric != SCRAPE_TIME.into());
    known
        .filter_map(|sample| {
            let part = sample.part.as_ref().map_or(String::new(), |part| format!("{{{part}}}"));
            let value = match &sample.value {
                Value::Gauge(value) | Value::Counter(value) => *value,
                Value::Histogram(_) => return None,
            };
            let of = if sample.subject == reading.source { "" } else { sample.subject.as_str() };
            Some((format!("{of}{}{part}", sample.metric.as_str()), value))
        })
        .collect()
}

fn part_of(reading: &Reading, metric: &str, part: &str) -> Option<f64> {
    numbers(reading).get(&format!("{metric}{{{part}}}")).copied()
}

fn lacks(readings: &[Reading]) -> BTreeMap<String, String> {
    let events = readings.iter().flat_map(|reading| &reading.events);
    events
        .filter_map(|event| match event {
            Event::Unavailable { what, why } => Some((what.as_str().to_owned(), why.as_str().to_owned())),
            _ => None,
        })
        .collect()
}

#[tokio::test]
async fn every_number_arrives_of_two_gpus() {
    let stub = StubNvml::with_gpus(NvmlRelease::Present, 2);
    let mut looks = looks(&spec(&stub));
    let list = looks
        .readings
        .until("the GPUs are listed", |reading| {
            reading.events.iter().any(|event| matches!(event, Event::Targets(_)))
        })
        .await;
    // Tools that know a GPU by its uuid alone are about the same one.
    let names = list.events.iter().filter_map(|event| match event {
        Event::Gpu(name) => Some((name.uuid.as_str(), name.gpu.as_str())),
        _ => None,
    });
    assert_eq!(names.collect::<Vec<_>>(), [("GPU-stub-0", "gpu/host-a:0"), ("GPU-stub-1", "gpu/host-a:1")]);
    let Some(Event::Targets(list)) = list.events.first() else { panic!("{list:?}") };
    assert_eq!(list.found.as_str(), "NVML 12.570.86.15, driver 570.86.15");
    let places: Vec<(&str, &str)> =
        list.targets.iter().map(|target| (target.subject.as_str(), target.place.as_str())).collect();
    assert_eq!(
        places,
        [
            ("gpu/host-a:0", "NVIDIA H100 80GB HBM3, 00000000:17:00.0, GPU-stub-0"),
            ("gpu/host-a:1", "NVIDIA H100 80GB HBM3, 00000000:18:00.0, GPU-stub-1"),
        ]
    );
    for index in 0..2_u32 {
        let reading = looks.readings.until_sample(&gpu(index), GPU_UTILIZATION).await;
        let n = f64::from(index);
        let expected: BTreeMap<String, f64> = [
            ("gpu.utilization".to_owned(), 0.9 + n / 100.0),
            ("gpu.memory.busy".to_owned(), 0.4 + n / 100.0),
            ("gpu.memory.used".to_owned(), 12e9 + n),
            ("gpu.memory.max".to_owned(), 85_899_344_920.0),
            ("gpu.temperature".to_owned(), 60.0 + n),
            ("gpu.power".to_owned(), 300.5 + n),
            ("gpu.power.max".to_owned(), 700.0),
            ("gpu.clock.sm".to_owned(), 1.7e9 + n * 1e6),
            ("gpu.clock.memory".to_owned(), 2.619e9),
            ("gpu.clock.sm.max".to_owned(), 1.98e9),
            ("gpu.throttled{applications_clocks_setting}".to_owned(), 0.0),
            ("gpu.throttled{sw_power_cap}".to_owned(), 2.0),
            ("gpu.throttled{hw_slowdown}".to_owned(), 0.0),
            ("gpu.throttled{sync_boost}".to_owned(), 0.0),
            ("gpu.throttled{sw_thermal_slowdown}".to_owned(), 3.5),
            ("gpu.throttled{hw_thermal_slowdown}".to_owned(), 0.0),
            ("gpu.throttled{hw_power_brake_slowdown}".to_owned(), 0.0),
            ("gpu.throttled{display_clock_setting}".to_owned(), 0.0),
            ("gpu.pcie.output".to_owned(), 2_097_152.0),
            ("gpu.pcie.input".to_owned(), 1_048_576.0),
            ("gpu.pcie.generation".to_owned(), 5.0),
            ("gpu.pcie.generation.max".to_owned(), 5.0),
            ("gpu.pcie.width".to_owned(), 16.0),
            ("gpu.pcie.width.max".to_owned(), 16.0),
            ("gpu.pcie.replays".to_owned(), n),
            ("gpu.ecc.errors{corrected}".to_owned(), 7.0),
            ("gpu.ecc.errors{uncorrected}".to_owned(), 1.0),
            ("gpu.rows.remapped{corrected}".to_owned(), 3.0),
            ("gpu.rows.remapped{uncorrected}".to_owned(), 2.0),
            ("gpu.rows.remap_failed".to_owned(), 0.0),
            ("gpu.nvlinks".to_owned(), 2.0),
            ("gpu.nvlink.errors{replay}".to_owned(), 3.0),
            ("gpu.nvlink.errors{recovery}".to_owned(), 0.0),
            ("gpu.nvlink.errors{crc_flit}".to_owned(), 9.0),
            ("gpu.nvlink.errors{crc_data}".to_owned(), 0.0),
            (format!("gpu.process.memory{{{} tritonserver}}", 4_000 + index), 9e9),
            (format!("gpu.process.memory{{{}}}", 5_000 + index), 1e6),
            ("gpu.xid".to_owned(), 0.0),
        ]
        .into();
        let seen = numbers(&reading);
        let names = |numbers: &BTreeMap<String, f64>| numbers.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&seen), names(&expected));
        for (name, value) in &expected {
            let seen = seen[name];
            assert!((seen - value).abs() <= value.abs() * 1e-12, "{name}: {seen} instead of {value}");
        }
        assert_eq!((reading.events.as_slice(), reading.faults.as_slice()), (&[][..], &[][..]));
    }
}

#[tokio::test]
async fn what_is_missing_is_said_with_its_reason_and_ends_when_it_is_there() {
    let mut stub = StubNvml::with_gpus(NvmlRelease::Present, 1);
    for (key, value, kind, words) in [
        ("init", "9", FaultKind::Unreachable, "driver is not loaded"),
        ("init", "18", FaultKind::Unreachable, "different versions"),
        ("init", "4", FaultKind::Denied, "may not talk"),
        ("init", "999", FaultKind::Malformed, "'nvmlInit_v2' failed"),
        ("count", "0", FaultKind::Unreachable, "knows no GPU on this machine (NVML 12.570.86.15"),
        ("count.fail", "999", FaultKind::Malformed, "'nvmlDeviceGetCount_v2' failed"),
        ("hang", "nvmlInit_v2", FaultKind::Silent, "hangs: 'nvmlInit_v2' has not answered"),
    ] {
        stub.set(&[(key, value)]);
        let mut looks = looks(&impatient(&stub));
        let fault = looks.readings.until_fault(&NvmlSpec::subject(), kind).await;
        assert!(fault.message.as_str().contains(words), "{key}={value}: {}", fault.message);
        if key == "count" {
            stub.set(&[(key, "1")])
        } else {
            stub.unset(&[key])
        };
        let reading = looks.readings.until_sample(&gpu(0), GPU_TEMPERATURE).await;
        assert_eq!(value_of(&reading, GPU_TEMPERATURE), Some(60.0), "after {key}={value}");
    }
}

#[tokio::test]
async fn without_the_library_it_is_a_fault_for_whom_asked_and_nothing_for_others() {
    let other = StubNvml::new(NvmlRelease::Another);
    let missing = other.library().with_file_name("libmissing.so");
    for (library, words) in
        [(missing.clone(), "cannot be loaded"), (other.library(), "it is another library")]
    {
        let spec = NvmlSpec { library: Some(library), ..spec(&other) };
        let mut looks = looks(&spec);
        let reading = looks.readings.until("it is said", |reading| !reading.faults.is_empty()).await;
        assert_eq!(reading.source, NvmlSpec::subject());
        assert!(reading.faults[0].message.as_str().contains(words), "{}", reading.faults[0].message);
    }
    let mut nobody = looks(&NvmlSpec { library: Some(missing), is_expected: false, ..spec(&other) });
    assert!(nobody.readings.ended().await);
    assert_eq!(nobody.readings.log, []);
}

#[tokio::test]
async fn a_library_without_a_gpu_is_no_fault_where_nobody_asked_for_one() {
    let mut stub = StubNvml::with_gpus(NvmlRelease::Present, 1);
    stub.set(&[("count", "0")]);
    let mut looks = looks(&NvmlSpec { is_expected: false, ..spec(&stub) });
    let reading = looks.readings.until("it is said", |reading| !reading.events.is_empty()).await;
    let why = &lacks(std::slice::from_ref(&reading))["the GPUs of this machine"];
    assert!(why.contains("knows no GPU"), "{why}");
    stub.set(&[("count", "1")]);
    let listed = looks
        .readings
        .until("a GPU came", |reading| reading.events.iter().any(|event| matches!(event, Event::Targets(_))));
    let listed = listed.await;
    assert!(listed.events.contains(&Event::Available { what: "the GPUs of this machine".into() }));
    assert!(looks.readings.log.iter().all(|reading| reading.faults.is_empty()));
}

#[tokio::test]
async fn an_old_driver_tells_what_it_can_and_the_rest_is_missing_and_not_none() {
    let stub = StubNvml::with_gpus(NvmlRelease::Old, 1);
    let mut looks = looks(&spec(&stub));
    let reading = looks.readings.until_sample(&gpu(0), GPU_TEMPERATURE).await;
    let missing = lacks(std::slice::from_ref(&reading));
    let names: Vec<&str> = missing.keys().map(String::as_str).collect();
    assert_eq!(names, ["XID events", "processes", "replaced memory rows"]);
    assert!(missing.values().all(|why| why.contains("has no such call")), "{missing:?}");
    for metric in [GPU_XID, GPU_XIDS, GPU_REMAPPED, GPU_PROCESS_MEMORY] {
        assert_eq!(value_of(&reading, metric), None, "{metric:?}");
    }
    // By the first version of the call, and by its earlier name.
    assert_eq!(value_of(&reading, GPU_MEMORY), Some(12e9));
    assert_eq!(value_of(&reading, GPU_MEMORY_MAX), Some(85_899_345_920.0));
    assert_eq!(part_of(&reading, "gpu.throttled", "hw_slowdown"), Some(0.0));
    assert_eq!(reading.faults, []);
}

#[tokio::test]
async fn what_a_gpu_does_not_offer_is_said_until_it_does() {
    let mut stub = StubNvml::with_gpus(NvmlRelease::Present, 1);
    stub.unset(&["0.power", "0.ecc.0.0", "0.link.0"]);
    stub.set(&[("0.clock.1", "0xffffffff"), ("0.fail.nvmlDeviceGetTemperature", "4")]);
    let mut looks = looks(&spec(&stub));
    let reading = looks.readings.until_sample(&gpu(0), GPU_UTILIZATION).await;
    let missing = lacks(std::slice::from_ref(&reading));
    let names: Vec<&str> = missing.keys().map(String::as_str).collect();
    assert_eq!(names, ["NVLinks", "clock", "memory errors (ECC)", "power", "temperature"]);
    assert_eq!(missing["temperature"], "this user may not ask it (nvmlDeviceGetTemperature)");
    for metric in [GPU_POWER, GPU_ECC, GPU_NVLINKS, GPU_CLOCK, GPU_TEMPERATURE] {
        assert_eq!(value_of(&reading, metric), None, "{metric:?}");
    }
    assert_eq!(reading.faults, []);
    stub.set(&[("0.power", "100000")]);
    let reading = looks.readings.until_sample(&gpu(0), GPU_POWER).await;
    assert!(reading.events.contains(&Event::Available { what: "power".into() }), "{:?}", reading.events);
}

#[tokio::test]
async fn a_call_that_hangs_is_named_whichever_it_is_and_the_driver_is_heard_again() {
    let mut stub = StubNvml::with_gpus(NvmlRelease::Present, 2);
    stub.set(&[("1.mig", "1"), ("1.slice.0", "9:1000:10")]);
    let mut looks = looks(&impatient(&stub));
    looks.readings.until_sample(&gpu(1), GPU_TEMPERATURE).await;
    let calls = stub.calls();
    for of_a_look in ["nvmlEventSetWait_v2", "nvmlDeviceGetFieldValues", "nvmlDeviceGetGpuInstanceId"] {
        assert!(calls.contains(of_a_look), "{calls:?}");
    }
    // These come once, at the start, or at the end; the last is met when the library is opened anew.
    const ONCE: &[&str] = &[
        "nvmlInit_v2",
        "nvmlShutdown",
        "nvmlEventSetCreate",
        "nvmlEventSetFree",
        "nvmlDeviceRegisterEvents",
    ];
    for call in calls.iter().filter(|call| !ONCE.contains(&call.as_str())) {
        stub.set(&[("hang", call)]);
        let named = format!("'{call}'");
        let fault = |reading: &Reading| {
            reading
                .faults
                .iter()
                .any(|fault| fault.kind == FaultKind::Silent && fault.message.as_str().contains(&named))
        };
        let reading = looks.readings.until(&format!("{call} hangs"), fault).await;
        assert!(reading.samples.is_empty(), "{reading:?}");
        stub.unset(&["hang"]);
        for index in 0..2 {
            looks.readings.until_sample(&gpu(index), GPU_TEMPERATURE).await;
        }
    }
}

#[tokio::test]
async fn a_hang_on_one_gpu_holds_up_the_others_and_says_which_it_is() {
    let mut stub = StubNvml::with_gpus(NvmlRelease::Present, 2);
    let mut looks = looks(&impatient(&stub));
    looks.readings.until_sample(&gpu(0), GPU_TEMPERATURE).await;
    stub.set(&[("1.hang", "nvmlDeviceGetPowerUsage")]);
    let own = looks.readings.until_fault(&gpu(1), FaultKind::Silent).await;
    assert!(own.message.as_str().starts_with("the NVIDIA driver hangs: 'nvmlDeviceGetPowerUsage' of GPU 1"));
    // It is held up, and not silent itself.
    let other = looks.readings.until_fault(&gpu(0), FaultKind::Busy).await;
    let words = "not seen, because the NVIDIA driver hangs: 'nvmlDeviceGetPowerUsage' of GPU 1";
    assert!(other.message.as_str().starts_with(words), "{}", other.message);
    stub.unset(&["1.hang"]);
    looks.readings.until_sample(&gpu(0), GPU_TEMPERATURE).await;
    looks.readings.until_sample(&gpu(1), GPU_TEMPERATURE).await;
}

#[tokio::test]
async fn a_gpu_that_is_lost_is_said_to_be_with_its_xid_and_the_other_goes_on() {
    let mut stub = StubNvml::with_gpus(NvmlRelease::Present, 2);
    let mut looks = looks(&spec(&stub));
    looks.readings.until_sample(&gpu(0), GPU_TEMPERATURE).await;
    stub.set(&[("0.xids", "79"), ("0.lost", "1")]);
    let lost = looks
        .readings
        .until("GPU 0 is lost", |reading| reading.source == gpu(0) && !reading.faults.is_empty())
        .await;
    assert_eq!(lost.faults[0].kind, FaultKind::Unreachable);
    assert!(lost.faults[0].message.as_str().starts_with("this GPU is lost: it has fallen off the bus"));
    assert_eq!(value_of(&lost, GPU_TEMPERATURE), None);
    let xid = looks.readings.until("its XID", |reading| {
        reading.source == gpu(0) && part_of(reading, "gpu.xid.events", "79") == Some(1.0)
    });
    assert_eq!(value_of(&xid.await, GPU_XID), Some(79.0));
    let other = looks.readings.until_sample(&gpu(1), GPU_TEMPERATURE).await;
    assert_eq!(other.faults, []);
    // It throttles meanwhile, and the list still names both.
    stub.set(&[("1.reasons", "0x40"), ("1.field.252", "1500000000")]);
    looks
        .readings
        .until("GPU 1 throttles", |reading| {
            reading.source == gpu(1)
                && part_of(reading, "gpu.throttled", "hw_thermal_slowdown").is_some_and(|s| s > 0.0)
        })
        .await;
    let of_the_other = |reading: &&Reading| reading.source == gpu(1) && !reading.faults.is_empty();
    assert_eq!(looks.readings.log.iter().find(of_the_other), None, "only GPU 0 is lost");
    stub.unset(&["0.lost"]);
    let back = looks.readings.until_sample(&gpu(0), GPU_TEMPERATURE).await;
    assert_eq!(back.faults, []);
    let gone = looks.readings.log.iter().flat_map(|reading| &reading.events).filter(|event| match event {
        Event::Targets(list) => list.targets.len() != 2,
        _ => false,
    });
    assert_eq!(gone.count(), 0, "a GPU that is lost has not left");
}

#[tokio::test]
async fn a_gpu_that_is_listed_no_more_is_lost_and_the_others_keep_their_numbers() {
    let mut stub = StubNvml::with_gpus(NvmlRelease::Present, 2);
    let mut looks = looks(&spec(&stub));
    looks.readings.until_sample(&gpu(1), GPU_TEMPERATURE).await;
    // The driver counts anew: what was GPU 1 is its GPU 0 now.
    stub.heal(0);
    stub.set(&[("count", "1"), ("0.uuid", "GPU-stub-1"), ("0.temperature.0", "61")]);
    let fault = looks.readings.until_fault(&gpu(0), FaultKind::Unreachable).await;
    assert!(fault.message.as_str().starts_with("this GPU is lost"), "{}", fault.message);
    let mut since = 0;
    let other = looks
        .readings
        .until("GPU 1 goes on", |reading| {
            since += u32::from(reading.source == gpu(1) && value_of(reading, GPU_TEMPERATURE).is_some());
            since > 5
        })
        .await;
    assert_eq!(value_of(&other, GPU_TEMPERATURE), Some(61.0));
}

#[tokio::test]
async fn a_gpu_that_this_user_may_not_open_is_left_out_and_is_not_lost() {
    let mut stub = StubNvml::with_gpus(NvmlRelease::Present, 3);
    let denied = ["0.fail.nvmlDeviceGetHandleByIndex_v2", "2.fail.nvmlDeviceGetHandleByIndex_v2"];
    denied.iter().for_each(|key| stub.set(&[(key, "4")]));
    let mut looks = looks(&spec(&stub));
    looks.readings.until_sample(&gpu(1), GPU_TEMPERATURE).await;
    looks.readings.until_sample(&gpu(1), GPU_TEMPERATURE).await;
    let why = &lacks(&looks.readings.log)["other GPUs of this machine"];
    assert!(why.starts_with("this user may not open those with the driver's numbers 0, 2"), "{why}");
    for reading in &looks.readings.log {
        assert_eq!(reading.faults, []);
        assert!([NvmlSpec::subject(), gpu(1)].contains(&reading.source), "{reading:?}");
    }
    // One that could be opened once is said to be closed now.
    stub.set(&[("1.fail.nvmlDeviceGetHandleByIndex_v2", "4")]);
    let fault = looks.readings.until_fault(&gpu(1), FaultKind::Denied).await;
    assert!(fault.message.as_str().starts_with("this user may not open it"), "{}", fault.message);
    stub.unset(&["1.fail.nvmlDeviceGetHandleByIndex_v2", denied[0], denied[1]]);
    let back = |reading: &Reading| {
        reading.events.contains(&Event::Available { what: "other GPUs of this machine".into() })
    };
    looks.readings.until("they may be opened", back).await;
    looks.readings.until_sample(&gpu(2), GPU_TEMPERATURE).await;
}

#[tokio::test]
async fn events_that_could_not_be_asked_for_are_asked_for_again() {
    let mut stub = StubNvml::with_gpus(NvmlRelease::Present, 1);
    stub.set(&[("0.fail.nvmlDeviceRegisterEvents", "999")]);
    let mut looks = looks(&spec(&stub));
    let fault = looks.readings.until_fault(&gpu(0), FaultKind::Malformed).await;
    assert!(fault.message.as_str().starts_with("'nvmlDeviceRegisterEvents' failed"), "{}", fault.message);
    stub.unset(&["0.fail.nvmlDeviceRegisterEvents"]);
    let reading = looks.readings.until_sample(&gpu(0), GPU_XID).await;
    assert_eq!((value_of(&reading, GPU_XID), reading.faults.as_slice()), (Some(0.0), &[][..]));
}

#[tokio::test]
async fn a_process_of_unknown_memory_is_said_to_be_one() {
    let mut stub = StubNvml::with_gpus(NvmlRelease::Present, 1);
    stub.set(&[("0.processes", "4000:9000000000 5000:18446744073709551615")]);
    let mut looks = looks(&spec(&stub));
    let reading = looks.readings.until_sample(&gpu(0), GPU_PROCESS_MEMORY).await;
    assert_eq!(part_of(&reading, "gpu.process.memory", "4000 tritonserver"), Some(9e9));
    let why = &lacks(std::slice::from_ref(&reading))["memory of some processes"];
    assert!(why.contains("1 of 2 processes"), "{why}");
}

#[tokio::test]
async fn xid_events_arrive_by_code_once_each() {
    let mut stub = StubNvml::with_gpus(NvmlRelease::Present, 2);
    // What was before somebody listened is not told.
    stub.set(&[("0.xids", "13")]);
    let mut looks = looks(&spec(&stub));
    for index in 0..2 {
        let reading = looks.readings.until_sample(&gpu(index), GPU_XID).await;
        assert_eq!(value_of(&reading, GPU_XID), Some(0.0));
    }
    stub.set(&[("0.xids", "13 31 31 94"), ("1.xids", "79")]);
    let first = looks
        .readings
        .until("XID 94", |reading| reading.source == gpu(0) && value_of(reading, GPU_XID) == Some(94.0))
        .await;
    assert_eq!(part_of(&first, "gpu.xid.events", "31"), Some(2.0));
    assert_eq!(part_of(&first, "gpu.xid.events", "94"), Some(1.0));
    assert_eq!(part_of(&first, "gpu.xid.events", "13"), None);
    let other = looks
        .readings
        .until("XID 79", |reading| reading.source == gpu(1) && value_of(reading, GPU_XID) == Some(79.0))
        .await;
    assert_eq!(part_of(&other, "gpu.xid.events", "79"), Some(1.0));
    assert_eq!(part_of(&other, "gpu.xid.events", "31"), None);
    let later = looks.readings.until_sample(&gpu(0), GPU_XID).await;
    assert_eq!(part_of(&later, "gpu.xid.events", "31"), Some(2.0), "each counts once");
}

#[tokio::test]
async fn time_of_throttling_grows_while_it_lasts_and_idleness_is_none() {
    let mut stub = StubNvml::with_gpus(NvmlRelease::Present, 1);
    // This driver counts nothing itself.
    stub.unset(&["0.field.74", "0.field.76", "0.field.251", "0.field.252", "0.field.253"]);
    stub.set(&[("0.reasons", "0x1")]);
    let mut looks = looks(&spec(&stub));
    let throttled = |reading: &Reading, reason: &str| {
        (reading.source == gpu(0)).then(|| part_of(reading, "gpu.throttled", reason)).flatten()
    };
    looks.readings.until("it is idle", |reading| throttled(reading, "sw_power_cap") == Some(0.0)).await;
    stub.set(&[("0.reasons", "0x24")]);
    let reading = looks
        .readings
        .until("it throttles", |reading| throttled(reading, "sw_power_cap").is_some_and(|s| s > 0.1))
        .await;
    let seconds = throttled(&reading, "sw_power_cap");
    assert_eq!(throttled(&reading, "sw_thermal_slowdown"), seconds);
    assert_eq!(throttled(&reading, "hw_slowdown"), Some(0.0));
    stub.set(&[("0.reasons", "0")]);
    let mut last = seconds;
    let ended = |reading: &Reading| {
        let now = throttled(reading, "sw_power_cap");
        let stands = now.is_some() && now == last;
        last = now.or(last);
        stands
    };
    looks.readings.until("it ended", ended).await;
}

#[tokio::test]
async fn each_slice_has_a_memory_and_processes_of_its_own() {
    let mut stub = StubNvml::with_gpus(NvmlRelease::Present, 1);
    stub.unset(&["0.utilization", "0.utilization.memory"]);
    stub.set(&[
        ("0.mig", "1"),
        ("0.slice.0", "1:40000000000:2000000000"),
        ("0.slice.1", "9:10000000000:9000000000"),
        // A second compute instance within the same memory.
        ("0.slice.2", "9:10000000000:9000000000"),
        ("0.processes", "4000:8000000000:9"),
    ]);
    let mut looks = looks(&spec(&stub));
    let reading = looks.readings.until_sample(&gpu(0), GPU_MEMORY).await;
    let numbers = numbers(&reading);
    let of_slices: Vec<(&str, f64)> = numbers
        .iter()
        .filter(|(name, _)| name.contains("-mig-"))
        .map(|(name, value)| (name.as_str(), *value))
        .collect();
    assert_eq!(
        of_slices,
        // Of each the stub's driver keeps a thousand bytes back.
        [
            ("gpu/host-a:0-mig-1gpu.memory.max", 4e10 - 1e3),
            ("gpu/host-a:0-mig-1gpu.memory.used", 2e9),
            ("gpu/host-a:0-mig-9gpu.memory.max", 1e10 - 1e3),
            ("gpu/host-a:0-mig-9gpu.memory.used", 9e9),
            ("gpu/host-a:0-mig-9gpu.process.memory{4000 tritonserver}", 8e9),
        ]
    );
    assert!(lacks(std::slice::from_ref(&reading)).contains_key("utilisation"));
}

/// A configuration that asks for the GPUs of this machine alone.
fn config(stub: &StubNvml, library: &std::path::Path) -> std::path::PathBuf {
    let path = stub.library().with_file_name("headwater.toml");
    let text = format!(
        "interval = \"200ms\"\n[local]\ngpu = true\nname = \"host-a\"\nnvml_library = \"{}\"\n",
        library.display()
    );
    std::fs::write(&path, text).expect("the folder is there");
    path
}

/// What a command of Headwater says with a configuration, and its exit code.
fn headwater(command: &[&str], config: &std::path::Path) -> (Option<i32>, String) {
    let mut headwater = std::process::Command::new(env!("CARGO_BIN_EXE_headwater"));
    let home = config.parent().expect("it is a file");
    let headwater = headwater.args(command).arg("--config").arg(config);
    let output = headwater.env("XDG_STATE_HOME", home).env("HOME", home).output().expect("headwater runs");
    assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"), "{output:?}");
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn a_triage_tells_of_every_gpu_or_why_it_sees_none() {
    let stub = StubNvml::with_gpus(NvmlRelease::Present, 2);
    let triage = ["triage", "--for", "5s", "--format", "json"];
    let (code, out) = headwater(&triage, &config(&stub, &stub.library()));
    let report: serde_json::Value = serde_json::from_str(&out).expect("it is JSON");
    let judged: Vec<&str> = report["verdicts"]
        .as_array()
        .expect("there are verdicts")
        .iter()
        .filter_map(|row| row["subject"].as_str())
        .collect();
    assert_eq!(judged, ["gpu/host-a:0", "gpu/host-a:1"]);
    assert_eq!(code, Some(0), "{out}");

    let missing = stub.library().with_file_name("libmissing.so");
    let (code, out) = headwater(&triage, &config(&stub, &missing));
    let report: serde_json::Value = serde_json::from_str(&out).expect("it is JSON");
    let unknown = report["unknown"].as_array().expect("there are unknowns");
    let row = unknown.iter().find(|row| row["subject"] == "discovery/nvml").expect("it is told");
    assert!(row["missing"].as_str().is_some_and(|why| why.contains("cannot be loaded")), "{row}");
    assert_eq!(code, Some(69), "nothing answered: {out}");
}

#[test]
fn the_doctor_lists_the_gpus_with_what_each_lacks() {
    let mut stub = StubNvml::with_gpus(NvmlRelease::Present, 2);
    stub.set(&[("1.lost", "1")]);
    stub.unset(&["0.power"]);
    let (code, out) = headwater(&["doctor"], &config(&stub, &stub.library()));
    let said = out.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "discovery/nvml: gpus: NVML 12.570.86.15, driver 570.86.15: gpu/host-a:0 is NVIDIA H100 80GB HBM3",
        "ok gpu/host-a:0: gpu: ",
        "without power: not supported by this GPU or this driver (nvmlDeviceGetPowerUsage)",
        "FAILED gpu/host-a:1: gpu: this GPU is lost",
    ] {
        assert!(said.contains(words), "{words}: {out}");
    }
    assert_eq!(code, Some(1));
}

#[test]
fn beside_a_bare_target_the_gpus_of_this_machine_are_looked_at_where_it_is_wanted() {
    let stub = StubNvml::with_gpus(NvmlRelease::Present, 1);
    let doctor = |locally: &str| {
        let mut headwater = std::process::Command::new(env!("CARGO_BIN_EXE_headwater"));
        // Nothing listens there; what is said of this machine does not depend on it.
        headwater.args(["doctor", "redis://127.0.0.1:1"]).env("HEADWATER_NVML", stub.library());
        let output = headwater.env("HEADWATER_LOCAL", locally).output().expect("headwater runs");
        String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let said = doctor("on");
    assert!(said.contains(":0: gpu: ") && said.contains("kernel: "), "{said}");
    // A loopback address may be the near end of a tunnel, so that nothing is known of where it leads.
    for locally in ["auto", "off"] {
        let said = doctor(locally);
        assert!(!said.contains(":0: gpu: ") && !said.contains("kernel: "), "{locally}: {said}");
    }
}

#[test]
fn the_screen_goes_on_and_says_which_gpu_and_why() {
    let mut stub = StubNvml::with_gpus(NvmlRelease::Present, 2);
    let config = config(&stub, &stub.library());
    let home = config.parent().expect("it is a file");
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_headwater"));
    let arguments = ["--no-color", "--config", config.to_str().expect("it has a plain name")];
    let mut terminal = Terminal::start_at_home(program, &arguments, home, (160, 40), &[]);
    terminal.until_shown("gpu/host-a:1");
    terminal.press(":sources\r");
    let row = |screen: &str, source: &str, words: &str| {
        screen.lines().any(|line| line.contains(source) && line.contains(words))
    };
    terminal.until("both are fresh", |screen| {
        row(screen, "gpu/host-a:0", "fresh") && row(screen, "gpu/host-a:1", "fresh")
    });
    stub.set(&[("0.lost", "1")]);
    terminal.until("one is lost and the other is not", |screen| {
        row(screen, "gpu/host-a:0", "fault") && row(screen, "gpu/host-a:1", "fresh")
    });
    terminal.until_shown("this GPU is lost");
    stub.unset(&["0.lost"]);
    stub.set(&[("hang", "nvmlDeviceGetPowerUsage")]);
    terminal.until("the driver hangs", |screen| {
        row(screen, "gpu/host-a:1", "fault") && screen.contains("the NVIDIA driver hangs")
    });
    stub.unset(&["hang"]);
    terminal.until("it answers again", |screen| {
        row(screen, "gpu/host-a:0", "fresh") && row(screen, "gpu/host-a:1", "fresh")
    });
    // A driver that hangs keeps nobody from leaving.
    stub.set(&[("hang", "nvmlDeviceGetPowerUsage")]);
    terminal.press("q");
    assert_eq!(terminal.exit_code(), 0);
}
