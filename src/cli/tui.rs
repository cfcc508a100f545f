//! `headwater [TARGET...]`: the screen.

use std::path::PathBuf;

use clap::{Args, CommandFactory};
use headwater_engine::Snapshot;
use headwater_engine::wording::headline_of;
use headwater_panels::screen::{Feed as FeedState, first_keys};
use headwater_panels::{Screen, Status};

use super::baselines::{BaselineArgs, Saved};
use super::output::{Failure, print};
use super::target::TargetArgs;
use super::{Cli, EXIT_IO, EXIT_PANIC};
use crate::app::App;
use crate::config::{Config, default_config_file, unknown_name};
use crate::recording::{Header, Recorder};
use crate::theme::choice::{Environment, Wishes};
use crate::tui::feed::Feed;
use crate::tui::feed::live::live;
use crate::tui::look::{Look, LookOptions};
use crate::tui::run::{Ended, Face, Leave, run as show};
use crate::tui::terminal::is_terminal;

/// The arguments of the screen over live targets.
#[derive(Debug, Args)]
pub(super) struct TuiArgs {
    #[command(flatten)]
    targets: TargetArgs,

    /// Record what the engine is told, for 'headwater replay'
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,

    #[command(flatten)]
    healthy: BaselineArgs,

    #[command(flatten)]
    lead: LeadArgs,

    #[command(flatten)]
    screen: ScreenArgs,
}

/// How a screen looks and takes keys, whatever it shows.
#[derive(Clone, Debug, Args)]
pub(super) struct ScreenArgs {
    /// The colour theme: a name that 'headwater config theme' lists, or a file
    #[arg(long, value_name = "NAME|FILE")]
    theme: Option<String>,

    /// Draw with ASCII characters alone
    #[arg(long)]
    ascii: bool,

    /// Use no colour; NO_COLOR does the same
    #[arg(long)]
    no_color: bool,

    /// Take the mouse: click and scroll; selecting text then needs shift
    #[arg(long, overrides_with = "no_mouse")]
    mouse: bool,

    /// Leave the mouse to the terminal, as is usual
    #[arg(long)]
    no_mouse: bool,

    /// Keys that differ from the usual ones [default: keymap.toml in headwater's XDG folder, if it is there]
    #[arg(long, value_name = "FILE")]
    keymap: Option<PathBuf>,

    /// Panic at the first evaluation, to see that the terminal survives it
    #[arg(long, hide = true, value_enum)]
    panic: Option<PanicIn>,
}

/// How a newcomer is led.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct LeadArgs {
    /// Open the runbook with its explanations, and say at every moment which key to press next
    #[arg(long)]
    walkthrough: bool,
}

impl LeadArgs {
    /// The screen; a walkthrough says by itself what to press.
    pub(super) fn screen(self) -> Screen {
        if self.walkthrough { Screen::new().walkthrough() } else { Screen::new() }
    }

    /// The same with a line for whoever sees it for the first time.
    pub(super) fn screen_with_hint(self, look: &Look) -> Screen {
        let mut screen = self.screen();
        if !self.walkthrough {
            screen.hint(first_keys(look.keys()));
        }
        screen
    }

    /// Refuses to lead where there is no screen.
    pub(super) fn need_screen(self, has_screen: bool) -> Result<(), Failure> {
        if self.walkthrough && !has_screen {
            return Err(Failure::usage(
                "'--walkthrough' needs a screen: leave out '--for' and '--format', and use a terminal",
            ));
        }
        Ok(())
    }
}

/// Where to panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum PanicIn {
    /// In the loop of the screen.
    Screen,
    /// In a task that nobody waits for.
    Task,
}

impl TuiArgs {
    /// Whether there is nothing to look at: no target, no configuration, none in the usual place either.
    pub(super) fn names_nothing(&self) -> bool {
        let targets = &self.targets;
        targets.targets.is_empty()
            && targets.access.config.is_none()
            && !default_config_file().is_some_and(|path| path.exists())
    }
}

