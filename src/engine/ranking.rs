//! The generic ranking of causes over a dependency graph: which component explains a symptom, and by which number.
//!
//! Where no rule names a mechanism, numbers still tell much. Each series is compared with its own baseline by median
//! and quartiles; candidates are what the symptom's subject calls, directly or not; what dependencies explain is
//! taken away, except from local resources; and what adds up along calls (time, failures) is charged by its share of
//! what the symptom lost. `docs/ranking.md` has the principles, how well they do and what they cannot see.
//!
//! Plain values in, plain values out. It is asked after an incident, of exported files (`headwater rank`); the live triage
//! goes by its rules, of which `deviation` reads the same [`Nature`] from a metric's name.

mod account;
mod alias;
mod because;
mod calls;
mod evidence;
mod measure;
mod nature;
mod robust;
#[cfg(test)]
mod tests;
mod unit;
mod view;

pub use nature::{Meaning, Nature, Side, Worse};

use calls::Calls;
use evidence::Court;
use view::View;

/// A value at a moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// When, in seconds since any moment that is the same for all series.
    pub at: f64,
    /// The value; one that is not finite counts as absent.
    pub value: f64,
}

/// One metric of one subject, before and during the incident.
#[derive(Clone, Copy, Debug)]
pub struct Series<'a> {
    /// Whose: a component of the graph, a part of one (`ranker@host:80`, `redis/features#2`), or a call
    /// (`edge/caller>callee`).
    pub subject: &'a str,
    /// The metric's name.
    pub metric: &'a str,
    /// What is known about the metric: [`Nature::of`] reads it from the name.
    pub nature: Nature,
    /// Healthy values, in order of time.
    pub baseline: &'a [Point],
    /// Values during the incident, in order of time.
    pub window: &'a [Point],
}

/// What somebody suffers from.
#[derive(Clone, Copy, Debug)]
pub struct Symptom<'a> {
    /// The component at which it is seen.
    pub subject: &'a str,
    /// The metric that shows it.
    pub metric: &'a str,
}

/// Everything that a ranking is made from.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Who calls whom: caller, callee. Cycles and repetitions do no harm.
    pub calls: &'a [(&'a str, &'a str)],
    /// What to explain.
    pub symptom: Symptom<'a>,
    /// All series, in any order; subjects that the symptom cannot reach are passed over.
    pub series: &'a [Series<'a>],
}

/// A way in which numbers speak against a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mechanism {
    /// Its requests took longer, beyond what its dependencies took longer; charged by share.
    OwnTime,
    /// Its requests failed, beyond what its dependencies failed; charged by share.
    OwnFailures,
    /// It answers more slowly than its slowest dependency explains.
    Slow,
    /// It fails more than its worst dependency explains.
    Fails,
    /// A resource of its own is used more.
    Resource,
    /// A request costs it more bytes, system calls or the like.
    Work,
    /// Callers wait longer than callees take: the way between.
    Link,
    /// It calls a healthy dependency less than its own traffic asks for.
    Silence,
    /// A number of which the direction may not be known has moved.
    Odd,
}

/// One number that speaks against a component.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// How.
    pub mechanism: Mechanism,
    /// Whose number it is: the component, a part of it, a call (`caller > callee`), or a dependency that it calls less.
    pub subject: String,
    /// The metric.
    pub metric: String,
    /// What is known about the metric.
    pub nature: Nature,
    /// The typical value of the baseline; of a link, of what callers wait beyond what callees take.
    pub from: f64,
    /// The value during the incident.
    pub to: f64,
    /// The share of the symptom's loss that this explains, where it can be reckoned.
    pub share: Option<f64>,
    /// Whether the values are those of one request: the number divided by the requests.
    pub is_for_each_request: bool,
    /// What it adds to the score: the logarithm of its spreads, weighed by its share.
    pub strength: f64,
}

