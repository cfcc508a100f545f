//! Whole diagnoses: the lab runs in this process, the real `headwater` looks at it from outside.
//!
//! Each scenario is looked at twice: by a triage that began before the fault, and by one that began twenty seconds
//! after it was felt without anything saved. Both must say what the scenario's row expects, and the recording of each must
//! replay to the same report byte for byte; of a storm both must count as many attempts as the users' own counters. One seed a scenario by default; `HEADWATER_LAB_SEEDS=10` runs ten, and
//! `HEADWATER_LAB_TABLE` names a file that gets a line for each run.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use headwater::lab::counters::{GpuCounters, LoadCounters};
use headwater::lab::scenario::{Expected, Fault, Scenario, Variant};
use headwater::lab::{self, HotKeys, Lab, LabOptions};
use headwater::recording::{Player, Tape};
use serde_json::Value;
use tokio::process::Command;

/// How long after the fault is felt the second triage begins.
const INTO_THE_INCIDENT: Duration = Duration::from_secs(20);

/// How long the first triage looks at a fault that is felt at once.
const LOOKED_AT: Duration = Duration::from_secs(26);

/// By how much what is said of a memory that fills may differ from what it then took, and how much time must be left for the
/// word to be of use.
const FORESEEN: f64 = 0.2;
const OF_USE: Duration = Duration::from_secs(4);

/// How often the users' own counters are read.
const COUNTED_EVERY: Duration = Duration::from_millis(50);

/// Over what span the present value of a rate is taken: three intervals.
const PRESENT: Duration = Duration::from_secs(3);

/// By how much attempts an original may differ from what the users themselves counted.
const TOLERANCE: f64 = 0.1;

#[test]
fn healthy() {
    diagnose("healthy", Variant::Plain);
}

#[test]
fn healthy_surge() {
    diagnose("healthy", Variant::Surge);
}

#[test]
fn healthy_saving() {
    diagnose("healthy", Variant::Saving);
}

#[test]
fn hot_shard() {
    diagnose("hot-shard", Variant::Plain);
}

#[test]
fn slow_ranker() {
    diagnose("slow-ranker", Variant::Plain);
}

#[test]
fn expiry_herd() {
    diagnose("expiry-herd", Variant::Plain);
}

#[test]
fn healthy_fleet() {
    diagnose("healthy", Variant::Fleet);
}

#[test]
fn expiry_herd_answers() {
    diagnose("expiry-herd", Variant::Answers);
}

#[test]
fn retry_storm() {
    diagnose("retry-storm", Variant::Plain);
}

#[test]
fn retry_storm_backoff() {
    diagnose("retry-storm", Variant::Backoff);
}

#[test]
fn failover_storm() {
    diagnose("failover-storm", Variant::Plain);
}

#[test]
fn cross_slot() {
    diagnose("cross-slot", Variant::Plain);
}

#[test]
fn pool_starved() {
    diagnose("pool-starved", Variant::Plain);
}

#[test]
fn gpu_leak() {
    diagnose("gpu-leak", Variant::Plain);
}

#[test]
fn launch_stall() {
    diagnose("launch-stall", Variant::Plain);
}

#[test]
#[ignore = "needs 8 GB of free memory: scripts/lab-seeds runs it"]
fn fork_stall() {
    diagnose("fork-stall", Variant::Plain);
}

