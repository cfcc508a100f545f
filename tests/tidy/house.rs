//! The files of the house, read once for every checker.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders that hold what is made, not what is written.
const MADE: &[&str] = &[".git", "target", "artifacts", "corpus", "coverage", "mutants.out"];

/// The folder of the repository.
pub(super) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A text file of the repository.
pub(super) struct File {
    /// Its path from the root, with `/`.
    pub(super) path: String,
    /// Its text.
    pub(super) text: String,
}

/// Files that are input for tests, with whatever flaws they show.
const INPUTS: &[&str] = &["fuzz/seeds/"];

/// Every file that is text, sorted by path.
pub(super) fn files() -> Vec<File> {
    let mut paths = vec![];
    walk(root(), &mut paths);
    paths.sort();
    let files: Vec<File> = paths
        .into_iter()
        .filter_map(|path| {
            let text = String::from_utf8(fs::read(&path).ok()?).ok()?;
            let inside = path.strip_prefix(root()).ok()?;
            Some(File { path: inside.to_string_lossy().replace('\\', "/"), text })
        })
        .filter(|file| !INPUTS.iter().any(|folder| file.path.starts_with(folder)))
        .collect();
    assert!(files.len() > 50, "only {} files were found: the walk is broken", files.len());
    files
}

/// Every Rust file.
pub(super) fn rust_files() -> Vec<File> {
    files().into_iter().filter(|file| file.path.ends_with(".rs")).collect()
}

/// A file of the repository that must be there.
pub(super) fn read(path: &str) -> String {
    let file = root().join(path);
    assert!(file.is_file(), "'{path}' is missing");
    fs::read_to_string(file).expect("a file of the house is text")
}

/// Fails with all breaches at once, one a line.
pub(super) fn assert_none(breaches: &[String]) {
    assert!(breaches.is_empty(), "\n{}\n", breaches.join("\n"));
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).expect("a folder of the house can be read");
    for entry in entries.flatten() {
        let path = entry.path();
        let is_made = MADE.iter().any(|made| entry.file_name() == *made);
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && !is_made => walk(&path, found),
            // In a work tree `.git` is a file, and not one of ours.
            Ok(kind) if kind.is_file() && !is_made => found.push(path),
            _ => {}
        }
    }
}
