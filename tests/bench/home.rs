//! A place of its own for each test of the benchmark, with the driver that is found there.

use std::process::Command;

use headwater_test_support::{Ran, StubCuda};
use tempfile::TempDir;

/// Little memory and little time: what is tried is the way, not the numbers.
pub(crate) const SMALL: [&str; 4] = ["--memory", "1MiB", "--budget", "1s"];

/// A home of its own, so that no test meets another's baselines and locks, and the driver that is found there.
pub(crate) struct Home {
    pub(crate) folder: TempDir,
    pub(crate) stub: Option<StubCuda>,
}

impl Home {
    pub(crate) fn new(stub: Option<StubCuda>) -> Self {
        Self { folder: TempDir::new().expect("a temporary folder can be made"), stub }
    }

    pub(crate) fn with_stub(scenario: &str) -> Self {
        let stub = StubCuda::new();
        stub.set(scenario);
        Self::new(Some(stub))
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_headwater"));
        command
            .arg("bench")
            .args(arguments)
            .env("HOME", self.folder.path())
            .env("XDG_STATE_HOME", self.folder.path());
        for variable in ["HEADWATER_NVML", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"] {
            command.env_remove(variable);
        }
        command.envs(StubCuda::variables(self.stub.as_ref(), self.folder.path()));
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(self.command(arguments).output().expect("headwater runs"))
    }

    pub(crate) fn small(&self, arguments: &[&str]) -> Ran {
        self.run(&[&SMALL, arguments].concat())
    }
}
