//! A real terminal for a real program: a pty, what the program draws on it, and what it leaves behind.

mod at_home;

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, NativePtySystem, PtySize, PtySystem};
use rustix::process::{Pid, Signal, kill_process};
use vt100::Parser;

use crate::{PATIENCE, wait_until};

/// A pty with a program in it; the program is killed when this is dropped.
pub struct Terminal {
    /// `None` once the terminal was closed.
    master: Option<Box<dyn MasterPty + Send>>,
    keys: Option<Box<dyn Write + Send>>,
    child: Box<dyn Child + Send + Sync>,
    seen: Arc<Mutex<Seen>>,
    /// How the terminal was set before the program began.
    before: String,
}

/// What came out of the program so far.
struct Seen {
    parser: Parser,
    bytes: Vec<u8>,
    /// Whether nothing is read, as over a link that hangs.
    is_stuck: bool,
    /// Whether the terminal is to be closed once the program writes to it again.
    is_closing: bool,
    /// Whether nothing is read any more: either end is closed.
    is_over: bool,
}

/// What is different from before, after a program has ended.
pub type Leftovers = Vec<String>;

/// Variables of the developer's that programs would heed.
const UNWANTED: &[&str] = &[
    "TMUX",
    "STY",
    "NO_COLOR",
    "RUST_LOG",
    "RUST_BACKTRACE",
    "HEADWATER_NVML",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
];

/// Sequences that switch something on, with what switches it off and what it is.
const SWITCHES: &[(&str, &str, &str)] = &[
    ("\x1b[?1049h", "\x1b[?1049l", "the alternate screen is still shown"),
    ("\x1b[?25l", "\x1b[?25h", "the cursor is still hidden"),
    ("\x1b[?2004h", "\x1b[?2004l", "pasted text is still bracketed"),
    ("\x1b[?1000h", "\x1b[?1000l", "the mouse is still taken"),
    ("\x1b[?1006h", "\x1b[?1006l", "the mouse is still told in its own way"),
    ("\x1b[?1004h", "\x1b[?1004l", "the focus is still told"),
    ("\x1b[?2026h", "\x1b[?2026l", "an update is still held back"),
];

fn size(columns: u16, rows: u16) -> PtySize {
    PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 }
}

fn at_least_one(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).unwrap_or(NonZeroU16::MIN)
}

impl Terminal {
    /// Starts a program in this folder and in a terminal of this size, with these variables besides the ones of the test.
    ///
    /// # Panics
    /// When there is no pty or the program does not start.
    pub fn start(
        program: &Path,
        arguments: &[&str],
        folder: &Path,
        (columns, rows): (u16, u16),
        variables: &[(&str, &str)],
    ) -> Self {
        let pair = NativePtySystem::default().openpty(size(columns, rows)).expect("a pty can be opened");
        let before = settings_of(&*pair.master);
        let mut command = CommandBuilder::new(program);
        command.args(arguments);
        command.cwd(folder);
        for unwanted in UNWANTED {
            command.env_remove(unwanted);
        }
        command.env("TERM", "xterm-256color");
        command.env("LC_ALL", "C.UTF-8");
        for (name, value) in variables {
            command.env(name, value);
        }
        let child = pair.slave.spawn_command(command).expect("the program starts");
        let mut out = pair.master.try_clone_reader().expect("a pty can be read");
        let keys = pair.master.take_writer().expect("a pty can be written");
        let parser = Parser::new(at_least_one(rows), at_least_one(columns), 0);
        let seen = Arc::new(Mutex::new(Seen {
            parser,
            bytes: vec![],
            is_stuck: false,
            is_closing: false,
            is_over: false,
        }));
        let filled = Arc::clone(&seen);
        std::thread::spawn(move || {
            let mut buffer = vec![0; 65_536];
            let is_stuck = || filled.lock().unwrap_or_else(PoisonError::into_inner).is_stuck;
            while let Ok(length @ 1..) = out.read(&mut buffer) {
                while is_stuck() {
                    std::thread::sleep(Duration::from_millis(5));
                }
                let mut seen = filled.lock().unwrap_or_else(PoisonError::into_inner);
                seen.parser.process(&buffer[..length]);
                seen.bytes.extend_from_slice(&buffer[..length]);
                if seen.is_closing {
                    break;
                }
            }
            // Before it is said: this may be the last hand that holds the terminal open.
            drop(out);
            filled.lock().unwrap_or_else(PoisonError::into_inner).is_over = true;
        });
        Self { master: Some(pair.master), keys: Some(keys), child, seen, before }
    }

    /// What the screen shows now, a line each.
    pub fn contents(&self) -> String {
        self.seen().parser.screen().contents()
    }

    /// Everything that was sent to the terminal so far.
    pub fn bytes(&self) -> Vec<u8> {
        self.seen().bytes.clone()
    }

    /// How many bytes were sent to the terminal so far.
    pub fn sent(&self) -> usize {
        self.seen().bytes.len()
    }

    /// Waits until the screen shows a text.
    ///
    /// # Panics
    /// When it does not, with what it shows instead.
    pub fn until_shown(&self, text: &str) {
        self.until(&format!("the screen shows '{text}'"), |screen| screen.contains(text));
    }

