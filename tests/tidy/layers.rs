//! Who may know whom: the arrows of the house, read from the manifests.

use toml::{Table, Value};

use super::house::{assert_none, read, root};

/// What a crate of the house may depend on. Everything else is a breach: the core stays pure because nothing impure
/// can be reached from it.
struct Layer {
    folder: &'static str,
    name: &'static str,
    /// Normal dependencies, ours and others'.
    may_use: &'static [&'static str],
}

const LAYERS: &[Layer] = &[
    Layer { folder: "src/engine", name: "headwater-engine", may_use: &["serde", "winnow"] },
    Layer { folder: "widgets", name: "headwater-widgets", may_use: &["ratatui"] },
    Layer {
        folder: "panels",
        name: "headwater-panels",
        may_use: &["headwater-engine", "headwater-widgets", "ratatui", "tui-big-text", "tui-textarea"],
    },
    // Servers for tests: nobody but tests may use it, and of ours it knows only the readings it waits for.
    Layer {
        folder: "tests/support",
        name: "headwater-test-support",
        may_use: &[
            "headwater-engine",
            "portable-pty",
            "prometheus-parse",
            "rcgen",
            "redis",
            "rustix",
            "serde_json",
            "tempfile",
            "tokio",
            "vt100",
        ],
    },
];

/// The root package, which may use everything and which nobody may use.
const ROOT: &str = "headwater";

fn breaches_of(layer: &Layer, manifest: &Table) -> Vec<String> {
    let mut breaches = vec![];
    let name = manifest.get("package").and_then(|package| package.get("name")).and_then(Value::as_str);
    if name != Some(layer.name) {
        breaches.push(format!("{}: its package must be named '{}'", layer.folder, layer.name));
    }
    for (section, dependency) in dependencies(manifest) {
        let is_ours = dependency == ROOT || dependency.starts_with("headwater-");
        let is_test = section == "dev-dependencies";
        if dependency == ROOT {
            breaches.push(format!("{}: nothing may depend on the application", layer.folder));
        } else if section.contains("target") || section.contains("build") {
            breaches
                .push(format!("{}: '{dependency}' stands in [{section}]; use [dependencies]", layer.folder));
        } else if !layer.may_use.contains(&dependency.as_str()) && (!is_test || is_ours) {
            breaches.push(format!(
                "{}: '{dependency}' is not among what this layer may use: {}",
                layer.folder,
                layer.may_use.join(", ")
            ));
        }
    }
    if manifest.get("lib").and_then(|lib| lib.get("path")).and_then(Value::as_str) != Some("lib.rs") {
        breaches.push(format!(
            "{}: needs [lib] path = \"lib.rs\", so that its folder lists its modules",
            layer.folder
        ));
    }
    let lints = manifest.get("lints").and_then(|lints| lints.get("workspace")).and_then(Value::as_bool);
    if lints != Some(true) {
        breaches.push(format!("{}: needs [lints] workspace = true", layer.folder));
    }
    breaches
}

/// Every dependency with the section it stands in.
fn dependencies(manifest: &Table) -> Vec<(String, String)> {
    let mut found = vec![];
    for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
        let names = manifest.get(section).and_then(Value::as_table).into_iter().flat_map(Table::keys);
        found.extend(names.map(|name| (section.to_owned(), name.clone())));
    }
    for (target, table) in manifest.get("target").and_then(Value::as_table).into_iter().flatten() {
        let names = table.as_table().map(dependencies).unwrap_or_default();
        found.extend(names.into_iter().map(|(section, name)| (format!("target.{target}.{section}"), name)));
    }
    found
}

