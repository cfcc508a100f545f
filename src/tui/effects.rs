//! What is done for the screen: it only says what it wants.

mod clipboard;

use std::time::{Duration, Instant};

use headwater_engine::reading::{ActKind, OperatorAct};
use headwater_engine::{Moment, RemoteText, Subject};
use headwater_panels::Effect;
use headwater_panels::screen::{About, Notice};
use rustix::process::{Signal, kill_current_process_group};

use super::feed::Order;
use super::run::{Face, Leave, Run, time};
use crate::config::without_secrets;
use crate::library::save_case;
use crate::report::writeup::versions;
use crate::report::{Format, files, render};
use clipboard::Multiplexer;

/// How long a stop is waited for. Without a shell that could let the process go on, the system does not stop it.
const LONGEST_STOP: Duration = Duration::from_millis(500);

/// How long the feed may take to end searches before the process stops all the same.
const LONGEST_ENDING: Duration = Duration::from_millis(1_500);

impl<F: Face> Run<F> {
    /// Does what the screen wants; says whether that ends everything.
    pub(super) async fn perform(&mut self, effect: Effect) -> Option<Leave> {
        match effect {
            Effect::Quit => return Some(Leave::Quit),
            Effect::Suspend => return self.suspend().await,
            Effect::Redraw => self.terminal.forget(),
            Effect::NextTheme => {
                self.look.next_theme();
                self.status.theme = self.look.theme().to_owned();
                self.say(format!("theme '{}'", self.look.theme()), false);
            }
            Effect::Mouse(has_mouse) => return self.take_mouse(has_mouse),
            Effect::Copy(text) => return self.copy(&text),
            Effect::CopyReport => match self.shown_snapshot() {
                Some(snapshot) => return self.copy(&render(&snapshot, Format::Markdown)),
                None => self.say("there is no report yet", false),
            },
            Effect::Export => self.export(),
            Effect::Mark(text) => self.act("marked", ActKind::Mark(RemoteText::new(&text))),
            Effect::Act(kind) => self.answer(kind),
            Effect::SaveCase => self.save_case(),
            Effect::Note(text) => self.act("noted", ActKind::Note(RemoteText::new(&text))),
            Effect::Scan(shard) => self.scan(shard),
            Effect::PauseScan(shard) => self.ordered(Order::PauseScan(shard)),
            Effect::CancelScan(shard) => self.ordered(Order::CancelScan(shard)),
            Effect::Search(shard, method) => {
                self.keep_allowed(ActKind::Search { shard: shard.clone(), method });
                self.ordered(Order::Search(shard, method));
            }
            Effect::TimeKernels(gpu) => self.ordered(Order::TimeKernels(gpu)),
            Effect::Play(play) => self.ordered(Order::Play(play)),
        }
        None
    }

    /// Keeps what the operator marked or noted, and says what becomes of it.
    fn act(&mut self, done: &str, kind: ActKind) {
        if let Some(at) = self.keep(kind) {
            self.say(format!("{done} at {} UTC; it will stand in the report", at.clock()), false);
        }
    }

    /// Keeps an answer to a runbook: in few words, because keys are asked for beside them.
    fn answer(&mut self, kind: ActKind) {
        if let Some(at) = self.keep(kind) {
            let kept = Notice::new(format!("kept at {} UTC", at.clock()), false);
            self.face.say(kept.about(About::Answer));
        }
    }

    /// Keeps what the operator did, at the time that it is where the feed is; `None` where that cannot be.
    fn keep(&mut self, kind: ActKind) -> Option<Moment> {
        let at = time(self.feed.snapshots.borrow().as_deref(), &self.status);
        // What is typed or pasted is recorded and written up: no password with it.
        let kind = kind.map_texts(without_secrets);
        self.order(Order::Act(OperatorAct { at, kind })).then_some(at)
    }

    /// Scans, and keeps that it was allowed; a recording cannot be asked anything, and says so itself.
    fn scan(&mut self, shard: Subject) {
        self.keep_allowed(ActKind::Scan(shard.clone()));
        self.ordered(Order::Scan(shard));
    }