/// A ranked component.
#[derive(Clone, Debug, PartialEq)]
pub struct Suspect {
    /// Its name, as the calls write it.
    pub subject: String,
    /// Other names of the same component.
    pub also: Vec<String>,
    /// The sum of its evidence; comparable within one ranking only.
    pub score: f64,
    /// One sentence: which number, from what to what, against what.
    pub because: String,
    /// Everything that speaks against it, strongest first.
    pub evidence: Vec<Evidence>,
}

impl Suspect {
    /// Whether more than the usual noise speaks against it. A loose bound: where nothing is wrong somebody may stand out
    /// too, so it sorts what to look at and convicts nobody.
    pub fn stands_out(&self) -> bool {
        self.score >= STANDS_OUT
    }
}

/// See [`Suspect::stands_out`]; `docs/ranking.md` has what was measured, and how loose it is.
const STANDS_OUT: f64 = 0.2;

/// How the symptom went.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Course {
    /// The typical value of the baseline.
    pub usual: Option<f64>,
    /// The worst value of the window.
    pub worst: Option<f64>,
    /// What is known about its metric.
    pub nature: Nature,
}

/// The answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranking {
    /// Components that are worse than usual, most suspected first: those that stand out, then those that hardly differ.
    pub suspects: Vec<Suspect>,
    /// How the symptom went.
    pub symptom: Course,
    /// How many components could be the cause.
    pub candidates: usize,
    /// What was missing, in sentences.
    pub missing: Vec<String>,
}

/// Ranks the components that could explain a symptom. The order is a function of the question alone.
pub fn rank(question: &Question<'_>) -> Ranking {
    let calls = Calls::below(question.symptom.subject, question.calls);
    let view = View::of(question, &calls);
    let court = Court::new(&calls, &view);
    let groups = alias::groups(&calls);
    let mut judged: Vec<Judged> = (0..calls.len())
        .map(|place| {
            let mut evidence = court.against(place);
            evidence.sort_by(|one, other| other.strength.total_cmp(&one.strength));
            let score = evidence.iter().map(|evidence| evidence.strength).sum();
            Judged { place, evidence, score }
        })
        .collect();
    // Of equals the one that is deeper: causes flow up.
    judged.sort_by(|one, other| {
        let deeper = calls.distance[other.place].cmp(&calls.distance[one.place]);
        other.score.total_cmp(&one.score).then(deeper)
    });
    let mut of_group: Vec<Vec<Judged>> = vec![];
    let mut seat = vec![None; calls.len()];
    for judged in judged {
        let seat = seat[groups[judged.place]].get_or_insert_with(|| {
            of_group.push(vec![]);
            of_group.len() - 1
        });
        of_group[*seat].push(judged);
    }
    let suspects = of_group
        .into_iter()
        .filter(|group| group[0].score > 0.0)
        .map(|group| suspect(group, &calls, question.symptom.subject));
    Ranking {
        suspects: suspects.collect(),
        symptom: because::course(question, &view),
        candidates: calls.len(),
        missing: because::missing(question, &calls, &view),
    }
}

/// What speaks against one candidate.
struct Judged {
    place: usize,
    evidence: Vec<Evidence>,
    score: f64,
}

/// The names of one component as one suspect, the strongest evidence first. It is called by the name that says which it
/// is, rather than from where it is seen.
fn suspect(mut group: Vec<Judged>, calls: &Calls<'_>, symptom: &str) -> Suspect {
    let name = |judged: &Judged| calls.names[judged.place];
    let called = group.iter().position(|judged| !alias::is_view(name(judged))).unwrap_or(0);
    let subject = name(&group[called]);
    let also = group.iter().map(name).filter(|other| *other != subject).map(str::to_owned).collect();
    let strongest = group.swap_remove(0);
    let seen_as = (called != 0).then(|| name(&strongest));
    Suspect {
        subject: subject.to_owned(),
        also,
        score: strongest.score,
        because: because::sentence(&strongest.evidence, symptom, strongest.score < STANDS_OUT, seen_as),
        evidence: strongest.evidence,
    }
}
