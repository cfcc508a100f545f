//! `headwater rank` as users meet it: the real binary on exported folders, small ones made by hand and public ones.

use std::path::Path;
use std::time::Duration;

use assert_cmd::Command;
use headwater_test_support::Ran;
use serde_json::{Value, json};
use tempfile::TempDir;

/// The longest that a ranking may take; none comes near.
const PATIENCE: Duration = Duration::from_secs(90);

const STEP: u32 = 60;
const CALM: u32 = 40;
const BAD: u32 = 5;

/// A folder as an exporter writes it: forty calm minutes, then five bad ones.
struct Folder(TempDir);

impl Folder {
    fn new(symptom: (&str, &str), edges: &[(&str, &str)]) -> Self {
        let folder = Self(TempDir::new().expect("a temporary folder can be made"));
        let case = json!({
            "symptom": { "subject": symptom.0, "metric": symptom.1 },
            "baseline": [0, (CALM - 1) * STEP],
            "window": [CALM * STEP, (CALM + BAD - 1) * STEP],
            "alert_at": (CALM + 1) * STEP,
        });
        folder.write("case.json", &case.to_string());
        let edges: String = edges.iter().map(|(caller, callee)| format!("{caller},{callee}\n")).collect();
        folder.write("edges.csv", &format!("caller,callee\n{edges}"));
        folder.write("metrics.csv", "time,subject,metric,value\n");
        folder
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).expect("a file can be written");
    }

    fn append(&self, name: &str, text: &str) {
        let path = self.0.path().join(name);
        let before = std::fs::read_to_string(&path).expect("the file is there");
        std::fs::write(path, before + text).expect("a file can be written");
    }

    /// A series that moves a little, and is `bad` in the bad minutes.
    fn series(self, subject: &str, metric: &str, calm: f64, bad: f64) -> Self {
        let rows: String = (0..CALM + BAD)
            .map(|step| {
                let jitter = 1.0 + 0.01 * f64::from(step % 5);
                let value = if step < CALM { calm * jitter } else { bad * jitter };
                format!("{},{subject},{metric},{value}\n", step * STEP)
            })
            .collect();
        self.append("metrics.csv", &rows);
        self
    }

    fn rank(&self, arguments: &[&str]) -> Ran {
        rank(self.0.path(), arguments)
    }

    fn suspects(&self) -> Vec<(String, String)> {
        let ran = self.rank(&["--format", "json"]);
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{}", ran.out);
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let suspects = ran.json()["suspects"].as_array().expect("suspects").clone();
        suspects.iter().map(|suspect| (text(&suspect["subject"]), text(&suspect["because"]))).collect()
    }
}

fn rank(folder: &Path, arguments: &[&str]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headwater"));
    command.arg("rank").arg(folder).args(arguments).env_remove("RUST_LOG").timeout(PATIENCE);
    Ran::of(command.output().expect("headwater runs"))
}

/// A shop whose database makes it slow.
fn slow_database() -> Folder {
    Folder::new(
        ("web", "latency.avg"),
        &[("web", "cart"), ("cart", "db"), ("web", "report"), ("batch", "db2")],
    )
    .series("web", "latency.avg", 0.1, 0.35)
    .series("web", "requests.sum", 100.0, 100.0)
    .series("cart", "latency.avg", 0.05, 0.30)
    .series("cart", "requests.sum", 100.0, 100.0)
    .series("db", "latency.avg", 0.01, 0.13)
    .series("db", "requests.sum", 200.0, 200.0)
    .series("report", "latency.avg", 1.0, 40.0)
    .series("report", "requests.sum", 0.01, 0.01)
    .series("db2", "latency.avg", 0.01, 9.0)
}

#[test]
fn lost_time_is_charged_to_the_dependency_that_lost_it() {
    let suspects = slow_database().suspects();
    assert_eq!(suspects[0].0, "db");
    assert_eq!(
        suspects[0].1,
        "latency.avg rose from 0.0102 to 0.133 (13x); beyond its dependencies this is 96 % of the time that web lost"
    );
    let report = suspects.iter().find(|(subject, _)| subject == "report").expect("it is slower, too");
    assert!(report.1.contains("1.6 % of the time"), "far slower and hardly asked: {}", report.1);
    assert!(
        suspects.iter().all(|(subject, _)| subject != "db2"),
        "the symptom cannot reach it: {suspects:?}"
    );
}

#[test]
fn the_way_between_two_healthy_services_belongs_to_the_end_that_all_bad_calls_share() {
    let mut folder = Folder::new(
        ("web", "latency.p95"),
        &[("web", "pay"), ("web", "cart"), ("cart", "pay"), ("cart", "stock")],
    )
    .series("web", "latency.p95", 0.5, 0.9);
    for (call, waits) in [("web>pay", 0.40), ("cart>pay", 0.39), ("web>cart", 0.01), ("cart>stock", 0.01)] {
        let subject = format!("edge/{call}");
        folder = folder.series(&subject, "latency.caller_p50", 0.01, waits);
        folder = folder.series(&subject, "latency.callee_p50", 0.009, 0.009);
    }
    let suspects = folder.suspects();
    assert_eq!(suspects[0].0, "pay");
    assert!(suspects[0].1.starts_with("on the way web > pay the caller waits"), "{}", suspects[0].1);
}