    fn keep_allowed(&mut self, kind: ActKind) {
        if !self.status.is_replay() {
            let at = time(self.feed.snapshots.borrow().as_deref(), &self.status);
            self.ordered(Order::Act(OperatorAct { at, kind }));
        }
    }

    fn say(&mut self, text: impl Into<String>, is_error: bool) {
        self.face.say(Notice::new(text, is_error));
    }

    fn ordered(&mut self, order: Order) {
        let _ = self.order(order);
    }

    /// Gives an order to the feed, or says that it cannot; returns whether it was given.
    fn order(&mut self, order: Order) -> bool {
        let is_given = self.feed.orders.try_send(order).is_ok();
        if !is_given {
            self.say("too much was asked for at once: try again", true);
        }
        is_given
    }

    fn take_mouse(&mut self, has_mouse: bool) -> Option<Leave> {
        self.status.has_mouse = has_mouse;
        let whose =
            if has_mouse { "Headwater has the mouse" } else { "the terminal has the mouse: select text" };
        self.say(whose, false);
        self.terminal.take_mouse(has_mouse).err().map(|_| Leave::TerminalGone)
    }

    fn copy(&mut self, text: &str) -> Option<Leave> {
        let through = Multiplexer::here();
        match clipboard::sequence(text, through) {
            Ok(sequence) => {
                self.say(clipboard::notice(text, through), false);
                self.terminal.send(&sequence).err().map(|_| Leave::TerminalGone)
            }
            Err(complaint) => {
                self.say(complaint, true);
                None
            }
        }
    }

    fn shown_snapshot(&self) -> Option<std::sync::Arc<headwater_engine::Snapshot>> {
        self.face.held().or_else(|| self.feed.snapshots.borrow().clone())
    }

    fn export(&mut self) {
        let Some(snapshot) = self.shown_snapshot() else { return self.say("there is no report yet", false) };
        let told = self.results.0.clone();
        let versions = versions(self.status.recorded_by.as_deref());
        // A disk may take its time.
        tokio::task::spawn_blocking(move || {
            let notice = match files::export(&snapshot, versions) {
                Ok(text) => Notice::new(text, false).about(About::Report(snapshot.acts_until())),
                Err(text) => Notice::new(text, true),
            };
            let _ = told.send(notice);
        });
    }

    fn save_case(&mut self) {
        let Some(snapshot) = self.shown_snapshot() else {
            return self.say("there is no incident yet", false);
        };
        let told = self.results.0.clone();
        tokio::task::spawn_blocking(move || {
            let notice = match save_case(&snapshot.written()) {
                Ok(path) => Notice::new(
                    format!(
                        "saved as {}: complete it there; it is known from the next start on",
                        path.display()
                    ),
                    false,
                ),
                Err(error) => Notice::new(error.to_string(), true),
            };
            let _ = told.send(notice);
        });
    }

    /// Ends what would have a server write to us while nobody reads.
    async fn end_searches(&mut self) {
        let mut ended = self.feed.ended.clone();
        ended.mark_unchanged();
        if self.order(Order::EndSearches) {
            // A feed that has ended searches nothing.
            let _ = tokio::time::timeout(LONGEST_ENDING, ended.changed()).await;
        }
    }

    async fn suspend(&mut self) -> Option<Leave> {
        self.end_searches().await;
        self.terminal.leave();
        let stopped = kill_current_process_group(Signal::TSTP);
        // The process goes on here when the shell lets it.
        let asked = Instant::now();
        let was_told = tokio::time::timeout(LONGEST_STOP, self.signals.gone_on()).await.is_ok();
        // After a long stop the time is over before the signal is heard.
        let has_stopped = was_told || asked.elapsed() > 2 * LONGEST_STOP;
        if stopped.is_err() || !has_stopped {
            self.say("there is no shell to return to", false);
        }
        self.take_again()
    }
}
