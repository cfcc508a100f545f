//! Files that are written once, for their owner alone, and never over others.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Names that are tried before giving up.
const TRIES: usize = 100;

/// Writes texts into files beside each other, each given by its ending: `STEM.ENDING`, or `STEM-2.ENDING` where one of
/// these is taken, and so on. Returns their path without the ending. They name keys and addresses, so only their owner
/// may read them. When one cannot be written none is left; fails too when a hundred names are taken.
pub(crate) fn write_new(stem: &Path, files: &[(&str, &str)]) -> io::Result<PathBuf> {
    for number in 1..=TRIES {
        let stem = match number {
            1 => stem.to_owned(),
            _ => PathBuf::from(format!("{}-{number}", stem.display())),
        };
        match write_all(&stem, files) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            written => return written.map(|()| stem),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

fn write_all(stem: &Path, files: &[(&str, &str)]) -> io::Result<()> {
    let mut begun = vec![];
    let written = files.iter().try_for_each(|(ending, text)| {
        let path = PathBuf::from(format!("{}.{ending}", stem.display()));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        begun.push(path);
        file.write_all(text.as_bytes())
    });
    if written.is_err() {
        // Half of it would be taken for the whole; that it cannot be removed is less than that it was not written.
        begun.iter().for_each(|path| drop(std::fs::remove_file(path)));
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_which_one_ending_is_taken_is_left_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let stem = folder.path().join("a");
        std::fs::write(folder.path().join("a.json"), "theirs").unwrap();
        let written = write_new(&stem, &[("md", "ours"), ("json", "{}")]).unwrap();
        assert_eq!(written, folder.path().join("a-2"));
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).ok();
        assert_eq!(read("a.json").as_deref(), Some("theirs"));
        assert_eq!(read("a.md"), None, "no half is left");
        assert_eq!((read("a-2.md").as_deref(), read("a-2.json").as_deref()), (Some("ours"), Some("{}")));
    }
}