pub(super) async fn run(args: TuiArgs) -> Result<u8, Failure> {
    if let [word] = &args.targets.targets[..]
        && word.chars().all(|c| c.is_ascii_alphabetic())
    {
        let root = Cli::command();
        let names: Vec<_> = root.get_subcommands().map(clap::Command::get_name).collect();
        return Err(Failure::usage(unknown_name("command", word, &names)));
    }
    let mut config = args.targets.resolve()?;
    config.since = args.healthy.since;
    require_terminal("look at the same targets with 'headwater triage'")?;
    let look = args.screen.look()?;
    let saved = args.healthy.open(&config);
    let feed = live_feed(&config, &saved, args.record, None)?;
    let ended = args.screen.show(args.lead.screen_with_hint(&look), feed, look).await?;
    end(ended, Some(saved))
}

/// Refuses to draw where nobody would see it; `instead` says what to do there.
pub(super) fn require_terminal(instead: &str) -> Result<(), Failure> {
    if is_terminal() {
        return Ok(());
    }
    Err(Failure::usage(format_args!("standard input and output are no terminal: {instead}")))
}

/// Starts looking at the targets of a configuration; `demo` is what a demo says of itself.
pub(super) fn live_feed(
    config: &Config,
    saved: &Saved,
    record: Option<PathBuf>,
    demo: Option<String>,
) -> Result<Feed, Failure> {
    let recorder = match &record {
        Some(path) => {
            Some(Recorder::create(path, &Header::new(config.settings.clone(), saved.known.clone()))?)
        }
        None => None,
    };
    let app = App::start(config, saved.known.clone(), recorder)?;
    let status = Status {
        feed: FeedState::Live { interval: config.settings.interval },
        recording: record.map(|path| path.display().to_string()),
        demo,
        ..Status::default()
    };
    Ok(live(app, status))
}

impl ScreenArgs {
    /// Colours and keys as they were asked for.
    pub(super) fn look(&self) -> Result<Look, Failure> {
        let wishes = Wishes { theme: self.theme.clone(), is_colourless: self.no_color, is_ascii: self.ascii };
        let options = LookOptions { wishes, keymap: self.keymap.clone() };
        Ok(Look::load(&options, &Environment::of_process())?)
    }

    /// Shows a feed until somebody leaves; then the terminal is as it was.
    pub(super) async fn show(&self, mut face: impl Face, feed: Feed, look: Look) -> Result<Ended, Failure> {
        let first = feed.snapshots.clone();
        let panicking = match self.panic {
            Some(PanicIn::Task) => {
                tokio::spawn(panic_at(first.clone()));
                None
            }
            Some(PanicIn::Screen) => Some(first),
            None => None,
        };
        let panics = async {
            match panicking {
                Some(first) => panic_at(first).await,
                None => std::future::pending().await,
            }
        };
        if let Some(notice) = look.left_out() {
            face.say(notice);
        }
        let shown = show(face, feed, look, self.mouse && !self.no_mouse);
        let ended = tokio::select! {
            ended = shown => ended,
            () = panics => return Err(Failure::new(EXIT_PANIC, "this does not return")),
        };
        ended.map_err(|error| {
            Failure::new(
                EXIT_IO,
                format_args!("the terminal cannot be used ({error}): look with 'headwater triage'"),
            )
        })
    }
}

#[expect(clippy::panic, reason = "asked for, to see that the terminal survives it")]
async fn panic_at(mut first: tokio::sync::watch::Receiver<Option<std::sync::Arc<Snapshot>>>) {
    if first.wait_for(Option::is_some).await.is_ok() {
        panic!("as asked for");
    }
}

/// What a run leaves behind: healthy values, the verdict in the shell's own scroll, and the exit code.
pub(super) fn end(ended: Ended, saved: Option<Saved>) -> Result<u8, Failure> {
    if let Some(saved) = saved {
        saved.save(ended.learned);
    }
    match ended.leave {
        Leave::Quit => {
            if let Some(line) = ended.last.as_deref().and_then(verdict_line) {
                print(&line)?;
            }
            Ok(0)
        }
        Leave::Terminated => Ok(0),
        Leave::TerminalGone => Ok(EXIT_IO),
        Leave::Panicked => Ok(EXIT_PANIC),
    }
}

/// What it came to and whom it points at first; `None` when nobody is suspected.
fn verdict_line(snapshot: &Snapshot) -> Option<String> {
    let report = &snapshot.report;
    let first = report.suspects.first()?;
    Some(format!(
        "{} {}: {} {} by {}: {}\n",
        report.at.clock(),
        headline_of(snapshot),
        headwater_engine::wording::verdict_word(first.verdict),
        first.subject,
        first.rule,
        first.sentence
    ))
}
