//! The graph as text, for Graphviz, for Mermaid, and for programs.

use std::collections::BTreeSet;
use std::fmt::Write;

use headwater_engine::flow::{Flow, critical_calls};
use headwater_engine::graph::Edge;
use headwater_engine::report::Verdict;
use headwater_engine::wording::{flow_words, origin_words, verdict_word};
use headwater_engine::{Snapshot, Subject};
use serde_json::json;

/// The version of the JSON's shape; it changes only when a field's meaning does.
pub const SCHEMA: u32 = 1;

/// The forms of a graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Form {
    /// A tree for a terminal, callers above what they call.
    #[default]
    Text,
    /// For Graphviz.
    Dot,
    /// For Mermaid, which tickets and wikis draw.
    Mermaid,
    /// For programs.
    Json,
}

/// Writes the graph of a snapshot in one form; ends with a line feed.
pub fn render(snapshot: &Snapshot, form: Form) -> String {
    match form {
        Form::Text => text(snapshot),
        Form::Dot => dot(snapshot),
        Form::Mermaid => mermaid(snapshot),
        Form::Json => serde_json::to_string_pretty(&json(snapshot)).expect("a graph is plain values") + "\n",
    }
}

fn verdict(snapshot: &Snapshot, subject: &Subject) -> Verdict {
    let row = snapshot.report.verdicts.iter().find(|row| row.subject == *subject);
    row.map_or(Verdict::Unknown, |row| row.verdict)
}

fn flow<'a>(snapshot: &'a Snapshot, edge: &Edge) -> Option<&'a Flow> {
    snapshot.flows.iter().find(|flow| flow.caller == edge.caller && flow.callee == edge.callee)
}

/// How a call is known and what goes on it, in words.
fn about(snapshot: &Snapshot, edge: &Edge) -> String {
    let mut words = vec![origin_words(edge.origin).to_owned()];
    words.extend(flow(snapshot, edge).into_iter().flat_map(flow_words));
    words.join(", ")
}

fn glyph(verdict: Verdict) -> &'static str {
    headwater_panels::palette::glyph_of(verdict)
}

fn text(snapshot: &Snapshot) -> String {
    let graph = &snapshot.graph;
    let mut out = format!(
        "{}: {} components, {} calls\n",
        snapshot.settings.name,
        graph.components().count(),
        graph.edges().count()
    );
    let mut told = BTreeSet::new();
    let entries = graph.components().filter(|one| graph.callers(one).next().is_none());
    // What only a circle leads to has no caller outside of it.
    let order = graph.dependencies_first();
    for entry in entries.chain(order.iter().rev()) {
        if !told.contains(entry) {
            out.push('\n');
            branch(snapshot, entry, &mut told, &mut out);
        }
    }
    for cycle in graph.cycles() {
        let names: Vec<&str> = cycle.iter().chain(cycle.first()).map(Subject::as_str).collect();
        let _ = write!(out, "\ncycle: {}\n", names.join(" -> "));
    }
    out
}

/// A component and everything that it calls, each once in full; the way down is kept here, as it may be long.
fn branch(snapshot: &Snapshot, entry: &Subject, told: &mut BTreeSet<Subject>, out: &mut String) {
    let mut open: Vec<(usize, Option<&Edge>, Subject)> = vec![(0, None, entry.clone())];
    while let Some((depth, edge, subject)) = open.pop() {
        let verdict = verdict(snapshot, &subject);
        let (indent, arrow) = match depth {
            0 => (0, ""),
            depth => (depth * 3 - 3, "-> "),
        };
        let _ = write!(out, "{:indent$}{arrow}{} {subject} {}", "", glyph(verdict), verdict_word(verdict));
        if let Some(edge) = edge {
            let _ = write!(out, "  ({})", about(snapshot, edge));
        }
        let calls: Vec<&Edge> = snapshot.graph.edges().filter(|edge| edge.caller == subject).collect();
        if told.insert(subject) {
            open.extend(calls.into_iter().rev().map(|edge| (depth + 1, Some(edge), edge.callee.clone())));
        } else if !calls.is_empty() {
            out.push_str("  ... as above");
        }
        out.push('\n');
    }
}