    /// Waits until what the screen shows fits.
    ///
    /// # Panics
    /// When it does not, with what it shows instead.
    pub fn until(&self, what: &str, mut fits: impl FnMut(&str) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let shown = self.contents();
            if fits(&shown) {
                return;
            }
            let is_over = self.seen().is_over && self.contents() == shown;
            assert!(!is_over, "the program has ended before {what}; the screen shows:\n{shown}");
            assert!(Instant::now() < deadline, "waited in vain until {what}; the screen shows:\n{shown}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The text that is shown in reverse, such as the name of what is open.
    pub fn reversed(&self) -> String {
        let seen = self.seen();
        let screen = seen.parser.screen();
        let (rows, columns) = screen.size();
        let mut text = String::new();
        for row in 0..rows.get() {
            let cells = (0..columns.get()).filter_map(|column| screen.cell(row, column));
            for cell in cells.filter(|cell| cell.inverse()) {
                text.push_str(if cell.has_contents() { cell.contents() } else { " " });
            }
            text.push('\n');
        }
        text
    }

    /// Waits until the program has sent these bytes.
    ///
    /// # Panics
    /// When it does not.
    pub fn until_sent(&self, bytes: &[u8]) {
        wait_until(&format!("'{}' was sent", bytes.escape_ascii()), || {
            self.seen().bytes.windows(bytes.len()).any(|window| window == bytes)
        });
    }

    /// Presses keys, as the bytes that a terminal sends for them.
    ///
    /// # Panics
    /// When the terminal is closed.
    pub fn press(&mut self, keys: &str) {
        let out = self.keys.as_mut().expect("the terminal is open");
        out.write_all(keys.as_bytes()).and_then(|()| out.flush()).expect("the terminal takes keys");
    }

    /// Takes another size.
    ///
    /// # Panics
    /// When the terminal is closed.
    pub fn resize(&self, columns: u16, rows: u16) {
        // What is drawn for the old size while the new one is not known is drawn over by what comes after.
        self.seen().parser.screen_mut().set_size(at_least_one(rows), at_least_one(columns));
        let master = self.master.as_ref().expect("the terminal is open");
        master.resize(size(columns, rows)).expect("a pty can be resized");
    }

    /// The process.
    ///
    /// # Panics
    /// When it has ended and was waited for.
    pub fn process(&self) -> Pid {
        let id = self.child.process_id().and_then(|id| i32::try_from(id).ok());
        id.and_then(Pid::from_raw).expect("a process that runs has an id")
    }

    /// Sends a signal to the process.
    ///
    /// # Panics
    /// When it is gone.
    pub fn signal(&self, signal: Signal) {
        kill_process(self.process(), signal).expect("the process is there to be signalled");
    }

    /// Takes nothing more that the program writes, as over a link that hangs, or goes on to.
    pub fn stick(&self, is_stuck: bool) {
        self.seen().is_stuck = is_stuck;
    }

    /// Closes the terminal, as when a window is closed or a link is lost. The program has to write something before it
    /// is closed for good.
    ///
    /// # Panics
    /// When it does not.
    pub fn close(&mut self) {
        self.seen().is_closing = true;
        self.keys = None;
        self.master = None;
        wait_until("the program writes once more", || self.seen().is_over);
    }

    /// Whether the terminal passes each key on at once.
    ///
    /// # Panics
    /// When the terminal is closed.
    pub fn is_raw(&self) -> bool {
        let now = settings_of(&**self.master.as_ref().expect("the terminal is open"));
        !now.contains("ICANON")
    }

    /// Waits for the end of the program and gives its exit code; a signal that ended it is 1 for this purpose.
    ///
    /// # Panics
    /// When it does not end.
    pub fn exit_code(&mut self) -> u32 {
        let mut ended: Option<ExitStatus> = None;
        let child = &mut self.child;
        let shown = self.seen.lock().unwrap_or_else(PoisonError::into_inner).parser.screen().contents();
        wait_until(&format!("the program ends; it shows\n{shown}"), || {
            ended = child.try_wait().expect("the program can be waited for");
            ended.is_some()
        });
        ended.expect("it has just ended").exit_code()
    }

    /// Waits for everything that the program has written, and gives what it left switched on or set; it must have ended.
    ///
    /// # Panics
    /// When the terminal was closed, or somebody else still writes to it.
    pub fn leftovers(&self) -> Leftovers {
        let mut found = vec![];
        let after = settings_of(&**self.master.as_ref().expect("the terminal is open"));
        wait_until("nothing more is written", || self.seen().is_over);
        let seen = self.seen();
        let last = |sequence: &str| {
            seen.bytes.windows(sequence.len()).rposition(|window| window == sequence.as_bytes())
        };
        for (on, off, what) in SWITCHES {
            if last(on).is_some_and(|on| last(off).is_none_or(|off| off < on)) {
                found.push((*what).to_owned());
            }
        }
        if after != self.before {
            found.push(format!("the terminal is set otherwise: {after}, before {}", self.before));
        }
        found
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // One that has ended is as gone as it should be.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How the terminal is set, both ends alike: all modes by their names.
fn settings_of(master: &(dyn MasterPty + Send)) -> String {
    let set = master.get_termios().expect("a pty has settings");
    format!("{:?} {:?} {:?} {:?}", set.input_flags, set.output_flags, set.control_flags, set.local_flags)
}
