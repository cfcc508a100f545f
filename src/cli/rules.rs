//! `headwater rules` and `headwater explain`: the engine's table, for reading.

use clap::Args;
use headwater_engine::rules::{RULES, Rule, by_id};
use serde_json::{Value, json};

use super::output::{Failure, layout, print};
use crate::config::unknown_name;

/// The forms of the answer.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum RulesFormat {
    Text,
    Json,
}

/// `headwater rules`.
#[derive(Debug, Args)]
pub(super) struct RulesArgs {
    /// The form of the list
    #[arg(long, value_enum, default_value_t = RulesFormat::Text)]
    format: RulesFormat,
}

/// `headwater explain`.
#[derive(Debug, Args)]
pub(super) struct ExplainArgs {
    /// The rule's id, as 'headwater rules' lists it
    #[arg(value_name = "ID")]
    id: String,

    /// The form of the explanation
    #[arg(long, value_enum, default_value_t = RulesFormat::Text)]
    format: RulesFormat,
}

pub(super) fn rules(args: &RulesArgs) -> Result<u8, Failure> {
    match args.format {
        RulesFormat::Text => print(&table())?,
        RulesFormat::Json => {
            print(&format!("{:#}\n", RULES.iter().map(|rule| row(rule)).collect::<Value>()))?
        }
    }
    Ok(0)
}

pub(super) fn explain(args: &ExplainArgs) -> Result<u8, Failure> {
    let Some(rule) = by_id(&args.id) else {
        let ids: Vec<_> = RULES.iter().map(|rule| rule.id).collect();
        return Err(Failure::usage(unknown_name("rule", &args.id, &ids)));
    };
    match args.format {
        RulesFormat::Text => print(&explanation(rule))?,
        RulesFormat::Json => print(&format!("{:#}\n", row(rule)))?,
    }
    Ok(0)
}

/// Every rule with what it means, what it watches and its thresholds.
fn table() -> String {
    let mut out = layout(80);
    let column = RULES.iter().map(|rule| rule.id.len()).max().unwrap_or(0) + 2;
    for rule in RULES {
        let limits: Vec<String> = rule
            .thresholds
            .iter()
            .map(|limit| format!("{} {}", limit.name, limit.show(limit.default)))
            .collect();
        out.hang(rule.id, column, rule.title);
        out.hang("", column, &format!("watches {}", rule.watches.words()));
        if !limits.is_empty() {
            out.hang("", column, &limits.join(", "));
        }
    }
    out.finish()
}

fn explanation(rule: &Rule) -> String {
    let mut out = layout(80);
    out.hang("", 0, &format!("{}: {}", rule.id, rule.title));
    out.blank();
    out.hang("", 0, rule.doc);
    out.blank();
    out.hang("watches", 9, &rule.watches.words());
    out.hang("worth", 9, rule.nature.word());
    if rule.hold > 1 {
        out.hang("fires", 9, &format!("after {} evaluations in a row, unless a counter dates it", rule.hold));
    }
    if !rule.absorbs.is_empty() {
        out.hang("explains", 9, &rule.absorbs.join(", "));
    }
    for rival in rule.rivals {
        out.hang("rival", 9, &format!("{}; told apart by {}", rival.rule, rival.told_by));
    }
    out.hang("next", 9, rule.next);
    if !rule.thresholds.is_empty() {
        out.blank();
        out.line("Thresholds, as they stand in a configuration:");
        out.blank();
        out.line(&format!("[thresholds.{}]", rule.id));
        for limit in rule.thresholds {
            let value = format!("{} = {}", limit.name, limit.default);
            out.line(&format!("{value:<20} # {} ({})", limit.help, limit.show(limit.default)));
        }
    }
    out.finish()
}

fn row(rule: &Rule) -> Value {
    json!({
        "id": rule.id,
        "title": rule.title,
        "doc": rule.doc,
        "next": rule.next,
        "watches": rule.watches.words(),
        "worth": rule.nature.word(),
        "hold": rule.hold,
        "explains": rule.absorbs,
        "rivals": rule.rivals.iter().map(|rival| json!({ "rule": rival.rule, "told_by": rival.told_by })).collect::<Value>(),
        "thresholds": rule.thresholds.iter().map(|limit| {
            json!({ "name": limit.name, "default": limit.default, "unit": limit.unit, "help": limit.help })
        }).collect::<Value>(),
    })
}