/// A text as it stands within double quotes of Graphviz.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", escaped(text))
}

fn dot(snapshot: &Snapshot) -> String {
    let mut out =
        format!("digraph {} {{\n  rankdir=LR;\n  node [shape=box];\n", quoted(&snapshot.settings.name));
    for subject in snapshot.graph.components() {
        let verdict = verdict(snapshot, subject);
        let style = match verdict {
            Verdict::Guilty => ", penwidth=4",
            Verdict::Suspect => ", penwidth=2",
            Verdict::Unknown => ", style=dashed",
            Verdict::Innocent => "",
        };
        // The line feed between them is Graphviz's own.
        let name = quoted(subject.as_str());
        let label = format!("{}\\n{}", escaped(subject.as_str()), verdict_word(verdict));
        let _ = writeln!(out, "  {name} [label=\"{label}\"{style}];");
    }
    let critical = critical_calls(&snapshot.report, &snapshot.graph);
    for edge in snapshot.graph.edges() {
        let style =
            match (critical.contains(&(edge.caller.clone(), edge.callee.clone())), edge.origin.is_hint()) {
                (true, _) => ", penwidth=3",
                (false, true) => ", style=dashed",
                (false, false) => "",
            };
        let (caller, callee) = (quoted(edge.caller.as_str()), quoted(edge.callee.as_str()));
        let _ = writeln!(out, "  {caller} -> {callee} [label={}{style}];", quoted(&about(snapshot, edge)));
    }
    out.push_str("}\n");
    out
}

/// A text within double quotes of Mermaid, which knows characters by their numbers.
fn entities(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        match character {
            '"' | '#' | '<' | '>' | '&' | '`' | '|' | '\\' | ';' => {
                let _ = write!(out, "#{};", u32::from(character));
            }
            other => out.push(other),
        }
    }
    out
}

fn mermaid(snapshot: &Snapshot) -> String {
    let mut out = "graph LR\n".to_owned();
    let components: Vec<&Subject> = snapshot.graph.components().collect();
    for (place, subject) in components.iter().enumerate() {
        let word = verdict_word(verdict(snapshot, subject));
        let _ = writeln!(out, "  n{place}[\"{}<br/>{word}\"]", entities(subject.as_str()));
    }
    let critical = critical_calls(&snapshot.report, &snapshot.graph);
    let place = |subject: &Subject| components.binary_search(&subject).unwrap_or_default();
    for edge in snapshot.graph.edges() {
        let arrow =
            match (critical.contains(&(edge.caller.clone(), edge.callee.clone())), edge.origin.is_hint()) {
                (true, _) => "==>",
                (false, true) => "-.->",
                (false, false) => "-->",
            };
        let label = entities(&about(snapshot, edge));
        let _ = writeln!(out, "  n{} {arrow}|\"{label}\"| n{}", place(&edge.caller), place(&edge.callee));
    }
    out
}

fn json(snapshot: &Snapshot) -> serde_json::Value {
    let nodes: Vec<_> = snapshot
        .graph
        .components()
        .map(|subject| {
            json!({
                "subject": subject,
                "kind": subject.kind().word(),
                "verdict": verdict(snapshot, subject),
            })
        })
        .collect();
    let critical = critical_calls(&snapshot.report, &snapshot.graph);
    let edges: Vec<_> = snapshot
        .graph
        .edges()
        .map(|edge| {
            let flow = flow(snapshot, edge);
            let latency = flow.and_then(|flow| flow.latency);
            json!({
                "caller": edge.caller,
                "callee": edge.callee,
                "origin": edge.origin,
                "rate": flow.and_then(|flow| flow.rate),
                "errors": flow.and_then(|flow| flow.failing),
                "latency": latency.map(|(p99, _)| p99.number()),
                "latency_seen_by": latency.map(|(_, seen_by)| seen_by),
                "critical": critical.contains(&(edge.caller.clone(), edge.callee.clone())),
            })
        })
        .collect();
    json!({
        "schema": SCHEMA,
        "name": snapshot.settings.name,
        "at": snapshot.at,
        "nodes": nodes,
        "edges": edges,
        "cycles": snapshot.graph.cycles(),
    })
}

