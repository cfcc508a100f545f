//! A stub of NVIDIA's management library, compiled from C, whose GPUs a test changes while they are looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Which library the stub is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NvmlRelease {
    /// One with every call.
    Present,
    /// One of an old driver, in which newer calls are missing.
    Old,
    /// A library without any of the calls.
    Another,
}

/// A stub of NVIDIA's management library in a folder of its own, with what it answers.
#[derive(Debug)]
pub struct StubNvml {
    folder: tempfile::TempDir,
    scenario: BTreeMap<String, String>,
}

impl StubNvml {
    /// Compiles the stub. It lists no GPU yet.
    ///
    /// # Panics
    /// Without a C compiler.
    pub fn new(release: NvmlRelease) -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../stubs/nvml/nvml_stub.c");
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-Wl,-soname,libnvidia-ml.so.1"]);
        match release {
            NvmlRelease::Present => {}
            NvmlRelease::Old => drop(compiler.arg("-DOLD_DRIVER")),
            NvmlRelease::Another => drop(compiler.arg("-DNO_CALLS")),
        }
        let stub = Self { folder, scenario: BTreeMap::new() };
        let done = compiler.arg("-o").arg(stub.library()).arg(source).arg("-ldl").output();
        match done {
            Ok(done) if done.status.success() => {}
            Ok(done) => panic!("the stub of NVML is not compiled: {}", String::from_utf8_lossy(&done.stderr)),
            Err(error) => panic!("the stub of NVML needs a C compiler (cc): {error}"),
        }
        stub
    }

    /// The library's file.
    pub fn library(&self) -> PathBuf {
        self.folder.path().join("libnvidia-ml.so.1")
    }

    /// Sets what it answers from now on; the keys stand in the stub's source.
    ///
    /// # Panics
    /// When the file cannot be written.
    pub fn set(&mut self, answers: &[(&str, &str)]) {
        self.scenario.extend(answers.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
        self.write();
    }

    /// Takes answers back: the stub says then that this is not supported.
    ///
    /// # Panics
    /// When the file cannot be written.
    pub fn unset(&mut self, keys: &[&str]) {
        self.scenario.retain(|key, _| !keys.contains(&key.as_str()));
        self.write();
    }

    /// The calls that were made so far.
    pub fn calls(&self) -> BTreeSet<String> {
        let calls = std::fs::read_to_string(self.folder.path().join("calls")).unwrap_or_default();
        calls.lines().map(str::to_owned).collect()
    }

    /// In one step: a call must not read half of it.
    fn write(&self) {
        let lines: String = self.scenario.iter().map(|(key, value)| format!("{key}={value}\n")).collect();
        let new = self.folder.path().join("scenario.new");
        std::fs::write(&new, lines).expect("the scenario can be written");
        std::fs::rename(&new, self.folder.path().join("scenario")).expect("the scenario can be replaced");
    }
}
