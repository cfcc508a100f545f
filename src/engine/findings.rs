//! The life of findings: pending, firing, ended; kept until the symptom they may explain has ended.

mod calm;
mod ending;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use self::ending::Quiet;
use crate::report::Since;
use crate::rules::{Breach, Judgement, RULES, Rule};
use crate::snapshot::RuleState;
use crate::subject::Subject;
use crate::time::Moment;

/// What is missing to judge a single target while none answers.
pub(crate) const NOTHING_ANSWERS: &str =
    "no target answers, so nothing can be said of a single one from here";

/// How one rule stands on one subject.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// Evaluated, nothing wrong.
    Clear(Arc<str>),
    /// Past its limits, but not yet for long enough.
    Pending,
    /// Past its limits.
    Firing,
    /// It fired in this window and no longer does.
    Ended(Moment),
    /// Not evaluated, for this reason.
    Unknown(Arc<str>),
}

/// One rule on one subject.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// The subject.
    pub subject: Subject,
    /// How it stands.
    pub state: State,
    /// The last breach, while pending, firing or ended.
    pub breach: Option<Breach>,
    /// When the breach began.
    pub since: Since,
    /// Since when the present run of breaches lasts; it becomes `since` when it fires, so that a blip does not
    /// rewrite the story of a finding that has ended.
    run_since: Since,
    breaches: u32,
    clears: Quiet,
    blind: Quiet,
    evaluated: bool,
    /// Whether it was seen to end, and not only seen no longer.
    seen_to_end: bool,
}

/// All findings: for each rule of the table, its subjects.
#[derive(Debug)]
pub struct Findings {
    rows: Vec<BTreeMap<Subject, Finding>>,
}

impl Default for Findings {
    fn default() -> Self {
        Self { rows: RULES.iter().map(|_| BTreeMap::new()).collect() }
    }
}

impl Findings {
    /// Takes one judgement of a rule on a subject of which there is news this often.
    pub(crate) fn take<E: Fn() -> Duration>(
        &mut self,
        (place, subject): (usize, &Subject),
        judgement: Judgement,
        (now, every): (Moment, E),
    ) {
        let rule = RULES[place];
        let finding = self.rows[place].entry(subject.clone()).or_insert_with(|| Finding {
            rule,
            subject: subject.clone(),
            state: State::Unknown(Arc::default()),
            breach: None,
            since: Since { at: now, before: false },
            run_since: Since { at: now, before: false },
            breaches: 0,
            clears: Quiet::default(),
            blind: Quiet::default(),
            evaluated: false,
            seen_to_end: false,
        });
        finding.take(judgement, now, every);
    }

    /// Ends the findings of a rule on subjects that it no longer watches; `watched` is in order.
    pub(crate) fn keep_only(&mut self, place: usize, watched: &[Subject], now: Moment) {
        self.rows[place].retain(|subject, finding| {
            if watched.binary_search(subject).is_ok() {
                return true;
            }
            if finding.state == State::Firing {
                // What has left does nothing any more.
                finding.end(now, true);
            }
            finding.counts()
        });
    }

    /// Drops findings that ended this long ago: the symptom is over, and so is the incident.
    pub(crate) fn forget_ended(&mut self, now: Moment, after: Duration) {
        for finding in self.rows.iter_mut().flat_map(BTreeMap::values_mut) {
            if finding.until().is_some_and(|until| now.since(until) > after) {
                finding.state = State::Unknown("ended".into());
                finding.breach = None;
            }
        }
    }

    /// Takes back what these rules said of single subjects since this moment: all of them have gone at once, and who
    /// looks is the first suspect.
    pub(crate) fn take_back(&mut self, rules: &[&str], since: Moment) {
        let rows = RULES.iter().zip(&mut self.rows).filter(|(rule, _)| rules.contains(&rule.id));
        for finding in rows.flat_map(|(_, row)| row.values_mut()) {
            if finding.breach.is_some() && finding.since.at >= since {
                finding.state = State::Unknown(NOTHING_ANSWERS.into());
                (finding.breach, finding.breaches) = (None, 0);
            }
        }
    }

    /// Every finding, in the order of the table.
    pub fn iter(&self) -> impl Iterator<Item = &Finding> {
        self.rows.iter().flat_map(BTreeMap::values)
    }

    /// One rule on one subject.
    pub fn get(&self, rule: &str, subject: &Subject) -> Option<&Finding> {
        self.rows[RULES.iter().position(|row| row.id == rule)?].get(subject)
    }

    /// Whether one of these rules is pending or firing on `subject`, its parts or its whole.
    pub fn stirring(&self, rules: &[&str], subject: &Subject) -> bool {
        let stirs = |finding: &Finding| matches!(finding.state, State::Pending | State::Firing);
        let wholes: Vec<Subject> = std::iter::successors(subject.parent(), Subject::parent).collect();
        RULES.iter().zip(&self.rows).filter(|(rule, _)| rules.contains(&rule.id)).any(|(_, row)| {
            let parts = subject.within(row).map(|(_, finding)| finding);
            parts.chain(wholes.iter().filter_map(|whole| row.get(whole))).any(stirs)
        })
    }