fn diagnose(name: &str, variant: Variant) {
    let scenario = Scenario::find(name, variant).expect("the scenario is in the table");
    let seeds: u64 =
        std::env::var("HEADWATER_LAB_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    let mut wrong = vec![];
    for seed in 1..=seeds {
        wrong.extend(runtime.block_on(one_seed(scenario, seed)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Runs one seed and returns what was wrong with its two diagnoses.
async fn one_seed(scenario: &'static Scenario, seed: u64) -> Vec<String> {
    let shards = 3 + u8::try_from(seed % 4).expect("less than four");
    let options = LabOptions { seed, shards, ..LabOptions::new(scenario) };
    let lab = lab::start(options).await.expect("the lab starts");
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("lab.toml");
    std::fs::write(&config, lab.config_toml()).expect("the configuration is written");
    let hot = lab.hot_keys();

    let felt_after = scenario.felt_after();
    let length = format!("{}s", (LOOKED_AT + felt_after).as_secs());
    let early = triage(config.clone(), folder.path().join("early.rec"), vec!["--for".to_owned(), length]);
    let early = tokio::spawn(early);
    let mut counted = vec![];
    let both = async {
        let injection = lab.injected().await.expect("the fault is injected");
        // The condition waited for is the fault's age itself.
        tokio::time::sleep_until((injection.at + felt_after + INTO_THE_INCIDENT).into()).await;
        // MONITOR is asked for here only, so that both are seen: a hot key that is likely, and its name.
        let late = ["--for", "8s", "--allow-monitor", "1s"].map(str::to_owned).to_vec();
        let late = triage(config, folder.path().join("late.rec"), late).await;
        (early.await.expect("the first triage runs"), late)
    };
    let (early, late) = tokio::select! {
        outputs = both => outputs,
        () = count(&lab, &mut counted) => unreachable!("counting does not end"),
    };
    let gpu = lab.counters().service.gpu;
    let until_now =
        (SystemTime::now().duration_since(UNIX_EPOCH).expect("a time after 1970"), Instant::now());
    lab.stop().await.expect("the lab ends");

    let mut wrong = vec![];
    for (when, output, recording) in [("before", early, "early.rec"), ("20 s after", late, "late.rec")] {
        let mut found = judge(&output, scenario, &hot, when == "before");
        if matches!(scenario.fault, Fault::HotPair { .. }) {
            found.extend(judge_hot_key(&output, &hot, when == "before"));
        }
        if matches!(scenario.fault, Fault::Slowdown { backoff: false, .. }) {
            found.extend(judge_amplification(&output, &counted));
        }
        if matches!(scenario.fault, Fault::MemoryLeak { .. }) && when == "before" {
            found.extend(judge_forecast(&folder.path().join(recording), &gpu, until_now));
        }
        let replayed = replay(&folder.path().join(recording)).await;
        if replayed.stdout != output.stdout {
            found.push(format!("its replay differs: {}", first_difference(&output.stdout, &replayed.stdout)));
        }
        tell(scenario, seed, shards, when, &output, &found);
        let name = format!("{}{}", scenario.name, scenario.variant.suffix());
        let place = format!("{name} seed {seed} shards {shards}, triage {when}");
        wrong.extend(found.into_iter().map(|what| format!("{place}: {what}")));
    }
    wrong
}

/// Reads the users' own counters again and again, each with its moment in milliseconds since the Unix epoch.
async fn count(lab: &Lab, counted: &mut Vec<(f64, LoadCounters)>) {
    let mut interval = tokio::time::interval(COUNTED_EVERY);
    loop {
        interval.tick().await;
        let load = lab.counters().load;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time after 1970");
        counted.push((now.as_secs_f64() * 1_000.0, load));
    }
}

async fn triage(config: std::path::PathBuf, recording: std::path::PathBuf, arguments: Vec<String>) -> Output {
    headwater()
        .args(["triage", "--no-baselines", "--format", "json"])
        .args(arguments)
        .arg("--config")
        .arg(config)
        .arg("--record")
        .arg(recording)
        .output()
        .await
        .expect("headwater runs")
}

async fn replay(recording: &Path) -> Output {
    headwater().args(["replay", "--format", "json"]).arg(recording).output().await.expect("headwater runs")
}

fn headwater() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headwater"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command
}

/// Who does the work of a storm, whatever began it.
const STORMS: &[&str] = &["retry-storm", "failover-storm"];

/// What differs between a diagnosis and what the scenario expects.
fn judge(output: &Output, scenario: &Scenario, hot: &HotKeys, was_there: bool) -> Vec<String> {
    let expected: &Expected = &scenario.expected;
    let Ok(report) = serde_json::from_slice::<Value>(&output.stdout) else {
        return vec![format!("no report: {}", String::from_utf8_lossy(&output.stderr))];
    };
    let mut wrong = vec![];
    let code = if expected.first.is_some() { 1 } else { 0 };
    let may_pass = was_there && !expected.passes.is_empty();
    if output.status.code() != Some(code) && !(may_pass && output.status.code() == Some(1)) {
        wrong.push(format!("exit {:?} and not {code}; {}", output.status.code(), report["suspects"]));
    }
    let hot_shard = format!("redis/features#{}", hot.shard);
    let first = &report["suspects"][0];
    match expected.first {
        Some(suspect) => {
            let subject = suspect.subject.replace("redis/features#DRAWN", &hot_shard);
            let is_right = matches(&subject, text(&first["subject"]))
                && matches(suspect.rule, text(&first["rule"]))
                && first["role"] == serde_json::to_value(suspect.role).expect("a word")
                && first["verdict"] == "guilty";
            if !is_right {
                let (rule, role) = (suspect.rule, suspect.role);
                wrong.push(format!("the first suspect is {first} and not {subject} by {rule}, {role:?}"));
            }
        }
        None => {
            let has_passed = |suspect: &Value| {
                may_pass && expected.passes.contains(&text(&suspect["rule"])) && !suspect["until"].is_null()
            };
            let guilty = array(&report["suspects"])
                .filter(|suspect| suspect["verdict"] == "guilty" && !has_passed(suspect));
            wrong.extend(guilty.map(|suspect| format!("{suspect} is guilty of nothing")));
            // Where nobody tries again too often, nobody is even suspected of it.
            let storms = array(&report["suspects"])
                .filter(|suspect| expected.passes.is_empty() && STORMS.contains(&text(&suspect["rule"])));
            wrong.extend(storms.map(|suspect| format!("{suspect} is no storm")));
        }
    }
    let accused = expected.first.map(|_| text(&first["subject"])).unwrap_or_default();
    for pattern in expected.innocent {
        let rows = array(&report["verdicts"]).filter(|row| matches(pattern, text(&row["subject"])));
        let rows: Vec<_> = rows.filter(|row| row["subject"] != accused).collect();
        if rows.is_empty() {
            wrong.push(format!("nothing is said of {pattern}"));
        }
        wrong.extend(rows.iter().filter(|row| row["verdict"] != "innocent").map(|row| format!("{row}")));
        for row in rows.iter().filter(|row| row["verdict"] == "innocent") {
            let earned = array(&report["exonerated"]).find(|earned| earned["subject"] == row["subject"]);
            if earned.is_none_or(|earned| array(&earned["by"]).count() == 0) {
                wrong.push(format!("{} is innocent without having earned it", row["subject"]));
            }
        }
    }
    for subject in expected.unknown {
        if !array(&report["unknown"]).any(|row| row["subject"] == *subject) {
            wrong.push(format!("{subject} is not among the unknown"));
        }
    }
    for pattern in expected.unaccused {
        let rows: Vec<_> =
            array(&report["verdicts"]).filter(|row| matches(pattern, text(&row["subject"]))).collect();
        if rows.is_empty() {
            wrong.push(format!("nothing is said of {pattern}"));
        }
        let is_spared = |row: &&&Value| {
            row["verdict"] == "innocent" || row["verdict"] == "unknown" && !text(&row["reason"]).is_empty()
        };
        wrong.extend(rows.iter().filter(|row| !is_spared(row)).map(|row| format!("{row}")));
    }
    if matches!(scenario.fault, Fault::HotPair { .. }) {
        wrong.extend(judge_chain(&report, hot, &hot_shard));
    }
    wrong
}

/// The big key is named with its size and shard, and the chain leads from the latency to the shard.
fn judge_chain(report: &Value, hot: &HotKeys, hot_shard: &str) -> Vec<String> {
    let mut wrong = vec![];
    let keys = array(&report["suspects"][0]["keys"]);
    let named = keys.into_iter().find(|key| key["key"] == hot.profile.as_str());
    if named.is_none_or(|key| key["bytes"].as_u64().unwrap_or(0) < 1_800_000 || key["shard"] != hot_shard) {
        wrong.push(format!("{} is not named with its size: {}", hot.profile, report["suspects"][0]["keys"]));
    }
    let chain: Vec<_> = array(&report["chain"]).collect();
    let starts = chain.first().is_some_and(|link| text(&link["text"]).starts_with("p99"));
    if !starts || !chain.iter().any(|link| link["subject"] == hot_shard) {
        wrong.push(format!("the chain does not lead from the latency to the shard: {}", report["chain"]));
    }
    wrong
}

/// The item's key is named as hot where listening was allowed; where it was not, a hot key is likely and the way to
/// its name is told.
fn judge_hot_key(output: &Output, hot: &HotKeys, only_likely: bool) -> Option<String> {
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let first = &report["suspects"][0];
    let is_hot = |key: &Value| key["key"] == hot.item.as_str() && text(&key["what"]).starts_with("hot");
    let said = text(&first["sentence"]);
    let is_right = if only_likely {
        said.contains("a hot key is likely") && said.contains("to name it: ")
    } else {
        array(&first["keys"]).any(is_hot)
    };
    (!is_right).then(|| format!("nothing of the hot key {}: '{said}', {}", hot.item, first["keys"]))
}

/// The storm counts as many attempts an original as the users themselves did in the same seconds.
fn judge_amplification(output: &Output, counted: &[(f64, LoadCounters)]) -> Option<String> {
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let said = array(&report["suspects"][0]["evidence"]).find(|row| row["metric"] == "attempts an original");
    let Some((value, at)) = said.and_then(|row| Some((row["value"].as_f64()?, row["at"].as_f64()?))) else {
        return Some(format!("nothing says how many attempts an original has: {}", report["suspects"][0]));
    };
    let before = |moment: f64| counted.iter().rev().find(|(at, _)| *at <= moment).map(|(_, load)| load);
    let Some((from, to)) = before(at - PRESENT.as_secs_f64() * 1_000.0).zip(before(at)) else {
        return Some("nobody counted when the report was made".to_owned());
    };
    let own = (to.attempts - from.attempts) as f64 / (to.originals - from.originals) as f64;
    // Not a number, where nobody counted any, is not near either.
    let is_near = (value / own - 1.0).abs() <= TOLERANCE;
    (!is_near).then(|| format!("{value:.2} attempts an original, and the users counted {own:.2}"))
}

/// While the memory filled, what was said of the time that is left was near what it then took, and what each request is
/// said to keep is what it keeps.
fn judge_forecast(recording: &Path, gpu: &GpuCounters, (clock, instant): (Duration, Instant)) -> Vec<String> {
    let Some(full) = gpu.full_since else { return vec!["the memory was never full".to_owned()] };
    let full = (clock - (instant - full)).as_secs_f64();
    let mut player = Player::new(Tape::File(recording.to_owned())).expect("a recording");
    let (mut told, mut wrong) = (0, vec![]);
    while player.advance().expect("a whole recording") {
        let Some(snapshot) = player.snapshot() else { continue };
        let leaks = snapshot.report.suspects.iter().filter(|suspect| suspect.rule == "gpu-memory-leak");
        let evidence: Vec<_> = leaks.flat_map(|leak| &leak.evidence).collect();
        let of = |metric: &str| evidence.iter().find(|row| row.metric == metric);
        let own = gpu.left_by_request as f64;
        if let Some(each) = of("growth a request").filter(|each| (each.value / own - 1.0).abs() > FORESEEN) {
            wrong.push(format!("{:.0} bytes a request, and each leaves {own:.0}", each.value));
        }
        let Some(left) = of("time to full") else { continue };
        let took = full - left.at.0 as f64 / 1_000.0;
        if took < OF_USE.as_secs_f64() {
            continue;
        }
        told += 1;
        if (left.value / took - 1.0).abs() > FORESEEN {
            wrong.push(format!("full in {:.1} s was said {took:.1} s before", left.value));
        }
    }
    if told == 0 {
        wrong.push("nobody said when the memory will be full".to_owned());
    }
    wrong
}

fn array(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Whether a subject fits a pattern in which `*` stands for any text.
fn matches(pattern: &str, subject: &str) -> bool {
    match pattern.split_once('*') {
        Some((start, end)) => subject.starts_with(start) && subject.ends_with(end),
        None => pattern == subject,
    }
}

fn first_difference(one: &[u8], other: &[u8]) -> String {
    let (one, other) = (String::from_utf8_lossy(one), String::from_utf8_lossy(other));
    let pair = one.lines().zip(other.lines()).find(|(one, other)| one != other);
    pair.map_or_else(|| "one is longer".to_owned(), |(one, other)| format!("'{one}' and '{other}'"))
}

/// Prints a line of the table, and appends it to the file that `HEADWATER_LAB_TABLE` names.
fn tell(scenario: &Scenario, seed: u64, shards: u8, when: &str, output: &Output, wrong: &[String]) {
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let first = &report["suspects"][0];
    let said = String::from_utf8_lossy(&output.stderr);
    let after = said.lines().find_map(|line| line.strip_prefix("verdict after ")?.split_once(':'));
    let line = format!(
        "| {}{} | {seed} | {shards} | {when} | {} | {} | {} | {} | {} |",
        scenario.name,
        scenario.variant.suffix(),
        output.status.code().map_or_else(|| "killed".to_owned(), |code| code.to_string()),
        first["subject"].as_str().unwrap_or("-"),
        first["rule"].as_str().unwrap_or("-"),
        after.map_or("-", |(after, _)| after),
        if wrong.is_empty() { "right".to_owned() } else { format!("WRONG: {}", wrong.join("; ")) },
    );
    let _ = writeln!(std::io::stdout(), "{line}");
    if let Some(file) = std::env::var_os("HEADWATER_LAB_TABLE") {
        let table = OpenOptions::new().create(true).append(true).open(file);
        let _ = table.and_then(|mut table| writeln!(table, "{line}"));
    }
}

#[test]
fn the_judge_can_say_no() {
    let scenario = Scenario::find("hot-shard", Variant::Plain).expect("the scenario is in the table");
    let hot = HotKeys {
        profile: "user:profile:1".to_owned(),
        item: "item:feat:1".to_owned(),
        shard: 1,
        address: "127.0.0.1:1".to_owned(),
    };
    let innocent = serde_json::json!({ "suspects": [], "verdicts": [], "unknown": [], "chain": [] });
    let output = Output {
        status: std::process::ExitStatus::default(),
        stdout: innocent.to_string().into_bytes(),
        stderr: vec![],
    };
    let wrong = judge(&output, scenario, &hot, true);
    assert!(wrong.len() >= 6, "{wrong:?}");
    assert!(judge_amplification(&output, &[]).is_some());
    let never_full = Scenario::find("gpu-leak", Variant::Plain).expect("the scenario is in the table");
    assert!(judge(&output, never_full, &hot, true).len() > 2);
    assert!([true, false].iter().all(|likely| judge_hot_key(&output, &hot, *likely).is_some()));
}
