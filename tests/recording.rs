//! Recordings: what goes in comes out, a cut tail is tolerated, damage is said, a replay says the same.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use headwater::recording::{Header, Player, Recorder, Recording, RecordingError, Tape};
use headwater::report::{Format, render};
use headwater::sources::metrics::dialect::Dialects;
use headwater::sources::metrics::exposition::decode;
use headwater::sources::metrics::mapping::{Mapper, Target};
use headwater_engine::histogram::Histogram;
use headwater_engine::metric::{MetricName, REDIS_CPU, REQUEST_DURATION};
use headwater_engine::reading::{
    ActKind, Event, Fault, FaultKind, Input, KeySize, OperatorAct, Reading, Sample, Scan, ScanState,
    SlowCommand, Value,
};
use headwater_engine::{Baselines, Engine, Moment, Settings, Subject};
use proptest::prelude::*;

fn header() -> Header {
    let mut settings = Settings { name: "prod".to_owned(), ..Settings::default() };
    settings.thresholds.entry("shard-hot".to_owned()).or_default().insert("cpu".to_owned(), 0.1 + 0.2);
    Header::new(settings, Baselines::default())
}

/// One input of each sort, with the numbers that are hardest to write down.
fn inputs(second: i64, number: f64) -> Vec<Input> {
    let node: Subject = "redis/features#1@127.0.0.1:7000".parse().expect("a subject");
    let at = Moment(1_700_000_000_000 + second * 1_000);
    let mut reading = Reading::new(node.clone(), at);
    reading.source_clock_us = Some(u64::MAX);
    reading.sample(&node, REDIS_CPU, Value::Counter(number));
    reading.part(&node, MetricName::from("my_gauge".to_owned()), "stage\x1b[31m", Value::Gauge(-number));
    let histogram = Histogram {
        bounds: [0.1, 0.3].into(),
        counts: [1.0, number].into(),
        count: number + 1.0,
        sum: Some(number / 3.0),
    };
    reading.sample(&node, REQUEST_DURATION, Value::Histogram(Arc::new(histogram)));
    reading.events.push(Event::Late(at));
    reading.events.push(Event::SlowCommand(SlowCommand {
        id: 7,
        at,
        took: Duration::from_nanos(1_234_567_891),
        command: "GET".into(),
        key: Some("user:\u{202e}x\n".into()),
        arguments: vec![],
        client: "".into(),
        excluded: false,
    }));
    reading.events.push(Event::Scan(Scan {
        scanned: 1,
        total: 2,
        state: ScanState::Stopped("budget".into()),
        biggest: vec![KeySize {
            key: "k".into(),
            slot: Some(1),
            kind: "hash".into(),
            bytes: 9,
            elements: Some(3),
        }],
        ..Scan::begun(node.parent().expect("a shard"), node.clone())
    }));
    reading.faults.push(Fault { kind: FaultKind::Auth, message: "refused".into() });
    vec![
        Input::Reading(reading),
        Input::Act(OperatorAct { at, kind: ActKind::Note("why?".into()) }),
        Input::Tick(at),
    ]
}

fn write(path: &Path, inputs: &[Input]) {
    let mut recorder = Recorder::create(path, &header()).expect("a recorder");
    for input in inputs {
        recorder.record(input).expect("recorded");
        if matches!(input, Input::Tick(_)) {
            recorder.flush().expect("flushed");
        }
    }
}

#[test]
fn what_goes_in_comes_out_and_only_the_owner_may_read_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.hw");
    let all: Vec<_> = (0..5).flat_map(|second| inputs(second, 0.1 + second as f64 / 3.0)).collect();
    std::fs::write(&path, "an older file that others may read").unwrap();
    write(&path, &all);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let mut recording = Recording::open(&path).unwrap();
    assert_eq!(*recording.header(), header());
    let read: Vec<_> = recording.by_ref().map(Result::unwrap).collect();
    assert_eq!(read, all);
    assert!(!recording.is_cut());
}

#[test]
fn a_cut_tail_costs_only_itself_wherever_the_cut_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.hw");
    let all: Vec<_> = (0..20).flat_map(|second| inputs(second, 1.5)).collect();
    write(&path, &all);
    let whole = std::fs::read(&path).unwrap();
    let mut cuts = 0;
    for length in (1..whole.len()).step_by(7) {
        std::fs::write(&path, &whole[..length]).unwrap();
        let mut recording = match Recording::open(&path) {
            Ok(recording) => recording,
            // The cut went through the header's frame.
            Err(RecordingError::NotARecording { .. }) => continue,
            Err(error) => panic!("{length}: {error}"),
        };
        let read: Vec<_> = recording.by_ref().map(Result::unwrap).collect();
        assert_eq!(read, all[..read.len()], "{length}");
        cuts += usize::from(recording.is_cut());
    }
    assert!(cuts > 10, "cuts within frames are told from clean ends: {cuts}");
}

