//! The principles, each on a graph small enough to reckon by hand.

mod any;

use super::*;

const CALM: usize = 40;
const BAD: usize = 6;

/// Series that own their points.
#[derive(Clone, Debug, Default)]
struct Exhibit {
    calls: Vec<(&'static str, &'static str)>,
    series: Vec<(String, &'static str, Vec<Point>, Vec<Point>)>,
}

fn calls(calls: &[(&'static str, &'static str)]) -> Exhibit {
    Exhibit { calls: calls.to_vec(), series: vec![] }
}

impl Exhibit {
    /// A series around `calm` that is around `bad` in the window.
    fn with(mut self, subject: &str, metric: &'static str, calm: f64, bad: f64) -> Self {
        let point = |step: usize, value: f64| Point {
            at: step as f64,
            value: value * (1.0 - 0.002 * ((step * 7) % 5) as f64),
        };
        let baseline = (0..CALM).map(|step| point(step, calm)).collect();
        let window = (CALM..CALM + BAD).map(|step| point(step, bad)).collect();
        self.series.push((subject.to_owned(), metric, baseline, window));
        self
    }

    fn rank(&self, subject: &'static str, metric: &'static str) -> Ranking {
        let series: Vec<Series<'_>> = self
            .series
            .iter()
            .map(|(subject, metric, baseline, window)| Series {
                subject,
                metric,
                nature: Nature::of(metric),
                baseline,
                window,
            })
            .collect();
        rank(&Question { calls: &self.calls, symptom: Symptom { subject, metric }, series: &series })
    }
}

/// The suspects that stand out.
fn standing_out(ranking: &Ranking) -> Vec<&str> {
    ranking.suspects.iter().filter(|s| s.stands_out()).map(|s| s.subject.as_str()).collect()
}

fn by<'a>(ranking: &'a Ranking, subject: &str, mechanism: Mechanism) -> Option<&'a Evidence> {
    let suspect = ranking.suspects.iter().find(|suspect| suspect.subject == subject)?;
    suspect.evidence.iter().find(|evidence| evidence.mechanism == mechanism)
}

#[test]
fn lost_time_is_charged_once_to_whoever_lost_it() {
    let ranking = calls(&[("web", "cart"), ("web", "stock"), ("cart", "db"), ("stock", "db")])
        .with("web", "latency.avg", 0.1, 0.3)
        .with("web", "requests", 100.0, 100.0)
        .with("cart", "latency.avg", 0.05, 0.20)
        .with("cart", "requests", 75.0, 75.0)
        .with("stock", "latency.avg", 0.05, 0.20)
        .with("stock", "requests", 25.0, 25.0)
        .with("db", "latency.avg", 0.01, 0.11)
        .with("db", "requests", 150.0, 150.0)
        .rank("web", "latency.avg");
    // The web lost 20 s a step, the database 15 s; the cart 11.25 s of which 11.25 s were the database's.
    let share = |subject| by(&ranking, subject, Mechanism::OwnTime).and_then(|evidence| evidence.share);
    assert!((share("db").unwrap() - 0.75).abs() < 0.01, "{ranking:?}");
    assert!((share("web").unwrap() - 0.25).abs() < 0.01, "{ranking:?}");
    assert!(share("cart").unwrap_or(0.0) < 0.01, "{ranking:?}");
    assert_eq!(standing_out(&ranking), ["db"]);
}

#[test]
fn thin_traffic_explains_little_however_slow_it_is() {
    let ranking = calls(&[("web", "rare"), ("web", "usual")])
        .with("web", "latency.avg", 0.1, 0.2)
        .with("web", "requests", 1000.0, 1000.0)
        .with("rare", "latency.avg", 0.5, 10.0)
        .with("rare", "requests", 0.1, 0.1)
        .with("usual", "latency.avg", 0.05, 0.14)
        .with("usual", "requests", 1000.0, 1000.0)
        .rank("web", "latency.avg");
    assert_eq!(standing_out(&ranking)[0], "usual");
    assert!(by(&ranking, "rare", Mechanism::OwnTime).unwrap().share.unwrap() < 0.02);
}

#[test]
fn failures_are_charged_as_time_is() {
    let ranking = calls(&[("web", "pay"), ("pay", "bank")])
        .with("web", "availability.percent", 100.0, 95.0)
        .with("web", "requests", 400.0, 400.0)
        .with("pay", "availability.percent", 100.0, 80.0)
        .with("pay", "requests", 100.0, 100.0)
        .with("bank", "availability.percent", 100.0, 100.0)
        .with("bank", "requests", 100.0, 100.0)
        .rank("web", "availability.percent");
    assert_eq!(standing_out(&ranking), ["pay"]);
    assert!(by(&ranking, "pay", Mechanism::OwnFailures).unwrap().share.unwrap() > 0.9, "{ranking:?}");
}

