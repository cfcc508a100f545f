//! A file that others append to, followed through appending, truncation and rotation.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Bytes that are read at once, and the most of a file that is read when it is met: older entries are too old anyway.
const MOST_AT_ONCE: u64 = 4 * 1024 * 1024;

/// A line that is longer is left out.
const LONGEST_LINE: usize = 64 * 1024;

/// Bytes of a file's beginning by which it is told from another one that took its place.
const HEAD: usize = 128;

/// A file and how far it was read.
#[derive(Debug)]
pub struct Follower {
    path: PathBuf,
    at: Option<Place>,
    /// Whether what is in the file when it is first looked for is left out.
    skips_past: bool,
}

/// Where reading stands.
#[derive(Debug)]
struct Place {
    file: File,
    identity: (u64, u64),
    offset: u64,
    head: Vec<u8>,
    /// The beginning of a line whose end has not come yet.
    rest: Vec<u8>,
    /// Whether the line in `rest` is too long and is left out up to its end.
    is_skipping: bool,
    /// The number of the last whole line.
    line: usize,
}

/// A line with its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbered {
    /// Its number from 1; in a file of which the beginning was left out, from where reading began.
    pub number: usize,
    /// Its bytes without the line end; `None` when it is too long.
    pub bytes: Option<Vec<u8>>,
}

/// What is new in a file.
#[derive(Debug, Default)]
pub struct News {
    /// Whole lines that came since the last look.
    pub lines: Vec<Numbered>,
    /// A last line that has no end yet.
    pub unfinished: Option<Numbered>,
    /// Whether the file is another one than at the last look, or began anew: what was wrong in it no longer is.
    pub is_another: bool,
}

impl Follower {
    /// A file that was not looked at yet.
    pub fn new(path: PathBuf) -> Self {
        Self { path, at: None, skips_past: false }
    }

    /// A file of which only what comes from now on is read; one that comes later is read from its beginning.
    pub fn from_now_on(path: PathBuf) -> Self {
        Self { skips_past: true, ..Self::new(path) }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Looks for what is new. Fails when the file cannot be read; then what was read of it stays read.
    pub fn look(&mut self) -> io::Result<News> {
        let mut news = News::default();
        let skips_past = std::mem::take(&mut self.skips_past);
        let metadata = std::fs::metadata(&self.path)?;
        let identity = (metadata.dev(), metadata.ino());
        if let Some(place) = &mut self.at {
            let is_moved = place.identity != identity;
            if is_moved {
                // What was written before the file was moved away is still read.
                place.read(&mut news)?;
            } else if !place.is_same(metadata.len())? {
                self.at = None;
            }
            if is_moved {
                self.at = None;
            }
            news.is_another = self.at.is_none();
        }
        if self.at.is_none() {
            let file = File::open(&self.path)?;
            let mut place = Place::of(file)?;
            if skips_past {
                place.skip_to_end()?;
            }
            self.at = Some(place);
        }
        if let Some(place) = &mut self.at {
            place.read(&mut news)?;
            news.unfinished = (!place.rest.is_empty() && !place.is_skipping)
                .then(|| Numbered { number: place.line + 1, bytes: Some(place.rest.clone()) });
        }
        Ok(news)
    }
}

impl Place {
    fn of(mut file: File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let offset = metadata.len().saturating_sub(MOST_AT_ONCE);
        let head = head(&mut file)?;
        Ok(Self {
            identity: (metadata.dev(), metadata.ino()),
            file,
            offset,
            head,
            rest: vec![],
            // The middle of a line is none.
            is_skipping: offset > 0,
            line: 0,
        })
    }

    /// Leaves out what is there; a line that is being written is left out too.
    fn skip_to_end(&mut self) -> io::Result<()> {
        let end = self.file.seek(SeekFrom::End(0))?;
        self.offset = end;
        let mut last = [b'\n'];
        if end > 0 {
            self.file.seek(SeekFrom::Start(end - 1))?;
            self.file.read_exact(&mut last)?;
        }
        self.is_skipping = last != [b'\n'];
        Ok(())
    }

    /// Whether the file still holds what was read of it: it is not shorter, and begins alike.
    fn is_same(&mut self, length: u64) -> io::Result<bool> {
        if length < self.offset {
            return Ok(false);
        }
        let now = head(&mut self.file)?;
        let is_same = now.starts_with(&self.head);
        self.head = now;
        Ok(is_same)
    }