#[test]
fn damage_in_the_middle_is_said_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.hw");
    let mut text = serde_json::to_vec(&header()).unwrap();
    text.extend(b"\n{\"tick\":1}\n{\"tock\":2}\n{\"tick\":3}\n");
    std::fs::write(&path, zstd::bulk::compress(&text, 1).unwrap()).unwrap();
    let results: Vec<_> = Recording::open(&path).unwrap().collect();
    assert!(matches!(results[0], Ok(Input::Tick(Moment(1)))));
    assert!(matches!(results[1], Err(RecordingError::Damaged { line: 3, .. })), "{results:?}");
    assert_eq!(results.len(), 2, "nothing is read past the damage");
}

#[test]
fn other_files_and_newer_formats_are_refused_with_the_fix() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.hw");
    let refuse = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        Recording::open(&path).map(|_| ()).unwrap_err()
    };
    let packed = |text: &str| zstd::bulk::compress(text.as_bytes(), 1).unwrap();
    for bytes in [vec![], b"hello".to_vec(), packed("{\"a\":1}\n"), packed("")] {
        let error = refuse(&bytes);
        assert!(matches!(error, RecordingError::NotARecording { .. }), "{error:?}");
    }
    let newer =
        refuse(&packed("{\"format\":\"headwater-recording\",\"version\":9,\"headwater\":\"7.0.0\"}\n"));
    assert!(newer.to_string().ends_with("use headwater 7.0.0 or newer"), "{newer}");
    let missing = Recording::open(Path::new("/nonexistent/a.hw")).map(|_| ()).unwrap_err();
    assert!(missing.to_string().contains("check the path"), "{missing}");
}

#[test]
fn a_replay_keeps_the_thresholds_of_its_recording() {
    let mut header = header();
    header.thresholds.entry("shard-hot".to_owned()).or_default().insert("skew".to_owned(), 2.0);
    let settings = header.settings_in_force();
    assert_eq!(settings.thresholds["shard-hot"]["skew"], 2.0);
    assert_eq!(settings.thresholds["shard-hot"]["cpu"], 0.1 + 0.2);
}

#[test]
fn what_a_page_gives_comes_back_as_it_was() {
    let page = decode(
        b"# TYPE \"service.requests\" counter\n{\"service.requests\",id=\"\x01\x02\"} 1\nmine 2\n",
        None,
    );
    let target = Target::new(&"service/ranker".parse().unwrap(), "127.0.0.1:8000");
    let samples = Mapper::new(Dialects::built_in(), target, None).map(&page).samples;
    assert_eq!(samples.len(), 2, "{samples:?}");
    let again: Vec<Sample> = serde_json::from_str(&serde_json::to_string(&samples).unwrap()).unwrap();
    assert_eq!(again, samples);
}

proptest! {
    #[test]
    fn every_number_comes_back_to_the_last_bit(number in proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.hw");
        let all = inputs(0, number.abs() / 4.0);
        write(&path, &all);
        let read: Vec<_> = Recording::open(&path).unwrap().map(Result::unwrap).collect();
        prop_assert_eq!(read, all);
    }

    #[test]
    fn reading_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        // Both raw bytes and bytes inside a good frame behind a good header.
        file.write_all(&bytes).unwrap();
        let _ = Recording::open(file.path()).map(|recording| recording.count());
        let mut text = serde_json::to_vec(&header()).unwrap();
        text.push(b'\n');
        text.extend(&bytes);
        std::fs::write(file.path(), zstd::bulk::compress(&text, 1).unwrap()).unwrap();
        prop_assert!(Recording::open(file.path()).unwrap().count() <= bytes.len());
    }
}

#[test]
fn what_was_noted_after_the_last_evaluation_is_in_the_report_of_a_replay_as_in_the_live_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("a.hwr");
    let header = header();
    let mut recorder = Recorder::create(&file, &header).expect("a recorder");
    let mut live = Engine::new(header.settings_in_force(), Baselines::default());
    let act = |at, kind| Input::Act(OperatorAct { at: Moment(at), kind });
    for input in [
        act(500, ActKind::Mark("canary".into())),
        Input::Tick(Moment(1_000)),
        act(1_500, ActKind::Note("cache off".into())),
    ] {
        recorder.record(&input).expect("written");
        live.take(&input);
    }
    recorder.flush().expect("written");
    let mut player = Player::new(Tape::File(file)).expect("a player");
    while player.advance().expect("an input") {}
    let replayed = player.snapshot().expect("an evaluation");
    let told = live.snapshot().expect("an evaluation");
    for format in [Format::Json, Format::Text, Format::Markdown] {
        let text = render(&replayed, format);
        assert_eq!(text, render(&told, format));
        assert!(text.contains("canary") && text.contains("cache off"), "{text}");
    }
}