    /// The live state of one rule on each of its subjects, for screens.
    pub(crate) fn states(&self, place: usize) -> impl Iterator<Item = RuleState> + '_ {
        self.rows[place].values().map(|finding| {
            let (state, detail) = match &finding.state {
                State::Clear(seen) => ("clear", Arc::clone(seen)),
                State::Pending => ("pending", finding.sentence().into()),
                State::Firing => ("firing", finding.sentence().into()),
                State::Ended(_) => ("ended", finding.sentence().into()),
                State::Unknown(missing) => ("unknown", Arc::clone(missing)),
            };
            let is_blind = finding.blind.looks > 0;
            RuleState { rule: finding.rule.id, subject: finding.subject.clone(), state, detail, is_blind }
        })
    }
}

impl Finding {
    /// What was found, or nothing.
    pub fn sentence(&self) -> String {
        self.breach.as_ref().map(|breach| breach.sentence.clone()).unwrap_or_default()
    }

    fn take(&mut self, judgement: Judgement, now: Moment, every: impl Fn() -> Duration) {
        match judgement {
            Judgement::Breach(breach) => self.take_breach(*breach, now),
            Judgement::Clear(seen) => {
                self.evaluated = true;
                self.breaches = 0;
                self.blind = Quiet::default();
                self.clears.look(now);
                match self.state {
                    State::Firing if !self.clears.is_enough(now, every()) && !self.is_over(now) => {}
                    State::Firing => self.end(now, true),
                    State::Ended(_) if !self.seen_to_end && self.clears.is_enough(now, every()) => {
                        self.end(now, true);
                    }
                    State::Ended(_) => {}
                    _ => {
                        self.breach = None;
                        self.state = State::Clear(seen.into());
                    }
                }
            }
            Judgement::Unknown(missing) => {
                self.breaches = 0;
                self.clears = Quiet::default();
                self.blind.look(now);
                match self.state {
                    // One missed answer ends nothing; then the evidence is gone, but it was there.
                    State::Firing if !self.blind.is_enough(now, every()) => {}
                    State::Firing => self.end(now, false),
                    State::Ended(_) => {}
                    _ => {
                        self.breach = None;
                        self.state = State::Unknown(missing.into());
                    }
                }
            }
        }
    }

    /// Whether the moment has passed that the breach itself names as its end.
    fn is_over(&self, now: Moment) -> bool {
        let over = self.breach.as_ref().and_then(|breach| breach.over.as_ref());
        over.and_then(|over| over.at).is_some_and(|at| at <= now)
    }

    fn end(&mut self, now: Moment, is_seen: bool) {
        self.state = State::Ended(now);
        self.seen_to_end = is_seen;
        // What is, or was still to come, is not any more; a countdown would stand still.
        if let Some(breach) = &mut self.breach
            && let Some(over) = breach.over.take()
        {
            breach.sentence = over.sentence;
        }
    }

    fn take_breach(&mut self, breach: Breach, now: Moment) {
        let began_before = !self.evaluated;
        self.evaluated = true;
        self.clears = Quiet::default();
        self.blind = Quiet::default();
        if self.breaches == 0 {
            self.run_since = match breach.dated {
                Some(at) => Since { at, before: false },
                None => Since { at: now, before: began_before || breach.before },
            };
        }
        let graver = self.graver_since(&breach);
        self.run_since = graver.unwrap_or(self.run_since);
        if self.breaches == 0 || self.is_new_observation(&breach) {
            self.breaches += 1;
        }
        let known_before = self.breach.as_ref().and_then(|before| before.over.clone());
        let over = breach
            .over
            .clone()
            .or(known_before.filter(|_| matches!(self.state, State::Pending | State::Firing)));
        let breach = Breach { over, ..breach };
        let fires = breach.dated.is_some() || breach.certain || self.breaches >= self.rule.hold;
        match self.state {
            State::Firing => self.since = graver.unwrap_or(self.since),
            State::Ended(_) if !fires => return,
            _ => {
                self.since = self.run_since;
                self.state = if fires { State::Firing } else { State::Pending };
            }
        }
        self.breach = Some(breach);
    }

    /// Since when it is worse than it was before: callers may have lived with the mild form for hours. Only a date
    /// tells, because what comes and goes by a number alone would begin anew each time.
    fn graver_since(&self, breach: &Breach) -> Option<Since> {
        let lasts = matches!(self.state, State::Pending | State::Firing);
        let milder = self.breach.as_ref().filter(|last| lasts && last.at_most < breach.at_most)?;
        let began = |breach: &Breach| breach.dated;
        let is_later = |at: &Moment| began(milder).is_none_or(|before| before < *at);
        began(breach).filter(is_later).map(|at| Since { at, before: false })
    }

