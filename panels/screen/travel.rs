//! Holding the screen still, and going back in time.

use std::sync::Arc;
use std::time::Duration;

use headwater_engine::Moment;

use super::{Screen, Shown};
use crate::action::Action;
use crate::panel::{Effect, Play};

/// How far one goes at a time with the greater steps.
pub(super) const MUCH: Duration = Duration::from_secs(60);

/// How far a replay plays on for one small step beyond what was played.
const LITTLE: Duration = Duration::from_secs(1);

impl Screen {
    /// Holds the newest snapshot still, or lets the screen go on; pauses a replay.
    pub(super) fn freeze(&mut self, shown: &Shown<'_>) -> Vec<Effect> {
        if let Some(held) = self.held.take() {
            return if held.gone_back_from.is_some() { self.play_from(held.at, shown) } else { vec![] };
        }
        if shown.status.is_replay() {
            return vec![Effect::Play(Play::Pause)];
        }
        match shown.newest {
            Some(newest) => self.held = Some(Arc::clone(newest)),
            None => self.say("there is nothing to hold still yet", false),
        }
        vec![]
    }

    /// Plays a recording on from a moment that was gone back to; what is live goes on by itself.
    fn play_from(&mut self, moment: Moment, shown: &Shown<'_>) -> Vec<Effect> {
        let super::Feed::Replay { is_paused, .. } = shown.status.feed else { return vec![] };
        self.held = None;
        self.say(format!("played on from {}", moment.clock()), false);
        let mut effects = vec![Effect::Play(Play::Seek(moment))];
        if is_paused {
            effects.push(Effect::Play(Play::Pause));
        }
        effects
    }

    /// Goes back by one frame, or by a span; in a replay also beyond what is kept, which is played again then.
    pub(super) fn earlier(&mut self, span: Option<Duration>, shown: &Shown<'_>) -> Vec<Effect> {
        let (Some(newest), Some(here)) = (shown.newest, self.snapshot(shown)) else {
            self.say("there is no past yet", false);
            return vec![];
        };
        let timeline = &newest.timeline;
        let frame = match span {
            None => timeline.before(here.at),
            Some(span) => {
                timeline.at(here.at - span).or_else(|| timeline.before(here.at).and(timeline.first()))
            }
        };
        let Some(frame) = frame else {
            let oldest = timeline.first().map_or(here.at, |frame| frame.at);
            if let super::Feed::Replay { from, .. } = shown.status.feed {
                if from < oldest {
                    return self.play_from(from.max(here.at - span.unwrap_or(LITTLE)), shown);
                }
                let key = shown.keys.key_of(Action::Freeze);
                let text =
                    format!("the recording begins here, at {}; {key} plays it from here", oldest.clock());
                self.say(text, false);
                return vec![];
            }
            self.say(format!("this is the oldest moment that is kept: {}", oldest.clock()), false);
            return vec![];
        };
        self.hold(frame.at, shown);
        vec![]
    }

    /// Goes forward by one frame, or by a span; in a replay also beyond what was played.
    pub(super) fn later(&mut self, span: Option<Duration>, shown: &Shown<'_>) -> Vec<Effect> {
        let Some(newest) = shown.newest else {
            self.say("there is nothing yet", false);
            return vec![];
        };
        let Some(here) = self.held.as_ref().map(|held| held.at) else {
            return self.beyond(newest.at + span.unwrap_or(LITTLE), shown);
        };
        let timeline = &newest.timeline;
        let next = timeline.after(here).map(|frame| frame.at);
        let target = match span {
            None => next,
            Some(span) => timeline.at(here + span).map(|frame| frame.at).max(next),
        };
        match target.filter(|target| *target < newest.at) {
            Some(target) => self.hold(target, shown),
            None => self.live(shown),
        }
        vec![]
    }

    /// Returns to the newest snapshot.
    pub(super) fn live(&mut self, shown: &Shown<'_>) {
        let text = match (self.held.take().is_some(), shown.status.is_replay()) {
            (true, false) => "live again",
            (true, true) => "this is as far as the recording was played",
            (false, false) => "this is live",
            (false, true) => {
                "this is as far as the recording was played; there is nothing live in a recording"
            }
        };
        self.say(text, false);
    }

    fn beyond(&mut self, target: Moment, shown: &Shown<'_>) -> Vec<Effect> {
        let super::Feed::Replay { to, is_over, .. } = &shown.status.feed else {
            self.say("this is the newest moment", false);
            return vec![];
        };
        if *is_over {
            let key = shown.keys.key_of(Action::Earlier);
            self.say(format!("the recording ends here; {key} goes back"), false);
            return vec![];
        }
        vec![Effect::Play(Play::Seek(to.map_or(target, |to| target.min(to))))]
    }

    /// Shows what could be said at a moment, composed once: what is held does not change any more.
    fn hold(&mut self, moment: Moment, shown: &Shown<'_>) {
        if let Some(then) = shown.newest.and_then(|newest| newest.back_to(moment)) {
            self.held = Some(Arc::new(then));
        }
    }
}