    fn read(&mut self, news: &mut News) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.offset))?;
        let mut bytes = vec![];
        (&mut self.file).take(MOST_AT_ONCE).read_to_end(&mut bytes)?;
        self.offset += bytes.len() as u64;
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let is_whole = piece.ends_with(b"\n");
            let text = piece.strip_suffix(b"\n").unwrap_or(piece);
            if !self.is_skipping {
                self.rest.extend_from_slice(text.get(..LONGEST_LINE + 1).unwrap_or(text));
            }
            let is_too_long = self.rest.len() > LONGEST_LINE;
            if !is_whole {
                if is_too_long {
                    self.rest.clear();
                    self.is_skipping = true;
                    news.lines.push(Numbered { number: self.line + 1, bytes: None });
                }
                break;
            }
            self.line += 1;
            let was_skipped = std::mem::take(&mut self.is_skipping);
            let line = std::mem::take(&mut self.rest);
            if !was_skipped {
                news.lines.push(Numbered { number: self.line, bytes: (!is_too_long).then_some(line) });
            }
        }
        Ok(())
    }
}

fn head(file: &mut File) -> io::Result<Vec<u8>> {
    let mut head = vec![];
    file.seek(SeekFrom::Start(0))?;
    file.take(HEAD as u64).read_to_end(&mut head)?;
    Ok(head)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    struct Log {
        folder: tempfile::TempDir,
        follower: Follower,
    }

    impl Log {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let follower = Follower::new(folder.path().join("log"));
            Self { folder, follower }
        }

        fn path(&self) -> PathBuf {
            self.folder.path().join("log")
        }

        fn append(&self, text: &str) {
            let mut file = File::options().create(true).append(true).open(self.path()).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        }

        /// The new lines, with their numbers.
        fn look(&mut self) -> Vec<(usize, String)> {
            let lines = self.follower.look().unwrap().lines.into_iter();
            lines
                .map(|line| (line.number, String::from_utf8(line.bytes.unwrap_or_default()).unwrap()))
                .collect()
        }
    }

    fn rows(rows: &[(usize, &str)]) -> Vec<(usize, String)> {
        rows.iter().map(|(number, text)| (*number, (*text).to_owned())).collect()
    }

    #[test]
    fn lines_come_once_and_whole() {
        let mut log = Log::new();
        assert!(log.follower.look().is_err(), "it is not there yet");
        log.append("one\ntw");
        assert_eq!(log.look(), rows(&[(1, "one")]));
        assert_eq!(log.follower.look().unwrap().unfinished.unwrap().bytes.unwrap(), b"tw");
        log.append("o\nthree\n");
        assert_eq!(log.look(), rows(&[(2, "two"), (3, "three")]));
        assert_eq!(log.look(), rows(&[]));
    }

    #[test]
    fn from_now_on_the_past_is_left_out_and_a_file_that_comes_later_has_none() {
        let mut log = Log::new();
        log.append("old\nbeing writ");
        log.follower = Follower::from_now_on(log.path());
        assert_eq!(log.look(), rows(&[]));
        log.append("ten\nnew\n");
        assert_eq!(log.look(), rows(&[(2, "new")]));
        let mut later = Log::new();
        later.follower = Follower::from_now_on(later.path());
        assert!(later.follower.look().is_err());
        later.append("first\n");
        assert_eq!(later.look(), rows(&[(1, "first")]));
    }

    #[test]
    fn a_file_that_is_moved_away_is_read_to_its_end_and_the_new_one_from_its_beginning() {
        let mut log = Log::new();
        log.append("one\n");
        log.look();
        log.append("two\n");
        std::fs::rename(log.path(), log.folder.path().join("log.1")).unwrap();
        log.append("three\n");
        let news = log.follower.look().unwrap();
        assert!(news.is_another);
        let lines: Vec<_> = news.lines.iter().map(|line| line.bytes.clone().unwrap()).collect();
        assert_eq!(lines, [b"two".to_vec(), b"three".to_vec()]);
    }

    #[test]
    fn a_file_that_is_emptied_or_overwritten_begins_anew() {
        let mut log = Log::new();
        log.append("one\ntwo\n");
        log.look();
        std::fs::write(log.path(), "3\n").unwrap();
        assert_eq!(log.look(), rows(&[(1, "3")]));
        // Longer than what was read before: only its beginning tells that it is another.
        std::fs::write(log.path(), "four\nfive\nsix\n").unwrap();
        assert_eq!(log.look(), rows(&[(1, "four"), (2, "five"), (3, "six")]));
    }

    #[test]
    fn a_line_without_an_end_is_bounded_and_costs_no_other() {
        let mut log = Log::new();
        log.append(&"x".repeat(LONGEST_LINE + 10));
        let news = log.follower.look().unwrap();
        assert_eq!((news.lines[0].number, &news.lines[0].bytes, news.unfinished), (1, &None, None));
        log.append("xxx\nnext\n");
        assert_eq!(log.look(), rows(&[(2, "next")]));
    }

    #[test]
    fn of_a_long_file_the_end_is_read() {
        let mut log = Log::new();
        log.append(&"0123456789\n".repeat(1_000_000));
        let lines = log.look();
        assert!(lines.len() > 300_000 && lines.iter().all(|(_, line)| line == "0123456789"));
    }
}