    /// Whether a breach rests on a number that the last one did not have: to look twice at one sample is no second
    /// observation.
    fn is_new_observation(&self, breach: &Breach) -> bool {
        let seen_at = |breach: &Breach| breach.evidence.first().map(|evidence| evidence.at);
        let last = self.breach.as_ref().and_then(seen_at);
        last.is_none() || matches!(self.state, State::Ended(_)) || seen_at(breach) != last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Confidence;

    fn breach() -> Judgement {
        Breach::new("hot".to_owned(), "hot".to_owned(), 1.0, vec![]).judged()
    }

    fn clear() -> Judgement {
        Judgement::Clear("fine".to_owned())
    }

    fn run(judgements: Vec<Judgement>) -> Finding {
        run_every(Duration::from_secs(1), judgements)
    }

    fn run_every(every: Duration, judgements: Vec<Judgement>) -> Finding {
        let mut findings = Findings::default();
        let place = RULES.iter().position(|rule| rule.hold == 3).unwrap();
        let subject: Subject = "redis/features#0".parse().unwrap();
        for (second, judgement) in judgements.into_iter().enumerate() {
            findings.take((place, &subject), judgement, (Moment(second as i64 * 1_000), || every));
        }
        findings.get(RULES[place].id, &subject).unwrap().clone()
    }

    #[test]
    fn an_answered_probe_alone_makes_no_calm() {
        let subject: Subject = "service/a".parse().unwrap();
        let place = |id: &str| RULES.iter().position(|rule| rule.id == id).unwrap();
        let mut findings = Findings::default();
        assert!(findings.calm(), "nobody watches callers");
        let every = || Duration::from_secs(1);
        findings.take((place("probe-failing"), &subject), clear(), (Moment(0), every));
        let unknown = Judgement::Unknown("too few requests".to_owned());
        findings.take((place("latency-shift"), &subject), unknown, (Moment(0), every));
        assert!(!findings.calm(), "nobody saw how callers are");
        findings.take((place("latency-shift"), &subject), clear(), (Moment(1_000), every));
        assert!(findings.calm());
    }

    #[test]
    fn what_is_a_suspicion_at_most_disturbs_no_calm() {
        let place = RULES.iter().position(|rule| rule.id == "hbm-bound").unwrap();
        let subject: Subject = "gpu/a".parse().unwrap();
        let busy = || Breach::new("busy".to_owned(), "busy".to_owned(), 1.0, vec![]);
        let is_calm_with = |first: Judgement, breach: Breach| {
            let mut findings = Findings::default();
            let every = || Duration::from_secs(1);
            findings.take((place, &subject), first, (Moment(0), every));
            for second in 1..5 {
                let judgement = breach.clone().judged();
                findings.take((place, &subject), judgement, (Moment(second * 1_000), every));
            }
            assert_eq!(findings.get("hbm-bound", &subject).unwrap().state, State::Firing);
            findings.calm()
        };
        let low = || busy().at_most(Confidence::Low);
        assert!(is_calm_with(clear(), low().habitual()), "decoding is always so");
        assert!(is_calm_with(low().judged(), low()), "it was so before anybody looked");
        assert!(!is_calm_with(clear(), low()), "it began while somebody looked");
        assert!(!is_calm_with(busy().judged(), busy()));
    }

    #[test]
    fn a_breach_must_last() {
        assert_eq!(run(vec![clear(), breach(), breach()]).state, State::Pending);
        let fired = run(vec![clear(), breach(), breach(), breach()]);
        assert_eq!(fired.state, State::Firing);
        assert_eq!(fired.since, Since { at: Moment(1_000), before: false });
        assert_eq!(run(vec![breach(), clear(), breach(), breach()]).state, State::Pending);
    }

    #[test]
    fn what_was_so_at_the_first_look_began_before() {
        assert!(run(vec![breach(), breach(), breach()]).since.before);
        let unknown = Judgement::Unknown("no data".to_owned());
        assert!(run(vec![unknown, breach(), breach(), breach()]).since.before);
    }

    #[test]
    fn a_finding_ends_slowly_and_is_kept() {
        let mut story = vec![breach(), breach(), breach(), clear(), clear()];
        assert_eq!(run(story.clone()).state, State::Firing);
        story.push(clear());
        let ended = run(story.clone());
        assert_eq!(ended.state, State::Ended(Moment(5_000)));
        assert!(ended.counts() && ended.breach.is_some());
        story.extend([clear(), clear()]);
        assert_eq!(run(story).state, State::Ended(Moment(5_000)));
    }

    #[test]
    fn one_clear_sample_looked_at_three_times_ends_nothing() {
        let slow = Duration::from_secs(5);
        let unknown = || Judgement::Unknown("a counter began anew".to_owned());
        for quiet in [clear, unknown] {
            let story = |looks: usize| {
                let mut story = vec![breach(), breach(), breach()];
                story.extend((0..looks).map(|_| quiet()));
                story
            };
            // The tenth look is nine seconds after the first, so that the third sample was not seen yet.
            assert_eq!(run_every(slow, story(10)).state, State::Firing);
            assert_eq!(run_every(slow, story(11)).state, State::Ended(Moment(13_000)));
        }
    }

    #[test]
    fn what_was_seen_to_end_stays_ended_and_what_was_out_of_sight_until_it_is_seen_again() {
        let unknown = || Judgement::Unknown("too few requests".to_owned());
        let fires = || vec![breach(), breach(), breach()];
        let then = |quiet: Vec<Judgement>| run([fires(), quiet].concat());
        assert_eq!(then(vec![clear(), clear(), clear(), unknown(), unknown()]).unseen_since(), None);
        let blind = vec![unknown(), unknown(), unknown()];
        assert_eq!(then(blind.clone()).unseen_since(), Some(Moment(5_000)));
        let once = then([blind.clone(), vec![clear()]].concat());
        assert_eq!(once.unseen_since(), Some(Moment(5_000)), "one look is not enough here either");
        let seen = then([blind, vec![clear(), clear(), clear()]].concat());
        assert_eq!((seen.unseen_since(), seen.until()), (None, Some(Moment(8_000))));
    }

    #[test]
    fn a_blip_does_not_rewrite_a_finding_that_has_ended() {
        let mut story = vec![breach(), breach(), breach(), clear(), clear(), clear(), clear()];
        let ended = run(story.clone());
        story.push(breach());
        let after = run(story.clone());
        assert_eq!((&after.state, after.since), (&ended.state, ended.since));
        story.extend([breach(), breach()]);
        let again = run(story);
        assert_eq!((again.state, again.since.at), (State::Firing, Moment(7_000)));
    }

    #[test]
    fn one_sample_looked_at_three_times_is_one_observation() {
        let of = |at: i64| {
            let evidence = crate::report::Evidence {
                metric: "m".to_owned(),
                value: 1.0,
                unit: crate::metric::Unit::Count,
                limit: None,
                baseline: None,
                baseline_from: None,
                at: Moment(at),
            };
            Breach::new("hot".to_owned(), "hot".to_owned(), 1.0, vec![evidence]).judged()
        };
        assert_eq!(run(vec![clear(), of(1), of(1), of(1), of(1)]).state, State::Pending);
        assert_eq!(run(vec![clear(), of(1), of(1), of(2), of(3)]).state, State::Firing);
    }

    #[test]
    fn lost_sight_is_not_innocence() {
        let unknown = Judgement::Unknown("stale".to_owned());
        let mut story = vec![breach(), breach(), breach(), unknown.clone(), unknown.clone()];
        assert_eq!(run(story.clone()).state, State::Firing);
        story.push(unknown.clone());
        assert!(matches!(run(story).state, State::Ended(_)));
        assert_eq!(run(vec![clear(), unknown]).state, State::Unknown("stale".into()));
    }

    #[test]
    fn what_becomes_graver_began_when_it_did() {
        let mild = || breach_of(None);
        let grave = |at| breach_of(Some(Moment(at)));
        let fired = run(vec![mild(), mild(), mild(), mild(), grave(3_500), grave(4_500)]);
        assert_eq!((fired.state, fired.since), (State::Firing, Since { at: Moment(3_500), before: false }));
        let pending = run(vec![clear(), mild(), grave(1_500)]);
        assert_eq!((pending.state, pending.since.at), (State::Firing, Moment(1_500)));
    }

    #[test]
    fn what_a_counter_tells_from_its_first_point_on_began_before() {
        let rises = || Breach::new("oom".to_owned(), "oom".to_owned(), 1.0, vec![]).begun(None).judged();
        let fired = run(vec![clear(), rises()]);
        assert_eq!((fired.state, fired.since.before), (State::Firing, true));
    }

    fn breach_of(dated: Option<Moment>) -> Judgement {
        let breach = Breach::new("full".to_owned(), "full".to_owned(), 1.0, vec![]);
        match dated {
            Some(at) => breach.dated(at).judged(),
            None => breach.at_most(Confidence::Low).judged(),
        }
    }

    #[test]
    fn a_dated_breach_fires_at_once() {
        let dated =
            Breach::new("fork".to_owned(), "fork".to_owned(), 1.0, vec![]).dated(Moment(-500)).judged();
        let fired = run(vec![clear(), dated]);
        assert_eq!((fired.state, fired.since.at), (State::Firing, Moment(-500)));
    }
}