/// Members are written out, each is built by default unless it is for tests alone, and each has its layer.
fn breaches_of_workspace(manifest: &Table) -> Vec<String> {
    let list = |key: &str| -> Vec<String> {
        let values =
            manifest.get("workspace").and_then(|workspace| workspace.get(key)).and_then(Value::as_array);
        values.into_iter().flatten().filter_map(|value| value.as_str().map(str::to_owned)).collect()
    };
    let mut breaches = vec![];
    let (members, default) = (list("members"), list("default-members"));
    for member in &members {
        if member.contains('*') {
            breaches.push(format!("member '{member}' must be written out"));
        }
        if member != "." && !LAYERS.iter().any(|layer| layer.folder == member) {
            breaches
                .push(format!("member '{member}' has no layer: add it to LAYERS in tests/tidy/layers.rs"));
        }
        if !default.contains(member) && !member.starts_with("tests/") {
            breaches.push(format!("member '{member}' is missing from default-members"));
        }
    }
    for layer in LAYERS {
        if !members.iter().any(|member| member == layer.folder) {
            breaches.push(format!("'{}' has a layer and is no member", layer.folder));
        }
    }
    breaches
}

fn parsed(text: &str) -> Table {
    text.parse().expect("a manifest is TOML")
}

#[test]
fn every_crate_uses_only_what_its_layer_may() {
    let mut breaches = breaches_of_workspace(&parsed(&read("Cargo.toml")));
    for layer in LAYERS {
        breaches.extend(breaches_of(layer, &parsed(&read(&format!("{}/Cargo.toml", layer.folder)))));
    }
    assert_none(&breaches);
}

#[test]
fn pure_crates_have_their_own_list_of_what_is_forbidden() {
    for folder in ["src/engine", "widgets", "panels"] {
        let rules = read(&format!("{folder}/clippy.toml"));
        for forbidden in ["std::time::Instant::now", "std::time::SystemTime::now", "std::fs::read_to_string"]
        {
            assert!(rules.contains(forbidden), "'{folder}/clippy.toml' does not forbid {forbidden}");
        }
    }
}

#[test]
fn no_file_hides_a_crate_from_its_folder() {
    // `src/engine.rs` beside `src/engine/` would make the core a module of the application.
    assert!(
        !root().join("src/engine.rs").exists(),
        "src/engine is a crate: move what is in src/engine.rs into it"
    );
}

#[test]
fn a_breach_of_a_layer_is_seen() {
    let engine = &LAYERS[0];
    let sound =
        "[package]\nname = \"headwater-engine\"\n[lib]\npath = \"lib.rs\"\n[lints]\nworkspace = true\n";
    assert_eq!(breaches_of(engine, &parsed(&format!("{sound}[dependencies]\nserde = \"1\"\n"))), [""; 0]);
    for breach in [
        "[dependencies]\ntokio = \"1\"\n",
        "[dependencies]\nheadwater-widgets.workspace = true\n",
        "[dev-dependencies]\nheadwater = { path = \"../..\" }\n",
        "[dev-dependencies]\nheadwater-panels.workspace = true\n",
        "[target.'cfg(unix)'.dependencies]\nserde = \"1\"\n",
        "[build-dependencies]\nserde = \"1\"\n",
    ] {
        assert_eq!(breaches_of(engine, &parsed(&format!("{sound}{breach}"))).len(), 1, "not seen: {breach}");
    }
    assert_eq!(breaches_of(engine, &parsed("[package]\nname = \"other\"\n")).len(), 3);
}

#[test]
fn a_breach_of_the_workspace_is_seen() {
    let folders = "\".\", \"src/engine\", \"widgets\", \"panels\"";
    let workspace = |members: &str, default: &str| {
        breaches_of_workspace(&parsed(&format!(
            "[workspace]\nmembers = [{members}]\ndefault-members = [{default}]\n"
        )))
    };
    assert_eq!(workspace(&format!("{folders}, \"tests/support\""), folders), [""; 0]);
    assert_eq!(workspace(&format!("{folders}, \"tests/support\", \"other\""), folders).len(), 2);
    assert_eq!(workspace(&format!("{folders}, \"tests/*\""), folders).len(), 3);
    assert_eq!(workspace(folders, "\".\"").len(), 4);
}
