//! Stub drivers, a configuration that leads to them, and Headwater in a terminal before both.

use std::path::{Path, PathBuf};
use std::process::Command;

use headwater_test_support::terminal::Terminal;
use headwater_test_support::{NvmlRelease, Ran, StubCuda, StubNvml};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_headwater");

/// The terminal that everything must be readable in.
const SIZE: (u16, u16) = (80, 24);

/// The GPUs of a machine, where nothing else is said.
pub(crate) const TWO_GPUS: u32 = 2;

/// A home with the drivers that are found there.
pub(crate) struct Desk {
    home: TempDir,
    nvml: Option<StubNvml>,
    cuda: Option<StubCuda>,
}

/// Headwater with its panel of GPUs in sight.
pub(crate) struct Seat {
    pub(crate) terminal: Terminal,
    log: PathBuf,
    /// The key that ends it.
    end: &'static str,
}

impl Desk {
    /// A machine with this management library and so many GPUs, and without a driver for kernels.
    pub(crate) fn new(release: NvmlRelease, gpus: u32) -> Self {
        Self { nvml: Some(StubNvml::with_gpus(release, gpus)), ..Self::without_drivers() }
    }

    /// The same with this driver for kernels, which has this in store.
    pub(crate) fn and_cuda(self, cuda: StubCuda, scenario: &str) -> Self {
        cuda.set(scenario);
        Self { cuda: Some(cuda), ..self }
    }

    /// A healthy machine with a driver for kernels that has this in store.
    pub(crate) fn with_cuda(scenario: &str) -> Self {
        Self::new(NvmlRelease::Present, TWO_GPUS).and_cuda(StubCuda::new(), scenario)
    }

    /// A machine without any of NVIDIA's libraries.
    pub(crate) fn without_drivers() -> Self {
        Self { home: TempDir::new().expect("a temporary folder can be made"), nvml: None, cuda: None }
    }

    pub(crate) fn nvml(&mut self) -> &mut StubNvml {
        self.nvml.as_mut().expect("this machine has the library")
    }

    pub(crate) fn cuda(&self) -> &StubCuda {
        self.cuda.as_ref().expect("this machine has the driver")
    }

    /// Starts the screen with this besides in its configuration, and opens the panel of GPUs.
    pub(crate) fn sit(&self, more: &str) -> Seat {
        let mut seat = self.start(&[], more, "q");
        seat.terminal.until_shown("9GPU");
        seat.open("9", "GPU");
        seat
    }

    /// Starts a kiosk that shows the panel of GPUs.
    pub(crate) fn hang_up(&self, more: &str) -> Seat {
        self.start(&["kiosk", "--panels", "gpu"], more, "\x11")
    }

    /// What the doctor says of this machine, in one line, with its exit code.
    pub(crate) fn doctor(&self, more: &str) -> (Option<i32>, String) {
        let home = self.home.path();
        let mut headwater = Command::new(PROGRAM);
        headwater.arg("doctor").arg("--config").arg(self.config(more)).env("HOME", home);
        headwater.env("XDG_STATE_HOME", home).envs(StubCuda::variables(self.cuda.as_ref(), home));
        for unwanted in ["HEADWATER_NVML", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"] {
            headwater.env_remove(unwanted);
        }
        let ran = Ran::of(headwater.output().expect("headwater runs"));
        (ran.code, in_one_line(&ran.out))
    }

    /// A configuration that asks for the GPUs of this machine.
    fn config(&self, more: &str) -> PathBuf {
        let home = self.home.path();
        let config = home.join("headwater.toml");
        let library = self.nvml.as_ref().map_or_else(|| home.join("libmissing.so"), StubNvml::library);
        let text = format!(
            "interval = \"200ms\"\n[local]\ngpu = true\nname = \"host-a\"\nnvml_library = \"{}\"\n{more}",
            library.display()
        );
        std::fs::write(&config, text).expect("the home can be written to");
        config
    }

    fn start(&self, command: &[&str], more: &str, end: &'static str) -> Seat {
        let home = self.home.path();
        let config = self.config(more);
        let config = config.to_str().expect("temporary folders have plain names");
        let arguments = [command, &["--no-color", "--config", config]].concat();
        let variables = StubCuda::variables(self.cuda.as_ref(), home);
        let variables: Vec<(&str, &str)> = variables
            .iter()
            .map(|(name, value)| (*name, value.to_str().expect("temporary folders have plain names")))
            .collect();
        let terminal = Terminal::start_at_home(Path::new(PROGRAM), &arguments, home, SIZE, &variables);
        Seat { terminal, log: home.join("headwater/headwater.log"), end }
    }
}

impl Seat {
    /// Waits until these words stand on the screen, one after the other and none of them cut.
    pub(crate) fn until_told(&self, words: &str) {
        let is_told = |screen: &str| in_one_line(screen).contains(words);
        self.terminal.until(&format!("it says '{words}'"), is_told);
    }

    /// Opens a panel by its key.
    pub(crate) fn open(&mut self, key: &str, short: &str) {
        self.terminal.press(key);
        let terminal = &self.terminal;
        terminal.until(&format!("'{short}' is open"), |_| terminal.reversed().contains(short));
    }

    /// Keys are answered: another panel, and back, where the same is still said.
    pub(crate) fn look_away(&mut self, words: &str) {
        self.open("6", "Queue");
        self.open("9", "GPU");
        self.until_told(words);
    }

    /// Leaves, which nothing holds up, and nothing has panicked.
    pub(crate) fn leave(mut self) {
        self.terminal.press(self.end);
        assert_eq!(self.terminal.exit_code(), 0);
        self.terminal.assert_as_before();
        let log = std::fs::read_to_string(&self.log).expect("the screen has a log");
        let shown = String::from_utf8_lossy(&self.terminal.bytes()).into_owned();
        for text in [log, shown] {
            assert!(!text.contains("panicked"), "{text}");
        }
    }
}

fn in_one_line(screen: &str) -> String {
    screen.split_whitespace().collect::<Vec<_>>().join(" ")
}
