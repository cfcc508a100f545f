//! The replay feed: a recording as if it happened now, with pause, step, speed and seek.

use std::time::Duration;

use headwater_engine::Moment;
use headwater_panels::{Feed as Kind, Play, Status};
use tokio::time::Instant;

use super::{Feed, Learned, Order, Outlet};
use crate::recording::{Player, RecordingError, Tape};

/// The slowest and the fastest that a recording is played.
const SPEEDS: (f64, f64) = (0.125, 64.0);

/// A gap in a recording longer than this is skipped: nothing was recorded in it.
const LONGEST_GAP: Duration = Duration::from_secs(10);

/// Evaluations that are played in a row on the way to a moment before others get their turn.
const IN_A_ROW: usize = 32;

/// Starts a replay at the beginning of a tape. An error is one of the tape, which cannot be opened or holds no
/// evaluation. Must be called within a tokio runtime.
pub fn replay(tape: Tape, speed: f64, status: Status) -> Result<Option<Feed>, RecordingError> {
    let Some((from, to)) = tape.span()? else { return Ok(None) };
    let player = Player::new(tape.clone())?;
    let speed = if speed > 0.0 { speed.clamp(SPEEDS.0, SPEEDS.1) } else { 1.0 };
    let feed =
        Kind::Replay { name: tape.name(), from, to: Some(to), speed, is_paused: false, is_over: false };
    let status = Status { feed, recorded_by: Some(player.recorded_by().to_owned()), ..status };
    Ok(Some(Feed::start(status, |outlet| {
        let last = Instant::now();
        Replay { player, outlet, speed, is_paused: false, is_over: false, last }.run()
    })))
}

struct Replay {
    player: Player,
    outlet: Outlet,
    speed: f64,
    is_paused: bool,
    is_over: bool,
    /// When the last evaluation was shown.
    last: Instant,
}

impl Replay {
    async fn run(mut self) -> Learned {
        self.forward();
        loop {
            let due = self.due();
            tokio::select! {
                biased;
                order = self.outlet.orders.recv() => match order {
                    None | Some(Order::Stop) => return None,
                    Some(order) => self.take(order).await,
                },
                () = until(due) => {
                    self.forward();
                }
            }
            self.tell();
        }
    }

    /// When the next evaluation is due; `None` while nothing is.
    fn due(&mut self) -> Option<Instant> {
        if self.is_paused || self.is_over {
            return None;
        }
        match self.player.next_at() {
            Ok(Some(next)) => {
                let gap = self.player.at().map_or(Duration::ZERO, |at| next.since(at)).min(LONGEST_GAP);
                Some(self.last + gap.div_f64(self.speed))
            }
            Ok(None) => {
                self.end(None);
                None
            }
            Err(error) => {
                self.end(Some(&error));
                None
            }
        }
    }

    async fn take(&mut self, order: Order) {
        match order {
            Order::Act(act) => {
                self.player.act(act);
                self.outlet.snapshots.send_replace(self.player.snapshot());
            }
            Order::Scan(_) | Order::PauseScan(_) | Order::CancelScan(_) | Order::Search(..) => {
                self.outlet.say("a recording cannot be asked anything new: no scan", false);
            }
            Order::TimeKernels(_) => {
                self.outlet.say("a recording cannot be asked anything new: no kernels are timed", false);
            }
            Order::Play(Play::Pause) if self.is_over => {
                self.outlet
                    .say("the recording ends here: go back first, and it is played on from there", false);
            }
            Order::Play(Play::Pause) => {
                self.is_paused = !self.is_paused;
                self.last = Instant::now();
            }
            Order::Play(Play::Step) => {
                self.is_paused = true;
                self.forward();
            }
            Order::Play(Play::Speed(factor)) => {
                self.speed = (self.speed * factor).clamp(SPEEDS.0, SPEEDS.1);
                self.last = Instant::now();
            }
            Order::Play(Play::Seek(to)) => self.seek(to).await,
            // The loop ends with it.
            Order::EndSearches => self.outlet.ended.send_modify(|times| *times += 1),
            Order::Stop => {}
        }
    }

    /// Plays one evaluation and shows it.
    fn forward(&mut self) {
        match self.player.advance() {
            Ok(true) => self.show(),
            Ok(false) => self.end(None),
            Err(error) => self.end(Some(&error)),
        }
    }

    fn show(&mut self) {
        self.last = Instant::now();
        self.outlet.snapshots.send_replace(self.player.snapshot());
    }

    /// Goes to the evaluation that stood at a moment: forward from here, or from the beginning.
    async fn seek(&mut self, to: Moment) {
        if self.player.at().is_some_and(|at| to < at) {
            if let Err(error) = self.player.rewind() {
                return self.end(Some(&error));
            }
            self.is_over = false;
            // Somebody who asks for a moment before the first wants the first.
            self.forward();
        }
        let mut played = 0;
        loop {
            let is_due = self.player.next_at().map(|next| next.is_some_and(|next| next <= to));
            match is_due.and_then(|is_due| if is_due { self.player.advance() } else { Ok(false) }) {
                Ok(true) => played += 1,
                Ok(false) => break,
                Err(error) => {
                    self.end(Some(&error));
                    break;
                }
            }
            if played % IN_A_ROW == 0 {
                tokio::task::yield_now().await;
                // Whoever leaves does not wait for the rest of a long recording.
                if self.outlet.orders.is_closed() {
                    break;
                }
            }
        }
        self.show();
    }

