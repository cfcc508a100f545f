//! What a confidence is worth: how often who was named at each level is who did it, over every whole scenario.

use std::fmt::Write;

use headwater_engine::Subject;
use headwater_engine::report::{Confidence, Suspect, Verdict};

use super::expect::word;
use super::script::Case;
use super::world::World;

const HEAD: &str = "<!-- Made from the scenarios by `UPDATE=1 cargo test --test scenarios calibration`; edit those \
                    instead. -->
# Calibration

How often who is named is who did it, over every scenario in `tests/scenarios/triage` and `tests/scenarios/incidents`, \
decoys included: it is right to name who did it, a part of it, or the component that it is a part of. What is wrong is listed, and so is who was missed. Where a scenario does not say who did it, that is whom it expects to be \
convicted, and it cannot come out otherwise: such are told apart, and the table counts none of them. The worlds are made \
up: the numbers say what a word of Headwater means, not how often incidents of each sort happen.
";

/// The levels, the most certain first.
const LEVELS: &[(Verdict, Confidence)] = &[
    (Verdict::Guilty, Confidence::High),
    (Verdict::Guilty, Confidence::Medium),
    (Verdict::Suspect, Confidence::Medium),
    (Verdict::Suspect, Confidence::Low),
];

/// The page, from cases with where each stands.
pub(crate) fn page(cases: &[(String, Case)]) -> String {
    let outcomes: Vec<Outcome> = cases.iter().filter_map(|(place, case)| Outcome::of(place, case)).collect();
    let mut page = HEAD.to_owned();
    let with_culprit: Vec<&Outcome> = outcomes.iter().filter(|outcome| !outcome.truth.is_empty()).collect();
    let first = with_culprit.iter().filter(|outcome| outcome.is_first_right()).count();
    let named = with_culprit.iter().filter(|outcome| outcome.missed().next().is_none()).count();
    let without = outcomes.len() - with_culprit.len();
    let accused = |outcome: &&Outcome| outcome.suspects.iter().any(|row| row.verdict == Verdict::Guilty);
    let convicted = outcomes.iter().filter(|outcome| outcome.truth.is_empty()).filter(accused).count();
    let stated = outcomes.iter().filter(|outcome| outcome.is_stated).count();
    let _ = writeln!(
        page,
        "\n{} scenarios. In {} somebody did it: named first in {first}, everybody who did it named in {named}. In {without} \
         nobody did: somebody is convicted in {convicted}. {stated} say who did it; the table is of these.\n\n| said | named | right | share |\n| --- | --- | --- | --- |",
        outcomes.len(),
        with_culprit.len(),
    );
    for level in LEVELS {
        let all = outcomes.iter().filter(|outcome| outcome.is_stated).flat_map(|outcome| outcome.at(*level));
        let (named, right) =
            all.fold((0, 0), |(named, right), is_right| (named + 1, right + u32::from(is_right)));
        let share = if named > 0 {
            format!("{:.0} %", f64::from(right) * 100.0 / f64::from(named))
        } else {
            "-".into()
        };
        let _ = writeln!(page, "| {}, {} | {named} | {right} | {share} |", word(level.0), word(level.1));
    }
    page += "\n## Named and not who did it\n\n| scenario | named | by | said |\n| --- | --- | --- | --- |\n";
    for outcome in &outcomes {
        for row in outcome.suspects.iter().filter(|row| !outcome.is_right(row)) {
            let (said, sure) = (word(row.verdict), word(row.confidence));
            let _ = writeln!(page, "| {} | {} | {} | {said}, {sure} |", outcome.name, row.subject, row.rule);
        }
    }
    page +=
        "\n## Who did it and is not named\n\n| scenario | who | what is said of it |\n| --- | --- | --- |\n";
    for outcome in &with_culprit {
        for (subject, said) in outcome.missed() {
            let _ = writeln!(page, "| {} | {subject} | {said} |", outcome.name);
        }
    }
    page
}

/// Whether a name is that of who did it, of a part of it, or of the component that it is a part of.
fn is_about(truth: &Subject, named: &Subject) -> bool {
    truth.contains(named) || *named == truth.component_of()
}

struct Outcome {
    name: String,
    truth: Vec<Subject>,
    /// Whether the scenario says who did it, whomever it expects to be named.
    is_stated: bool,
    suspects: Vec<Suspect>,
    /// Verdicts by subject, for who is missed.
    said: Vec<(Subject, String)>,
}

impl Outcome {
    fn of(place: &str, case: &Case) -> Option<Self> {
        let expect = case.report.as_ref()?;
        let guilty = || {
            let convicted = expect.suspects.iter().filter(|row| row.verdict.as_deref() == Some("guilty"));
            convicted.map(|row| row.subject.clone()).collect()
        };
        let snapshot = World::new(case).outcome();
        let report = &snapshot.report;
        Some(Self {
            name: format!("{place}: {}", case.name),
            truth: expect.truth.clone().unwrap_or_else(guilty),
            is_stated: expect.truth.is_some(),
            suspects: report.suspects.clone(),
            said: report.verdicts.iter().map(|row| (row.subject.clone(), word(row.verdict))).collect(),
        })
    }

    fn is_right(&self, suspect: &Suspect) -> bool {
        self.truth.iter().any(|truth| is_about(truth, &suspect.subject))
    }

    fn is_first_right(&self) -> bool {
        self.suspects.first().is_some_and(|first| self.is_right(first))
    }

    fn at(&self, (verdict, confidence): (Verdict, Confidence)) -> impl Iterator<Item = bool> + '_ {
        let named =
            self.suspects.iter().filter(move |row| (row.verdict, row.confidence) == (verdict, confidence));
        named.map(|row| self.is_right(row))
    }

    fn missed(&self) -> impl Iterator<Item = (&Subject, &str)> {
        let is_named = |truth: &Subject| self.suspects.iter().any(|row| is_about(truth, &row.subject));
        self.truth.iter().filter(move |truth| !is_named(truth)).map(|truth| {
            let said = self.said.iter().find(|(subject, _)| subject == truth);
            (truth, said.map_or("nothing", |(_, said)| said.as_str()))
        })
    }
}
