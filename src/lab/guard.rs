//! The lab's folder, and a guard that removes it and ends the servers in it whatever becomes of the lab.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use rand::Rng;

/// Reads the servers' process ids until the lab closes the pipe or dies, which is the same thing to it. A number
/// that has passed to a process elsewhere is left alone, where that can be seen.
const SCRIPT: &str = r#"
trap '' INT TERM HUP
servers=
while read -r line; do
    [ "$line" = done ] && exit 0
    servers="$servers $line"
done
for server in $servers; do
    case "$(readlink "/proc/$server/cwd" 2>/dev/null)" in
        "$1"/* | '') kill -9 "$server" 2>/dev/null ;;
    esac
done
rm -rf -- "$1" 2>/dev/null || { sleep 1; rm -rf -- "$1"; }
"#;

/// A folder of its own, gone with everything that runs in it when this is dropped or this process dies.
#[derive(Debug)]
pub(super) struct Guard {
    folder: PathBuf,
    shell: Child,
    pipe: Option<ChildStdin>,
}

impl Guard {
    /// Makes the folder and starts the guard.
    pub(super) fn start() -> io::Result<Self> {
        let name = format!("headwater-lab-{}-{:08x}", std::process::id(), rand::rng().random::<u32>());
        let folder = std::env::temp_dir().canonicalize()?.join(name);
        std::fs::create_dir(&folder)?;
        // A process group of its own: a ctrl-c in the terminal is for the lab, not for its guard.
        let mut shell = Command::new("sh")
            .args(["-c", SCRIPT, "headwater-lab-guard"])
            .arg(&folder)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        let pipe = shell.stdin.take();
        Ok(Self { folder, shell, pipe })
    }

    /// The folder.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Hands a process to the guard.
    pub(super) fn watch(&mut self, process: u32) -> io::Result<()> {
        self.pipe.as_mut().map_or(Ok(()), |pipe| writeln!(pipe, "{process}"))
    }

    /// Removes the folder once every process in it has ended, and sends the guard home.
    pub(super) fn all_ended(mut self) -> io::Result<()> {
        std::fs::remove_dir_all(&self.folder)?;
        if let Some(pipe) = self.pipe.as_mut() {
            writeln!(pipe, "done")?;
        }
        Ok(())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // Closing the pipe is the signal; the guard then does what is left to do, and is waited for so that
        // nothing outlives this value.
        self.pipe = None;
        let _ = self.shell.wait();
    }
}