#[cfg(test)]
mod tests {
    use headwater_engine::reading::{Call, Origin};
    use headwater_engine::settings::Settings;
    use headwater_engine::{Baselines, Engine, Input, Moment};

    use super::*;

    fn snapshot() -> std::sync::Arc<Snapshot> {
        let call = |caller: &str, callee: &str, origin| Call {
            caller: caller.parse().unwrap(),
            callee: callee.parse().unwrap(),
            origin,
        };
        let settings = Settings {
            name: "a \"shop\"".to_owned(),
            calls: vec![
                call("client/load", "service/web", Origin::Observed),
                call("service/web", "service/api", Origin::Observed),
                call("service/web", "redis/cache", Origin::Catalogued),
                call("service/api", "service/web", Origin::Observed),
                call("service/api", "redis/cache", Origin::Observed),
                call("redis/cache", "dependency/a\"b#1\\", Origin::StartOrder),
            ],
            ..Settings::default()
        };
        let mut engine = Engine::new(settings, Baselines::default());
        engine.take(&Input::Tick(Moment(1_000)));
        engine.snapshot().unwrap()
    }

    #[test]
    fn a_tree_tells_everything_once() {
        insta::assert_snapshot!(render(&snapshot(), Form::Text), @r#"
        a "shop": 5 components, 6 calls

        ? client/load unknown
        -> ? service/web unknown  (traffic seen)
           -> ? redis/cache unknown  (from a catalogue)
              -> ? dependency/a"b#1\ unknown  (a hint: starts after it)
           -> ? service/api unknown  (traffic seen)
              -> ? redis/cache unknown  (traffic seen)  ... as above
              -> ? service/web unknown  (traffic seen)  ... as above

        cycle: service/api -> service/web -> service/api
        "#);
    }

    #[test]
    fn graphviz_gets_names_in_quotes() {
        insta::assert_snapshot!(render(&snapshot(), Form::Dot), @r#"
        digraph "a \"shop\"" {
          rankdir=LR;
          node [shape=box];
          "client/load" [label="client/load\nunknown", style=dashed];
          "dependency/a\"b#1\\" [label="dependency/a\"b#1\\\nunknown", style=dashed];
          "redis/cache" [label="redis/cache\nunknown", style=dashed];
          "service/api" [label="service/api\nunknown", style=dashed];
          "service/web" [label="service/web\nunknown", style=dashed];
          "client/load" -> "service/web" [label="traffic seen"];
          "redis/cache" -> "dependency/a\"b#1\\" [label="a hint: starts after it", style=dashed];
          "service/api" -> "redis/cache" [label="traffic seen"];
          "service/api" -> "service/web" [label="traffic seen"];
          "service/web" -> "redis/cache" [label="from a catalogue"];
          "service/web" -> "service/api" [label="traffic seen"];
        }
        "#);
    }

    #[test]
    fn mermaid_gets_numbers_for_names() {
        insta::assert_snapshot!(render(&snapshot(), Form::Mermaid), @r#"
        graph LR
          n0["client/load<br/>unknown"]
          n1["dependency/a#34;b#35;1#92;<br/>unknown"]
          n2["redis/cache<br/>unknown"]
          n3["service/api<br/>unknown"]
          n4["service/web<br/>unknown"]
          n0 -->|"traffic seen"| n4
          n2 -.->|"a hint: starts after it"| n1
          n3 -->|"traffic seen"| n2
          n3 -->|"traffic seen"| n4
          n4 -->|"from a catalogue"| n2
          n4 -->|"traffic seen"| n3
        "#);
    }

    #[test]
    fn programs_get_nodes_edges_and_cycles() {
        let value: serde_json::Value = serde_json::from_str(&render(&snapshot(), Form::Json)).unwrap();
        assert_eq!(value["schema"], 1);
        assert_eq!(
            value["nodes"][0],
            json!({
                "subject": "client/load", "kind": "client", "verdict": "unknown",
            })
        );
        assert_eq!(
            value["edges"][0],
            json!({
                "caller": "client/load", "callee": "service/web", "origin": "observed",
                "rate": null, "errors": null, "latency": null, "latency_seen_by": null, "critical": false,
            })
        );
        assert_eq!(value["cycles"], json!([["service/api", "service/web"]]));
    }
}