#[test]
fn percentiles_blame_what_is_slower_than_its_slowest_dependency() {
    let ranking = calls(&[("web", "cart"), ("cart", "db")])
        .with("web", "latency.p99", 0.1, 0.4)
        .with("cart", "latency.p99", 0.05, 0.2)
        .with("db", "latency.p99", 0.01, 0.09)
        .rank("web", "latency.p99");
    assert_eq!(standing_out(&ranking), ["db"], "the others rose by less, as far as they rose");
}

#[test]
fn three_milliseconds_do_not_make_two_seconds() {
    let ranking = calls(&[("web", "flag"), ("web", "model")])
        .with("web", "latency.p99", 0.2, 2.2)
        .with("web", "requests", 10.0, 10.0)
        .with("flag", "latency.p99", 0.0001, 0.0031)
        .with("flag", "requests", 10.0, 10.0)
        .with("model", "latency.p99", 0.1, 2.0)
        .with("model", "requests", 10.0, 10.0)
        .rank("web", "latency.p99");
    assert_eq!(standing_out(&ranking), ["model"]);
}

#[test]
fn a_resource_is_not_explained_away_by_dependencies() {
    let with_database_at = |seconds| {
        calls(&[("web", "cart"), ("cart", "db")])
            .with("web", "latency.p99", 0.1, 0.4)
            .with("cart", "latency.p99", 0.05, 0.35)
            .with("cart@10.0.0.1:80", "cpu.millicores", 2.0, 30.0)
            .with("db", "latency.p99", 0.01, seconds)
            .rank("web", "latency.p99")
    };
    let (calm, slow) = (with_database_at(0.01), with_database_at(0.08));
    let cpu = |ranking| by(ranking, "cart", Mechanism::Resource).map(|evidence| evidence.strength);
    assert_eq!(standing_out(&slow)[0], "cart", "one of its instances is enough");
    assert!(cpu(&calm).is_some() && cpu(&calm) == cpu(&slow));
    assert!(by(&calm, "cart", Mechanism::Slow).is_some() && by(&slow, "cart", Mechanism::Slow).is_none());
}

#[test]
fn work_is_judged_for_each_request() {
    let surge = calls(&[("web", "cart")])
        .with("web", "requests", 10.0, 50.0)
        .with("cart", "requests", 10.0, 50.0)
        .with("cart", "network.receive_bytes", 1e4, 5e4);
    assert_eq!(standing_out(&surge.rank("web", "latency.p99")), [""; 0], "traffic is an effect");
    let heavy = surge.with("cart", "syscalls.read", 100.0, 5_000.0);
    assert_eq!(standing_out(&heavy.rank("web", "latency.p99")), ["cart"]);
}

#[test]
fn a_bad_way_belongs_to_the_end_that_more_bad_calls_share() {
    let mut exhibit = calls(&[("web", "a"), ("web", "b"), ("web", "c"), ("b", "a")]);
    for (call, waits) in [("edge/web>a", 0.5), ("edge/b>a", 0.5), ("edge/web>b", 0.01), ("edge/web>c", 0.01)]
    {
        exhibit = exhibit.with(call, "latency.client_p50", 0.01, waits);
        exhibit = exhibit.with(call, "latency.server_p50", 0.009, 0.009);
    }
    let ranking = exhibit.rank("web", "latency.p95");
    assert_eq!(standing_out(&ranking)[0], "a");
    let gap = by(&ranking, "a", Mechanism::Link).unwrap();
    assert!((gap.to - 0.491).abs() < 0.01 && gap.from < 0.002, "{gap:?}");
}

#[test]
fn whoever_stops_calling_a_healthy_dependency_fails_and_whoever_calls_a_broken_one_does_not() {
    let quiet = calls(&[("web", "checkout"), ("checkout", "mail")])
        .with("web", "requests", 100.0, 100.0)
        .with("checkout", "requests", 10.0, 10.0)
        .with("mail", "requests", 10.0, 1.0);
    let ranking = quiet.rank("web", "latency.p99");
    assert_eq!(standing_out(&ranking), ["checkout"]);
    assert_eq!(by(&ranking, "checkout", Mechanism::Silence).unwrap().subject, "mail");
    let broken = quiet.with("mail", "errors.sum", 0.1, 50.0);
    assert_eq!(standing_out(&broken.rank("web", "latency.p99")), ["mail"]);
    let fewer = calls(&[("web", "checkout")])
        .with("web", "requests", 100.0, 20.0)
        .with("checkout", "requests", 10.0, 2.0);
    assert_eq!(standing_out(&fewer.rank("web", "latency.p99")), [""; 0], "fewer users call it less");
}

