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

    /// One that lists so many healthy GPUs.
    ///
    /// # Panics
    /// Without a C compiler.
    pub fn with_gpus(release: NvmlRelease, gpus: u32) -> Self {
        let mut stub = Self::new(release);
        (0..gpus).for_each(|index| stub.heal(index));
        stub.set(&[("count", &gpus.to_string())]);
        stub
    }

    /// Has a GPU answer as a healthy one does; the numbers of each differ by its index.
    ///
    /// # Panics
    /// When the file cannot be written.
    pub fn heal(&mut self, index: u32) {
        let own = |key: &str| format!("{index}.{key}");
        let answers = [
            ("uuid", format!("GPU-stub-{index}")),
            ("name", "NVIDIA H100 80GB HBM3".to_owned()),
            ("bus", format!("00000000:{:02X}:00.0", 0x17 + index)),
            ("utilization", (90 + index).to_string()),
            ("utilization.memory", (40 + index).to_string()),
            ("memory.total", "85899345920".to_owned()),
            ("memory.reserved", "1000".to_owned()),
            ("memory.used", (12_000_000_000_u64 + u64::from(index)).to_string()),
            ("temperature.0", (60 + index).to_string()),
            ("power", (300_500 + 1_000 * index).to_string()),
            ("power.limit", "700000".to_owned()),
            ("clock.1", (1_700 + index).to_string()),
            ("clock.2", "2619".to_owned()),
            ("clock.max.1", "1980".to_owned()),
            ("reasons", "0x1".to_owned()),
            ("pcie.rate.0", "2048".to_owned()),
            ("pcie.rate.1", "1024".to_owned()),
            ("pcie.generation", "5".to_owned()),
            ("pcie.generation.max", "5".to_owned()),
            ("pcie.width", "16".to_owned()),
            ("pcie.width.max", "16".to_owned()),
            ("pcie.replays", index.to_string()),
            ("ecc.0.0", "7".to_owned()),
            ("ecc.1.0", "1".to_owned()),
            ("rows", "3,2,1,0".to_owned()),
            ("link.0", "1".to_owned()),
            ("link.1", "1".to_owned()),
            ("link.2", "0".to_owned()),
            ("link.0.errors.0", "1".to_owned()),
            ("link.1.errors.0", "2".to_owned()),
            ("link.0.errors.1", "0".to_owned()),
            ("link.1.errors.1", "0".to_owned()),
            ("link.0.errors.2", "4".to_owned()),
            ("link.1.errors.2", "5".to_owned()),
            ("link.0.errors.3", "0".to_owned()),
            ("link.1.errors.3", "0".to_owned()),
            ("processes", format!("{}:9000000000 {}:1000000", 4_000 + index, 5_000 + index)),
            ("field.74", "2000000000".to_owned()),
            ("field.76", "0".to_owned()),
            ("field.251", "3500000000".to_owned()),
            ("field.252", "0".to_owned()),
            ("field.253", "0".to_owned()),
        ];
        let answers: Vec<(String, String)> =
            answers.into_iter().map(|(key, value)| (own(key), value)).collect();
        let answers: Vec<(&str, &str)> = answers.iter().map(|(key, value)| (&**key, &**value)).collect();
        self.set(&answers);
        self.set(&[(&format!("process.{}", 4_000 + index), "/opt/bin/tritonserver --model-store /models")]);
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
