//! `headwater keys big`: the biggest keys, by what servers count anyway and by a scan within a budget of their CPU.

use std::collections::BTreeMap;

use clap::Args;
use headwater_engine::metric::Unit;
use headwater_engine::reading::{KeyPattern, KeySize, KeySizes, LargeKind};
use headwater_engine::{Subject, quantity};

use super::heard::Heard;
use super::scanning::{ScanArgs, Scanned};
use super::{KeysFormat, answer, at_most};
use crate::cli::output::{Failure, layout};
use crate::report::Layout;

/// From these sizes on the server's own count is worth a line: bytes of a value, elements of a collection.
const MANY_BYTES: u64 = 512 * 1024;
const MANY_ELEMENTS: u64 = 4 * 1024;

/// How the server names a row that counts bytes; others count elements.
const BYTES: &str = "_sizes";

/// `headwater keys big`.
#[derive(Debug, Args)]
pub(in crate::cli) struct BigArgs {
    #[command(flatten)]
    scan: ScanArgs,
    /// How many keys and patterns are listed, at most 1000
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = at_most::<1_000>())]
    top: usize,
    /// The form of the answer
    #[arg(long, value_enum, default_value_t = KeysFormat::Text)]
    format: KeysFormat,
}

/// What it costs, said before anything is asked.
const COSTS: &str = "big keys: first what servers count anyway (INFO keysizes, COMMANDLOG), then SCAN with MEMORY USAGE, \
                     reads only; types, lengths and a sample of expiries add hits, which are counted";

pub(super) async fn run(args: BigArgs) -> Result<u8, Failure> {
    let scanned = args.scan.scan(args.top, COSTS).await?;
    let biggest = ranked(&scanned, args.top, |scan| &scan.biggest, |key| key.bytes);
    let longest = ranked(&scanned, args.top, |scan| &scan.longest, |key| key.elements.unwrap_or(0));
    let patterns = patterns(&scanned, args.top);
    let mut out = layout(100);
    free(&scanned.heard, args.top, &mut out);
    if !biggest.is_empty() {
        out.line("by bytes");
    }
    biggest.iter().for_each(|row| out.line(&key_line(row)));
    if !longest.is_empty() {
        out.line("by elements, of keys of 8 KiB and more");
        longest.iter().for_each(|row| out.line(&key_line(row)));
    }
    if !patterns.is_empty() {
        out.line("by pattern");
    }
    for pattern in &patterns {
        let [bytes, biggest] =
            [pattern.bytes, pattern.biggest].map(|n| quantity::show(n as f64, Unit::Bytes));
        let keys = quantity::counted(pattern.keys, "key");
        out.line(&format!("{bytes:>8}  {}  {keys}, the biggest {biggest}", pattern.pattern));
    }
    scanned.tell(&mut out);
    let json = serde_json::json!({
        "schema": 1,
        "key_sizes": scanned.heard.iter().flat_map(|heard| &heard.sizes).map(|(node, sizes)| {
            serde_json::json!({ "node": node, "rows": sizes.rows })
        }).collect::<Vec<_>>(),
        "large_commands": scanned.heard.iter().flat_map(Heard::large).map(|(node, kind, command, key, large)| {
            serde_json::json!({
                "node": node, "kind": kind, "command": command, "key": key, "times": large.times, "most_bytes": large.most,
            })
        }).collect::<Vec<_>>(),
        "keys": keys_json(&biggest),
        "longest": keys_json(&longest),
        "patterns": patterns,
        "scans": scanned.to_json(),
    });
    let code = answer(args.format, out, json)?;
    // What servers tell for free is told all the same.
    scanned.any_looked_at().map(|()| code)
}

type Row<'a> = (&'a Subject, &'a KeySize);

/// The first of all shards together.
fn ranked<'a>(
    scanned: &'a Scanned,
    top: usize,
    of: impl Fn(&'a headwater_engine::reading::Scan) -> &'a Vec<KeySize>,
    by: impl Fn(&KeySize) -> u64,
) -> Vec<Row<'a>> {
    let mut rows: Vec<_> =
        scanned.scans.iter().flat_map(|scan| of(scan).iter().map(move |key| (&scan.shard, key))).collect();
    rows.sort_by_key(|(_, key)| std::cmp::Reverse(by(key)));
    rows.truncate(top);
    rows
}

