//! What the screen is told each time it is drawn or takes a key.

use std::sync::Arc;
use std::time::Duration;

use headwater_engine::{Library, Moment, Snapshot};

use crate::keys::Keymap;
use crate::palette::Palette;

/// What the screen is told each time.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// The newest evaluation; `None` before the first.
    pub newest: Option<&'a Arc<Snapshot>>,
    /// What the time is, by the observer's clock; in a replay, by the recording's.
    pub now: Moment,
    /// Colours and characters.
    pub palette: &'a Palette,
    /// Which key does what.
    pub keys: &'a Keymap,
    /// Where the numbers come from.
    pub status: &'a Status,
    /// Runbooks and past cases.
    pub library: &'a Library,
}

/// Where the numbers come from.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// Live or replayed.
    pub feed: Feed,
    /// What a demo must say of itself on the screen: what runs, or why nothing does and a recording is shown.
    pub demo: Option<String>,
    /// The file that everything is recorded to, if any.
    pub recording: Option<String>,
    /// The version of Headwater that recorded what is replayed, if anything is.
    pub recorded_by: Option<String>,
    /// The name of the theme.
    pub theme: String,
    /// Whether Headwater has the mouse.
    pub has_mouse: bool,
    /// What is waited for before the first evaluation: the names of the targets that have not answered yet.
    pub waiting_for: Vec<String>,
}

impl Default for Status {
    /// Live, once a second.
    fn default() -> Self {
        Self {
            feed: Feed::Live { interval: Duration::from_secs(1) },
            demo: None,
            recording: None,
            recorded_by: None,
            theme: String::new(),
            has_mouse: false,
            waiting_for: vec![],
        }
    }
}

impl Status {
    /// Whether a recording is played.
    pub fn is_replay(&self) -> bool {
        matches!(self.feed, Feed::Replay { .. })
    }
}

/// Live or replayed.
#[derive(Clone, Debug, PartialEq)]
pub enum Feed {
    /// Targets are polled at this interval.
    Live {
        /// The polling interval.
        interval: Duration,
    },
    /// A recording is played.
    Replay {
        /// Its file's name.
        name: String,
        /// Its first moment.
        from: Moment,
        /// Its last moment, when known.
        to: Option<Moment>,
        /// How many times as fast as it happened.
        speed: f64,
        /// Whether it stands still.
        is_paused: bool,
        /// Whether its end was reached.
        is_over: bool,
    },
}
