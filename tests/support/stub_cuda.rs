//! A stub of the CUDA driver, compiled from C: it proves what the host does with a driver, and nothing about a GPU.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A stub of the CUDA driver in a folder of its own, with what it has in store.
#[derive(Debug)]
pub struct StubCuda {
    folder: tempfile::TempDir,
}

impl StubCuda {
    /// Compiles the stub. Without a scenario it is one GPU that does what it is asked.
    ///
    /// # Panics
    /// Without a C compiler.
    pub fn new() -> Self {
        Self::compiled(&[])
    }

    /// One of a driver that lacks a function.
    ///
    /// # Panics
    /// Without a C compiler.
    pub fn without_memory_info() -> Self {
        Self::compiled(&["-DWITHOUT_MEMORY_INFO"])
    }

    fn compiled(options: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../stubs/cuda/libcuda_stub.c");
        let library = folder.path().join("libcuda.so.1");
        let mut compiler = Command::new("cc");
        compiler.args([
            "-std=c11",
            "-O2",
            "-shared",
            "-fPIC",
            "-fvisibility=hidden",
            "-Wl,-soname,libcuda.so.1",
        ]);
        match compiler.args(options).arg("-o").arg(library).arg(source).output() {
            Ok(done) if done.status.success() => Self { folder },
            Ok(done) => panic!("the stub of CUDA is not compiled: {}", String::from_utf8_lossy(&done.stderr)),
            Err(error) => panic!("the stub of CUDA needs a C compiler (cc): {error}"),
        }
    }

    /// The variables by which a program finds this stub, or no driver at all; `folder` is where files are put that hide the
    /// real one, where a developer has it.
    ///
    /// # Panics
    /// When they cannot be written.
    pub fn variables(stub: Option<&Self>, folder: &Path) -> Vec<(&'static str, OsString)> {
        let nothing = folder.join("libraries");
        std::fs::create_dir_all(&nothing).expect("a folder can be made");
        for name in ["libcuda.so", "libcuda.so.1", "libnvidia-ml.so.1"] {
            std::fs::write(nothing.join(name), "no library").expect("a file can be written");
        }
        // A machine of its own: what another test measures is none of its GPUs.
        let locks = ("HEADWATER_LOCKS", folder.as_os_str().to_owned());
        let Some(stub) = stub else { return vec![locks, ("LD_LIBRARY_PATH", nothing.into_os_string())] };
        let folders = [stub.folder().as_os_str(), nothing.as_os_str()].join(OsStr::new(":"));
        let scenario = ("HEADWATER_CUDA_STUB", stub.scenario_file().into_os_string());
        vec![locks, scenario, ("LD_LIBRARY_PATH", folders)]
    }

    /// The folder to put into `LD_LIBRARY_PATH`.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The file to name in `HEADWATER_CUDA_STUB`.
    pub fn scenario_file(&self) -> PathBuf {
        self.folder.path().join("scenario")
    }

    /// Sets what it has in store from now on; the keys stand in the stub's source.
    ///
    /// # Panics
    /// When the file cannot be written.
    pub fn set(&self, scenario: &str) {
        // Put into place as a whole: the stub reads it at any moment.
        let beside = self.folder.path().join("scenario.new");
        std::fs::write(&beside, scenario).expect("a scenario can be written");
        std::fs::rename(beside, self.scenario_file()).expect("a scenario can be put into place");
    }

    /// The calls that were made, where the scenario has `log FILE` with [`StubCuda::log_file`].
    pub fn calls(&self) -> Vec<String> {
        let log = std::fs::read_to_string(self.log_file()).unwrap_or_default();
        log.lines().map(str::to_owned).collect()
    }

    /// Where calls can be logged.
    pub fn log_file(&self) -> PathBuf {
        self.folder.path().join("calls")
    }
}

impl Default for StubCuda {
    fn default() -> Self {
        Self::new()
    }
}
