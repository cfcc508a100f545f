//! Whatever is asked, there is an answer.

use proptest::prelude::*;

use super::*;

fn any_number() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -1e3..1e3,
        1 => prop::sample::select(vec![0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN_POSITIVE]),
    ]
}

fn any_exhibit() -> impl Strategy<Value = Exhibit> {
    const NAMES: &[&str] =
        &["a", "b", "c", "c_remote", "d_X::T", "d_X::T::U", "service/e", "f.example.com_remote"];
    const SUBJECTS: &[&str] = &[
        "a",
        "b",
        "c",
        "c_remote",
        "e",
        "service/e@h:1",
        "edge/a>b",
        "edge/b>c",
        "d_X::T",
        "zzz",
        "edge/",
        "",
    ];
    const METRICS: &[&str] = &[
        "latency.avg",
        "latency.p99",
        "latency.caller_p50",
        "latency.callee_p50",
        "requests",
        "errors.sum",
        "errors.ratio",
        "availability",
        "cpu",
        "bytes",
        "free",
        "",
    ];
    let call = (prop::sample::select(NAMES), prop::sample::select(NAMES));
    let points = |from: f64| {
        prop::collection::vec(any_number(), 0..8).prop_map(move |values| {
            let at = |step: usize| from + (step / 2) as f64;
            values
                .into_iter()
                .enumerate()
                .map(|(step, value)| Point { at: at(step), value })
                .collect::<Vec<_>>()
        })
    };
    let series = (prop::sample::select(SUBJECTS), prop::sample::select(METRICS), points(0.0), points(8.0));
    (prop::collection::vec(call, 0..12), prop::collection::vec(series, 0..40)).prop_map(|(calls, series)| {
        Exhibit {
            calls,
            series: series
                .into_iter()
                .map(|(s, m, baseline, window)| (s.to_owned(), m, baseline, window))
                .collect(),
        }
    })
}

proptest! {
    /// Whatever is asked, there is an answer: in order, finite, each component once.
    #[test]
    fn every_question_has_an_answer(exhibit in any_exhibit()) {
        let ranking = exhibit.rank("a", "latency.avg");
        let scores: Vec<f64> = ranking.suspects.iter().map(|suspect| suspect.score).collect();
        prop_assert!(scores.iter().all(|score| score.is_finite() && *score > 0.0), "{scores:?}");
        prop_assert!(scores.is_sorted_by(|one, other| one >= other), "{scores:?}");
        let mut names: Vec<&str> = ranking
            .suspects
            .iter()
            .flat_map(|suspect| std::iter::once(&suspect.subject).chain(&suspect.also))
            .map(String::as_str)
            .collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        prop_assert_eq!(names.len(), all);
        prop_assert!(ranking.suspects.iter().all(|suspect| !suspect.because.is_empty()));
    }
}