#[test]
fn a_resource_convicts_although_a_dependency_is_slow() {
    let suspects = Folder::new(("web", "latency.p99"), &[("web", "cart"), ("cart", "db")])
        .series("web", "latency.p99", 0.1, 1.0)
        .series("cart", "latency.p99", 0.05, 0.9)
        .series("cart", "cpu.millicores", 2.0, 60.0)
        .series("db", "latency.p99", 0.01, 0.1)
        .suspects();
    assert_eq!(suspects[0].0, "cart");
    assert!(
        suspects[0].1.contains("its own cpu.millicores rose from 2.04 to 61.2 (30x)"),
        "{}",
        suspects[0].1
    );
}

#[test]
fn a_caller_that_stops_calling_a_healthy_dependency_fails_itself() {
    let suspects = Folder::new(
        ("web", "latency.p95"),
        &[("web", "checkout"), ("checkout", "mail"), ("checkout", "pay")],
    )
    .series("web", "latency.p95", 0.5, 0.5)
    .series("web", "requests.rate", 50.0, 50.0)
    .series("checkout", "requests.rate", 10.0, 10.0)
    .series("pay", "requests.rate", 10.0, 10.0)
    .series("mail", "requests.rate", 10.0, 0.0)
    .suspects();
    assert_eq!(suspects.len(), 1, "{suspects:?}");
    assert_eq!(suspects[0].0, "checkout");
    assert_eq!(
        suspects[0].1,
        "it calls mail less than its own traffic asks for: from 1 to 0 for each request"
    );
}

#[test]
fn the_text_says_what_hurts_who_is_suspected_and_what_was_not_seen() {
    let folder = slow_database();
    folder.append("edges.csv", "cart,queue\n");
    let ran = folder.rank(&[]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    for words in [
        "symptom  web latency.avg: usually 0.102, at worst 0.364, 3.6x\n",
        "\n 1  ",
        "  db\n",
        "not judged, because baseline or window has none of their numbers: queue\n",
        "1 subject is not among what web calls, directly or not, and cannot be ranked\n",
    ] {
        assert!(ran.out.contains(words), "no '{words}' in\n{}", ran.out);
    }
    let calm = Folder::new(("web", "latency.avg"), &[("web", "db")]).series("web", "latency.avg", 0.1, 0.1);
    let out = calm.rank(&[]).out;
    assert!(out.contains("Nothing that the symptom depends on differs clearly from its baseline."), "{out}");
}

#[test]
fn what_is_absent_is_said() {
    let folder = Folder::new(("web", "latency.avg"), &[]).series("web", "cpu.percent", 10.0, 90.0);
    let missing = folder.rank(&["--format", "json"]).json()["missing"].clone();
    let missing: Vec<&str> = missing.as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    assert_eq!(missing.len(), 2, "{missing:?}");
    assert!(missing[0].starts_with("web has no latency.avg: "), "{missing:?}");
    assert_eq!(missing[1], "web calls nothing that is known: it is the only candidate");
    assert_eq!(folder.suspects()[0].0, "web");
}

#[test]
fn moments_are_dates_or_count_seconds_or_milliseconds() {
    const BEGAN: u32 = 1_700_000_000;
    let rows = [(0, 0.1), (60, 0.1), (120, 0.1), (180, 0.9), (240, 0.9)];
    let ranked = |factor: u64| {
        let at = |second: u32| u64::from(BEGAN + second) * factor;
        let case = json!({
            "symptom": { "subject": "web", "metric": "latency.avg" },
            "baseline": [at(0), at(120)],
            "window": [at(180), "2023-11-14T22:17:20Z"],
        });
        let folder = Folder::new(("web", "latency.avg"), &[]);
        folder.write("case.json", &case.to_string());
        let rows: String =
            rows.iter().map(|(second, value)| format!("{},web,latency.avg,{value}\n", at(*second))).collect();
        folder.append("metrics.csv", &rows);
        let ran = folder.rank(&["--format", "json"]);
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "no row is outside");
        ran.json()
    };
    assert_eq!(ranked(1)["suspects"][0]["subject"], "web");
    assert_eq!(ranked(1), ranked(1000));
}

#[test]
fn the_answer_of_the_exam_is_not_looked_at() {
    let folder = slow_database();
    let honest = folder.rank(&["--format", "json"]);
    folder.write("truth.json", "{\"root_cause\": \"report\"}");
    assert_eq!(folder.rank(&["--format", "json"]).out, honest.out);
}