    fn end(&mut self, error: Option<&RecordingError>) {
        if self.is_over {
            return;
        }
        self.is_over = true;
        // With it come the acts after the last evaluation.
        self.outlet.snapshots.send_replace(self.player.snapshot());
        match error {
            Some(error) => self.outlet.say(error.to_string(), true),
            None if self.player.is_cut() => {
                self.outlet
                    .say("the recording ends in the middle of a line: what came before was played", false);
            }
            None => {}
        }
        self.tell();
    }

    /// Says how the replay stands, when that has changed.
    fn tell(&self) {
        let Self { speed: now_speed, is_paused: now_paused, is_over: now_over, .. } = self;
        self.outlet.status.send_if_modified(|status| {
            let Kind::Replay { speed, is_paused, is_over, .. } = &mut status.feed else { return false };
            let before = (*speed, *is_paused, *is_over);
            (*speed, *is_paused, *is_over) = (*now_speed, *now_paused, *now_over);
            before != (*speed, *is_paused, *is_over)
        });
    }
}

/// Waits for a moment, or for ever when there is none.
async fn until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAPE: Tape = Tape::Bundled("hot-shard", include_bytes!("../../../assets/recordings/hot-shard.hwr"));

    fn started(speed: f64) -> Feed {
        replay(TAPE, speed, Status::default()).unwrap().unwrap()
    }

    /// Waits for a snapshot of which this holds; time is paused, so it stands still only when nothing happens any more.
    async fn shown(feed: &mut Feed, what: impl Fn(Moment) -> bool) -> Moment {
        let wanted = |snapshot: &Option<std::sync::Arc<headwater_engine::Snapshot>>| {
            snapshot.as_ref().is_some_and(|snapshot| what(snapshot.at))
        };
        let found = tokio::time::timeout(Duration::from_secs(3_600), feed.snapshots.wait_for(wanted)).await;
        found.expect("a snapshot in time").expect("a feed that goes on").as_ref().unwrap().at
    }

    async fn play(feed: &Feed, play: Play) {
        feed.orders.send(Order::Play(play)).await.unwrap();
    }

    async fn until_status(feed: &mut Feed, what: impl Fn(f64, bool, bool) -> bool) {
        let fits = |status: &Status| match status.feed {
            Kind::Replay { speed, is_paused, is_over, .. } => what(speed, is_paused, is_over),
            Kind::Live { .. } => false,
        };
        let found = tokio::time::timeout(Duration::from_secs(3_600), feed.status.wait_for(fits)).await;
        found.expect("a status in time").expect("a feed that goes on");
    }

    #[tokio::test(start_paused = true)]
    async fn a_replay_takes_as_long_as_it_took_and_ends_with_the_same_report() {
        let (from, to) = TAPE.span().unwrap().unwrap();
        let mut feed = started(1.0);
        let began = Instant::now();
        shown(&mut feed, |at| at == to).await;
        let (took, length) = (began.elapsed(), to.since(from));
        assert!(took >= length && took < length + Duration::from_secs(1), "{took:?} for {length:?}");
        until_status(&mut feed, |_, _, is_over| is_over).await;

        let mut headless = Player::new(TAPE).unwrap();
        while headless.advance().unwrap() {}
        let seen = feed.snapshots.borrow().clone().unwrap();
        assert_eq!(seen.report, headless.snapshot().unwrap().report);
    }

    #[tokio::test(start_paused = true)]
    async fn pause_holds_step_goes_one_second_and_seek_goes_both_ways() {
        let (from, to) = TAPE.span().unwrap().unwrap();
        let mut feed = started(1.0);
        play(&feed, Play::Pause).await;
        until_status(&mut feed, |_, is_paused, _| is_paused).await;
        let held = shown(&mut feed, |_| true).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(shown(&mut feed, |_| true).await, held);

        play(&feed, Play::Step).await;
        let next = shown(&mut feed, |at| at > held).await;
        assert!(next.since(held) < Duration::from_millis(1_500));

        play(&feed, Play::Seek(from + Duration::from_secs(12))).await;
        let later = shown(&mut feed, |at| at.since(from) >= Duration::from_secs(11)).await;
        assert!(later <= from + Duration::from_secs(12));
        play(&feed, Play::Seek(from + Duration::from_secs(3))).await;
        shown(&mut feed, |at| at <= from + Duration::from_secs(3)).await;
        play(&feed, Play::Seek(to + Duration::from_secs(99))).await;
        assert_eq!(shown(&mut feed, |at| at >= to).await, to);
        until_status(&mut feed, |_, is_paused, _| is_paused).await;
    }

    #[tokio::test(start_paused = true)]
    async fn speed_doubles_up_to_a_limit_and_a_note_survives_going_back() {
        let (from, _) = TAPE.span().unwrap().unwrap();
        let mut feed = started(1.0);
        for _ in 0..9 {
            play(&feed, Play::Speed(2.0)).await;
        }
        until_status(&mut feed, |speed, _, _| speed == 64.0).await;
        let kind = headwater_engine::reading::ActKind::Note("cache off".into());
        let act = headwater_engine::reading::OperatorAct { at: from, kind };
        feed.orders.send(Order::Act(act.clone())).await.unwrap();
        let later = from + Duration::from_secs(5);
        play(&feed, Play::Seek(later)).await;
        shown(&mut feed, |at| at > from + Duration::from_secs(3)).await;
        play(&feed, Play::Seek(from)).await;
        shown(&mut feed, |at| at == from).await;
        assert_eq!(feed.snapshots.borrow().as_ref().unwrap().acts.as_ref(), [act]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_recording_cannot_do_is_said() {
        let mut feed = started(1.0);
        feed.orders.send(Order::Scan("redis/features#0".parse().unwrap())).await.unwrap();
        let said = feed.notices.recv().await.unwrap();
        assert!(said.text.contains("cannot be asked"), "{}", said.text);
        assert!(feed.stop().await.is_none());
    }
}