#[test]
fn numbers_of_failures_and_successes_are_judged_for_each_request() {
    let shop = |asked: f64, succeeded: f64, failed: f64| {
        calls(&[("web", "cart")])
            .with("web", "requests.sum", 100.0, asked)
            .with("cart", "requests.sum", 100.0, asked)
            .with("cart", "requests.success", 99.0, succeeded)
            .with("cart", "errors.count", 1.0, failed)
            .rank("web", "latency.p99")
    };
    assert_eq!(standing_out(&shop(50.0, 49.5, 0.5)), [""; 0], "half the traffic succeeds half as often");
    assert_eq!(standing_out(&shop(500.0, 495.0, 5.0)), [""; 0], "five times the traffic fails five times");
    let failing = shop(500.0, 250.0, 250.0);
    assert_eq!(standing_out(&failing), ["cart"], "more succeed than ever, but of many more requests");
    let evidence = by(&failing, "cart", Mechanism::Fails).unwrap();
    assert!(evidence.is_for_each_request && (evidence.to - 0.5).abs() < 0.01, "{evidence:?}");
    assert!(failing.suspects[0].because.starts_with("for each request its errors.count rose"), "{failing:?}");
    let unasked = |metric, calm, bad| {
        calls(&[("web", "cart")]).with("cart", metric, calm, bad).rank("web", "latency.p99")
    };
    assert_eq!(standing_out(&unasked("requests.success", 99.0, 20.0)), [""; 0], "nobody knows of how many");
    assert_eq!(standing_out(&unasked("errors.count", 1.0, 20.0)), ["cart"]);
    assert_eq!(standing_out(&unasked("success_rate", 0.99, 0.2)), ["cart"]);
}

#[test]
fn whether_a_share_is_in_percent_is_told_by_its_name_or_by_all_of_its_values() {
    let strength = |metric, calm, bad| {
        let ranking = calls(&[("web", "cart")]).with("cart", metric, calm, bad).rank("web", "failures.ratio");
        by(&ranking, "cart", Mechanism::Fails).map_or(0.0, |evidence| evidence.strength)
    };
    // From 0.3 % to 12 %, and the same as shares of one.
    let expected = strength("failures.ratio", 0.003, 0.12);
    for metric in ["failures.percent", "failures.share"] {
        let strength = strength(metric, 0.3, 12.0);
        assert!((strength - expected).abs() < 1e-9, "{metric}: {strength} and not {expected}");
    }
    assert!(strength("failures.percent", 0.3, 0.9) < expected / 2.0, "no value needs to be above one");
}

#[test]
fn what_is_left_is_worse_the_less_it_is() {
    for (metric, calm, bad) in [
        ("memory_available_bytes", 8e9, 2e8),
        ("cpu_idle_percent", 90.0, 2.0),
        ("pool.threads.idle", 20.0, 0.0),
    ] {
        let rank =
            |calm, bad| calls(&[("web", "cart")]).with("cart", metric, calm, bad).rank("web", "latency.p99");
        let falls = rank(calm, bad);
        assert!(
            by(&falls, "cart", Mechanism::Resource).is_some_and(|evidence| evidence.strength > 0.2),
            "{metric}"
        );
        assert_eq!(rank(bad, calm).suspects, [], "{metric} that rises accuses nobody");
    }
}

#[test]
fn a_free_metric_counts_half_whichever_way_it_moves() {
    let exhibit = |bad| calls(&[("web", "search")]).with("search", "documents.found", 40.0, bad);
    for bad in [4.0, 400.0] {
        let ranking = exhibit(bad).rank("web", "latency.p99");
        assert_eq!(standing_out(&ranking), ["search"]);
        assert_eq!(ranking.suspects[0].evidence[0].mechanism, Mechanism::Odd);
    }
    assert_eq!(standing_out(&exhibit(41.0).rank("web", "latency.p99")), [""; 0]);
}

#[test]
fn a_component_under_two_names_is_one_suspect_with_the_name_that_says_which() {
    let ranking = calls(&[("web", "search"), ("web", "shop-searc.lb.example.com_remote")])
        .with("shop-searc.lb.example.com_remote", "latency.p99", 0.01, 0.9)
        .with("search", "latency.p99", 0.01, 0.02)
        .rank("web", "latency.p99");
    assert_eq!(standing_out(&ranking), ["search"]);
    let suspect = &ranking.suspects[0];
    assert_eq!(suspect.also, ["shop-searc.lb.example.com_remote"]);
    assert!(suspect.because.starts_with("seen as shop-searc.lb.example.com_remote: "), "{}", suspect.because);
}

#[test]
fn what_is_missing_is_said_and_nothing_is_made_of_it() {
    let ranking = calls(&[("web", "db")]).with("elsewhere", "cpu", 1.0, 9.0).rank("web", "latency.p99");
    assert_eq!(ranking.suspects, []);
    assert_eq!((ranking.symptom.usual, ranking.symptom.worst, ranking.candidates), (None, None, 2));
    assert_eq!(
        ranking.missing,
        [
            "web has no latency.p99: no moment counts more than another, and nobody's share of the symptom is known",
            "not judged, because baseline or window has none of their numbers: web, db",
            "1 subject is not among what web calls, directly or not, and cannot be ranked",
        ]
    );
}