#[test]
fn a_broken_file_is_named_with_the_place_and_what_belongs_there() {
    for (file, text, words) in [
        ("case.json", "{\n  \"symptom\": }", "line 2, column 14: this is no JSON"),
        (
            "case.json",
            "{\"baseline\": [0, 1], \"window\": [2, 3]}",
            "key 'symptom.subject': it is missing; a text is expected",
        ),
        (
            "case.json",
            "{\"symptom\": {\"subject\": \"web\", \"metric\": 3}, \"baseline\": [0, 1], \"window\": [2, 3]}",
            "key 'symptom.metric': 3 cannot be used; a text is expected",
        ),
        (
            "case.json",
            "{\"symptom\": {\"subject\": \"web\", \"metric\": \"m\"}, \"baseline\": [9, 1], \"window\": [2, 3]}",
            "key 'baseline': [9,1] cannot be used; two moments are expected, the earlier one first",
        ),
        (
            "case.json",
            "{\"symptom\": {\"subject\": \"web\", \"metric\": \"m\"}, \"baseline\": [0, 1], \"window\": [2, 3], \"alert_at\": \"nonsense\"}",
            "key 'alert_at': \"nonsense\" cannot be used; a moment is expected, or no such key: RFC 3339",
        ),
        (
            "edges.csv",
            "from,to\nweb,db\n",
            "line 1: there is no column 'caller'; a header with these columns is expected: caller,callee",
        ),
        (
            "metrics.csv",
            "",
            "line 1: there is no column 'time'; a header with these columns is expected: time,subject,metric,value",
        ),
    ] {
        let folder = slow_database();
        folder.write(file, text);
        let ran = folder.rank(&[]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(64), ""), "{ran:?}");
        let sentence = format!("{file}', {words}");
        assert!(ran.err.contains(&sentence), "no \"{sentence}\" in {}", ran.err);
    }
    let nowhere = rank(Path::new("nowhere-at-all"), &[]);
    assert_eq!(nowhere.code, Some(64));
    assert!(nowhere.err.contains("'nowhere-at-all/case.json' cannot be read: "), "{}", nowhere.err);
}

#[test]
fn rows_that_cannot_be_read_are_counted_and_the_rest_is_used() {
    let folder = slow_database();
    folder.append("metrics.csv", "soon,web,latency.avg,1\n60,web,latency.avg\n60,,latency.avg,1\n60,web,latency.avg,NaN\n999999,web,latency.avg,1\n");
    folder.append("edges.csv", "\u{1b}[31mred,\n");
    let ran = folder.rank(&["--format", "json"]);
    assert_eq!(ran.code, Some(0));
    assert_eq!(ran.json()["suspects"][0]["subject"], "db");
    for words in [
        "metrics.csv': 4 of 410 rows cannot be read and are left out, the first in line 407: 'time' is 'soon', which is no RFC 3339 and no Unix time\n",
        "edges.csv': 1 of 5 rows cannot be read and are left out, the first in line 6: 'callee' is empty\n",
        "1 rows of metrics.csv are neither in the baseline nor in the window\n",
    ] {
        assert!(ran.err.contains(words), "no \"{words}\" in {}", ran.err);
    }
}

/// Cases of two public data sets, converted and scored by their own tool: the ranking must not fall behind.
#[test]
fn public_cases_are_ranked_as_well_as_promised() {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let (tool, data) = (shared.join("tools/rca_cases.py"), shared.join("data/rca"));
    if !tool.is_file() || !data.is_dir() {
        eprintln!("SKIPPED: {} or {} is absent", tool.display(), data.display());
        return;
    }
    let python = |arguments: &[&str]| {
        std::process::Command::new("python3").arg(&tool).args(arguments).output().map(|ran| {
            let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
            assert!(ran.status.success(), "{}", text(&ran.stderr));
            (text(&ran.stdout), text(&ran.stderr))
        })
    };
    let out = TempDir::new().expect("a temporary folder can be made");
    let folder = out.path().to_str().expect("a path in UTF-8");
    if let Err(error) = python(&["convert", data.to_str().expect("a path in UTF-8"), folder]) {
        eprintln!("SKIPPED: python3 cannot be run to convert the cases: {error}");
        return;
    }
    let headwater = env!("CARGO_BIN_EXE_headwater");
    let (table, misses) = python(&["score", folder, "--", headwater, "rank", "{case}", "--format", "json"])
        .expect("python3 runs");
    for (set, cases, first, third) in [("petshop", 26.0, 17.0, 22.0), ("nezha-ob", 24.0, 15.0, 21.0)] {
        let line =
            table.lines().find(|line| line.starts_with(&format!("{set}: "))).expect("the set was scored");
        let share = |key: &str| -> f64 {
            let word =
                line.split_whitespace().find_map(|word| word.strip_prefix(key)).expect("the scorer's form");
            word.parse().expect("a number")
        };
        assert_eq!(share("n="), cases, "{line}");
        let (top1, top3) = ((share("top1=") * cases).round(), (share("top3=") * cases).round());
        assert!(top1 >= first && top3 >= third, "{line}\n{misses}");
    }
}
