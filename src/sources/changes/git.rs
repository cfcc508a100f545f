//! The log of a local repository, asked of `git` with fixed arguments.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use headwater_engine::RemoteText;
use headwater_engine::reading::{Fault, FaultKind};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;

use super::decode::GIT_FORMAT;
use crate::sources::LONGEST_WAIT;

/// Commits that are asked for; of more the newest.
const MOST_COMMITS: usize = 500;

/// The longest log, in bytes, that is read.
const LONGEST_LOG: u64 = 4 * 1024 * 1024;

/// The longest words of an error, in bytes, that are kept.
const LONGEST_WORDS: u64 = 4_096;

/// A repository and what is asked of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    /// Its folder.
    pub path: PathBuf,
    /// The branch, tag or commit whose history counts; what is checked out when absent.
    pub branch: Option<String>,
}

/// Whether a text can be the name of a branch: none that git would take for an option or a range.
pub fn is_branch(name: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '-' | '_' | '.' | '+' | '@' | '#');
    !name.is_empty() && !name.starts_with('-') && !name.contains("..") && name.chars().all(is_plain)
}

/// The log of the last `days`. It only reads: no hook, no pager, no prompt, no signature check, no shell.
pub(super) async fn log(repository: &Repository, days: u64) -> Result<Vec<u8>, Fault> {
    let shown = repository.path.display();
    let mut command = Command::new("git");
    // Set by a hook or an alias that started us, they would name another repository than the configuration does.
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"GIT_")) {
        command.env_remove(name);
    }
    command
        .arg("--no-pager")
        .arg("-C")
        .arg(&repository.path)
        .args(["-c", "log.showSignature=false", "-c", "core.fsmonitor=false", "log", "-z", "--no-color"])
        .arg(format!("--format={GIT_FORMAT}"))
        .arg(format!("--since={days}.days"))
        .arg(format!("--max-count={MOST_COMMITS}"))
        .arg(repository.branch.as_deref().unwrap_or("HEAD"))
        .arg("--")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let mut child = command.spawn().map_err(|error| {
        let message = format!("git cannot be run ({error}): install it, or tell changes by a file or a url");
        fault(FaultKind::Unreachable, &message)
    })?;
    let (mut out, mut err) = (vec![], vec![]);
    let asked = async {
        if let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) {
            // Both at once: a full pipe would stop git for ever.
            let mut stdout = stdout.take(LONGEST_LOG);
            tokio::try_join!(stdout.read_to_end(&mut out), beginning(stderr, &mut err))?;
        }
        child.wait().await
    };
    match tokio::time::timeout(LONGEST_WAIT, asked).await {
        Err(_) => Err(fault(
            FaultKind::Silent,
            &format!(
                "git says nothing of '{shown}' within 10 s and was ended: is the repository on a slow disk?"
            ),
        )),
        Ok(Err(error)) => Err(fault(FaultKind::Unreachable, &format!("git at '{shown}': {error}"))),
        Ok(Ok(status)) if status.success() || out.len() as u64 >= LONGEST_LOG => Ok(out),
        Ok(Ok(_)) => Err(refusal(&repository.path, repository.branch.as_deref(), &err)),
    }
}

/// Reads to the end and keeps the beginning.
async fn beginning(mut from: impl AsyncRead + Unpin, kept: &mut Vec<u8>) -> io::Result<usize> {
    (&mut from).take(LONGEST_WORDS).read_to_end(kept).await?;
    let rest = tokio::io::copy(&mut from, &mut tokio::io::sink()).await?;
    Ok(kept.len().saturating_add(usize::try_from(rest).unwrap_or(usize::MAX)))
}

/// What git said, in one sentence with the fix.
fn refusal(path: &Path, branch: Option<&str>, err: &[u8]) -> Fault {
    let said = RemoteText::from_bytes(err.split(|byte| *byte == b'\n').next().unwrap_or_default());
    let said = said.as_str().trim_start_matches("fatal: ");
    let fix = if said.contains("not a git repository") || said.contains("cannot change to") {
        "write the folder of a repository as 'git'"
    } else if said.contains("dubious ownership") {
        "the repository belongs to another user: add it to safe.directory of git's configuration"
    } else if branch.is_some() {
        "is the branch right?"
    } else {
        "try 'git log' there"
    };
    fault(FaultKind::Denied, &format!("git at '{}': {said}: {fix}", path.display()))
}

fn fault(kind: FaultKind, message: &str) -> Fault {
    Fault { kind, message: RemoteText::new(message) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn of_many_words_the_beginning_is_kept_and_the_rest_is_taken_off_the_pipe() {
        let (mut from, mut into) = tokio::io::duplex(1_024);
        let said = tokio::spawn(async move {
            tokio::io::AsyncWriteExt::write_all(&mut into, &vec![b'x'; 1_000_000]).await
        });
        let mut kept = vec![];
        assert_eq!(beginning(&mut from, &mut kept).await.unwrap(), 1_000_000);
        assert_eq!(kept.len(), 4_096);
        said.await.unwrap().unwrap();
    }

    #[test]
    fn a_branch_is_no_option_and_no_range() {
        for name in ["main", "release/1.2", "v1.0+2", "HEAD@", "fix-#12"] {
            assert!(is_branch(name), "{name}");
        }
        for name in ["", "--output=x", "-p", "a..b", "a b", "a:b", "a;b", "$(x)", "^main", "a\nb"] {
            assert!(!is_branch(name), "{name}");
        }
    }
}
