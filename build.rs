//! Embeds whole folders of TOML files, so that a new file there needs no line of code.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// A folder and the constant that lists its files as `(name, text)`.
const EMBEDDED: &[(&str, &str)] = &[
    ("assets/cases", "CASE_FILES"),
    ("assets/dialects", "DIALECT_FILES"),
    ("assets/remedies", "REMEDY_FILES"),
    ("assets/runbooks", "RUNBOOK_FILES"),
    ("themes", "THEME_FILES"),
];

fn main() -> io::Result<()> {
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?);
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or(io::ErrorKind::NotFound)?);
    for (folder, constant) in EMBEDDED {
        let folder = root.join(folder);
        let code = listing(&folder, constant)?;
        fs::write(out.join(format!("{}.rs", constant.to_lowercase())), code)?;
        io::Write::write_all(
            &mut io::stdout(),
            format!("cargo::rerun-if-changed={}\n", folder.display()).as_bytes(),
        )?;
    }
    Ok(())
}

fn listing(folder: &Path, constant: &str) -> io::Result<String> {
    let mut files = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    let mut code = format!("const {constant}: &[(&str, &str)] = &[\n");
    for path in files {
        let name = path.file_name().unwrap_or_default();
        // Writing to a String cannot fail.
        let _ = writeln!(code, "    ({name:?}, include_str!({path:?})),");
    }
    code.push_str("];\n");
    Ok(code)
}