fn key_line((shard, key): &Row<'_>) -> String {
    let size = quantity::show(key.bytes as f64, Unit::Bytes);
    let elements = match key.elements.filter(|_| key.kind.as_str() != "string") {
        Some(1) => "  1 element".to_owned(),
        Some(elements) => format!("  {elements} elements"),
        None => String::new(),
    };
    let slot = key.slot.map(|slot| format!("  slot {slot}")).unwrap_or_default();
    format!("{size:>8}  {}  {}  {shard}{slot}{elements}", key.key, key.kind)
}

fn keys_json(rows: &[Row<'_>]) -> Vec<serde_json::Value> {
    let row = |(shard, key): &Row<'_>| {
        serde_json::json!({
            "key": key.key, "bytes": key.bytes, "kind": key.kind, "elements": key.elements, "slot": key.slot,
            "shard": shard,
        })
    };
    rows.iter().map(row).collect()
}

/// The patterns of all shards together, most bytes first and what is left at the end.
fn patterns(scanned: &Scanned, top: usize) -> Vec<KeyPattern> {
    let mut sums: BTreeMap<&str, KeyPattern> = BTreeMap::new();
    for pattern in scanned.scans.iter().flat_map(|scan| &scan.patterns) {
        sums.entry(pattern.pattern.as_str())
            .and_modify(|sum| {
                sum.keys += pattern.keys;
                sum.bytes += pattern.bytes;
                sum.biggest = sum.biggest.max(pattern.biggest);
            })
            .or_insert_with(|| pattern.clone());
    }
    let mut rows: Vec<_> = sums.into_values().collect();
    rows.sort_by_key(|row| (row.pattern.as_str() == KeyPattern::REST, std::cmp::Reverse(row.bytes)));
    rows.truncate(top);
    rows
}

/// What servers tell without a scan.
fn free(heard: &[Heard], top: usize, out: &mut Layout) {
    let counted: Vec<_> = heard
        .iter()
        .flat_map(|heard| &heard.sizes)
        .flat_map(|(node, sizes)| big_rows(sizes).into_iter().map(move |row| format!("  {row}  {node}")))
        .collect();
    if !counted.is_empty() {
        out.line("free, as servers count their keys");
        counted.iter().for_each(|row| out.line(row));
    }
    let large: Vec<_> = heard.iter().flat_map(Heard::large).take(top).collect();
    if !large.is_empty() {
        out.line("free, as servers log large commands");
    }
    for (node, kind, command, key, large) in large {
        let size = quantity::show(large.most as f64, Unit::Bytes);
        let kind = if kind == LargeKind::Reply { "answered" } else { "sent" };
        out.line(&format!(
            "{size:>8}  {key}  {kind} by {command}, {}  {node}",
            quantity::counted(large.times, "time")
        ));
    }
}

/// The rows of a server's own count that are about big keys: `3 keys of 524 kB and more among the strings`.
fn big_rows(sizes: &KeySizes) -> Vec<String> {
    let row = |(name, bins): &(headwater_engine::RemoteText, Vec<headwater_engine::reading::SizeBin>)| {
        let name = name.as_str();
        let (what, least, shown) = match name.strip_suffix(BYTES) {
            Some(what) => (what, MANY_BYTES, quantity::show(MANY_BYTES as f64, Unit::Bytes)),
            None => {
                (name.split('_').next().unwrap_or(name), MANY_ELEMENTS, format!("{MANY_ELEMENTS} elements"))
            }
        };
        let keys: u64 = bins.iter().filter(|bin| bin.from >= least).map(|bin| bin.keys).sum();
        let largest = bins.iter().filter(|bin| bin.keys > 0).map(|bin| bin.from).max()?;
        let largest = match name.ends_with(BYTES) {
            true => quantity::show(largest as f64, Unit::Bytes),
            false => format!("{largest} elements"),
        };
        (keys > 0).then(|| {
            let keys = quantity::counted(keys, "key");
            format!("{keys} of {shown} and more among the {what}, the biggest of at least {largest}")
        })
    };
    sizes.rows.iter().filter_map(row).collect()
}
