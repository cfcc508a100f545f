//! A place of its own for each test of the benchmark, with the driver that is found there.

use std::ffi::OsStr;
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
            .env("XDG_STATE_HOME", self.folder.path())
            .env("HEADWATER_LOCKS", self.folder.path());
        for variable in ["HEADWATER_NVML", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"] {
            command.env_remove(variable);
        }
        // What is no library hides the real driver, where a developer has one.
        let nothing = self.folder.path().join("libraries");
        std::fs::create_dir_all(&nothing).expect("a folder can be made");
        for name in ["libcuda.so", "libcuda.so.1", "libnvidia-ml.so.1"] {
            std::fs::write(nothing.join(name), "no library").expect("a file can be written");
        }
        let mut folders = nothing.into_os_string();
        if let Some(stub) = &self.stub {
            command.env("HEADWATER_CUDA_STUB", stub.scenario_file());
            folders = [stub.folder().as_os_str(), folders.as_os_str()].join(OsStr::new(":"));
        }
        command.env("LD_LIBRARY_PATH", folders);
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(self.command(arguments).output().expect("headwater runs"))
    }

    pub(crate) fn small(&self, arguments: &[&str]) -> Ran {
        self.run(&[&SMALL, arguments].concat())
    }
}
