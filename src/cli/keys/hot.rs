//! `headwater keys hot`: the hottest keys, in the gentlest way that a server offers and the user allows.

mod passive;

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use headwater_engine::Subject;
use headwater_engine::reading::{Event, HotSearch, KeyMethod, MethodOffer, ScanState};

use super::following::Following;
use super::scanning::is_shard;
use super::watched::{Turns, Watched};
use super::{KeysFormat, answer, at_most};
use crate::app::hot_search::{Permit, SearchProgress, best, flag, heat_words, search_line, slot_words, ways};
use crate::app::suspension::Suspension;
use crate::cli::consent::ConsentArgs;
use crate::cli::output::{Failure, layout, say};
use crate::cli::target::AccessArgs;
use crate::cli::{EXIT_UNAVAILABLE, interrupted};
use crate::report::Layout;
use crate::sources::redis::MOST_HOT_KEYS;
use passive::Passive;

/// How long a node may take to tell what it offers.
const OFFERS: Duration = Duration::from_secs(6);

/// `headwater keys hot`.
#[derive(Debug, Args)]
pub(in crate::cli) struct HotArgs {
    /// A Redis target; without one, those of the configuration
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    #[command(flatten)]
    access: AccessArgs,
    /// Only this shard, such as 'redis/features#2' or '2'
    #[arg(long, value_name = "SHARD")]
    shard: Option<String>,
    /// Only in this way
    #[arg(long, value_name = "NAME", value_parser = method_parser())]
    method: Option<KeyMethod>,
    #[command(flatten)]
    consent: ConsentArgs,
    /// How many keys are listed, at most 32: no way keeps more
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = at_most::<{ MOST_HOT_KEYS as u64 }>())]
    top: usize,
    /// The form of the answer
    #[arg(long, value_enum, default_value_t = KeysFormat::Text)]
    format: KeysFormat,
}

/// The ways by their names.
fn method_parser() -> impl TypedValueParser<Value = KeyMethod> {
    PossibleValuesParser::new(ways().map(|row| row.name))
        .try_map(|name| ways().find(|row| row.name == name).map(|row| row.method).ok_or("no such way"))
}

/// What is to be done on one shard.
struct Plan {
    shard: Subject,
    offers: Vec<MethodOffer>,
    method: Option<KeyMethod>,
    /// The place of its target in the list.
    target: usize,
}

/// What came of one shard.
struct Answer {
    shard: Subject,
    offers: Vec<MethodOffer>,
    search: Option<HotSearch>,
}

pub(super) async fn run(args: HotArgs) -> Result<u8, Failure> {
    let config = args.access.resolve(&args.targets)?;
    let permit = args.consent.permit(true);
    let (mut plans, mut targets, mut passive, mut known) = (vec![], vec![], Passive::default(), vec![]);
    let mut turns = Turns::start(&config)?;
    while let Some((mut watched, topology)) = turns.next().await {
        let shards: Vec<_> = topology
            .shards
            .iter()
            .inspect(|shard| known.push(shard.subject.to_string()))
            .filter(|shard| args.shard.as_deref().is_none_or(|wanted| is_shard(&shard.subject, wanted)))
            .map(|shard| {
                let primary = shard.nodes.iter().find(|node| node.primary);
                (shard.subject.clone(), primary.map(|node| node.subject.clone()))
            })
            .collect();
        let offers = offers(&mut watched, &shards, &mut passive).await;
        for (shard, primary) in &shards {
            let offers =
                primary.as_ref().and_then(|primary| offers.get(primary)).cloned().unwrap_or_default();
            let method = choose(&offers, &permit, args.method)?;
            plans.push(Plan { shard: shard.clone(), offers, method, target: targets.len() });
        }
        targets.push(watched);
    }
    if let Some(failure) = turns.failure() {
        return Err(failure);
    }
    refuse_many(&plans)?;
    let (mut answers, mut suspension) = (vec![], Suspension::default());
    for Plan { shard, offers, method, target } in plans {
        let (mut search, mut was_interrupted) = (None, false);
        if let Some(method) = method {
            let watched = &mut targets[target];
            (search, was_interrupted) =
                search_by(method, &shard, watched, &permit, &mut passive, &mut suspension).await;
        }
        answers.push(Answer { shard, offers, search });
        if was_interrupted {
            break;
        }
    }
    targets.iter().for_each(|watched| watched.target.stop());
    if let Some(wanted) = args.shard.as_ref().filter(|_| answers.is_empty()) {
        return Err(Failure::usage(format_args!("no shard '{wanted}': use one of {}", known.join(", "))));
    }
    let has_found = |search: &HotSearch| {
        search.state == ScanState::Complete || !search.keys.is_empty() || !search.slots.is_empty()
    };
    let ran = answers.iter().filter_map(|answer| answer.search.as_ref()).any(has_found);
    answer(args.format, text(&answers, &passive, &permit, args.top), json(&answers, &passive, args.top))?;
    Ok(if ran { 0 } else { EXIT_UNAVAILABLE })
}

/// Refuses before anything runs when more than one shard would be slowed: each was not agreed to.
fn refuse_many(plans: &[Plan]) -> Result<(), Failure> {
    let mut slowed = plans.iter().filter_map(|plan| plan.method.filter(|method| method.row().needs_consent));
    let (Some(first), count) = (slowed.next(), slowed.count() + 1) else { return Ok(()) };
    if count == 1 {
        return Ok(());
    }
    Err(Failure::usage(format_args!(
        "'{}' slows what it looks at and there are {count} shards: name one with --shard",
        first.row().name,
    )))
}

/// The way to go: the one that was named, if it may run, or the best.
fn choose(
    offers: &[MethodOffer],
    permit: &Permit,
    named: Option<KeyMethod>,
) -> Result<Option<KeyMethod>, Failure> {
    let Some(method) = named else { return Ok(best(offers, permit, |_| false)) };
    let row = method.row();
    if let Some(flag) = flag(method).filter(|_| !permit.allows(method)) {
        return Err(Failure::usage(format_args!("'{}' needs {flag}: {}", row.name, row.cost)));
    }
    let is_offered = offers.iter().any(|offer| offer.method == method && offer.refusal.is_none());
    Ok(is_offered.then_some(method))
}

/// What the primaries of these shards offer, once each has told it or had the time to.
async fn offers(
    watched: &mut Watched,
    shards: &[(Subject, Option<Subject>)],
    passive: &mut Passive,
) -> BTreeMap<Subject, Vec<MethodOffer>> {
    let mut told = BTreeMap::new();
    let deadline = tokio::time::Instant::now() + OFFERS;
    while shards.iter().any(|(_, primary)| primary.as_ref().is_some_and(|node| !told.contains_key(node))) {
        let Ok(Some(reading)) = tokio::time::timeout_at(deadline, watched.readings.recv()).await else {
            break;
        };
        passive.take(&reading);
        for event in reading.events {
            if let Event::Offers(offers) = event {
                told.insert(reading.source.clone(), offers);
            }
        }
    }
    told
}

/// Runs one way to its end, which an interruption brings about; a second one waits for nothing. Says also whether there
/// was one.
async fn search_by(
    method: KeyMethod,
    shard: &Subject,
    watched: &mut Watched,
    permit: &Permit,
    passive: &mut Passive,
    suspension: &mut Suspension,
) -> (Option<HotSearch>, bool) {
    let Some(handle) = watched.target.search(shard, method, permit.budget()) else { return (None, false) };
    let row = method.row();
    if row.needs_consent {
        suspension.ends_first(&handle);
    }
    say(format_args!("searching {shard} for hot keys by {}: {}", row.name, row.cost));
    let mut progress = SearchProgress::default();
    progress.started(shard, method);
    let mut newest = None;
    let mut following = Following::new(interrupted);
    following.add(handle);
    while let Some(reading) = following.next(watched).await {
        passive.take(&reading);
        for event in reading.events {
            let Event::HotSearch(search) = event else { continue };
            if let Some(line) = progress.line(&search) {
                say(line);
            }
            newest = Some(search);
        }
        if newest.as_ref().is_some_and(|search| search.state.has_ended()) {
            break;
        }
    }
    (newest, following.was_interrupted())
}

fn text(answers: &[Answer], passive: &Passive, permit: &Permit, top: usize) -> Layout {
    let mut out = layout(120);
    for answer in answers {
        let shard = &answer.shard;
        match &answer.search {
            Some(search) => {
                for key in search.keys.iter().take(top) {
                    let slot = key.slot.map(|slot| format!("slot {slot}  ")).unwrap_or_default();
                    out.line(&format!("{}  {}  {slot}{shard}", key.key, heat_words(key)));
                }
                for slot in search.slots.iter().filter(|slot| slot.keys != 1).take(top) {
                    out.line(&format!("{}  {shard}", slot_words(slot)));
                }
                out.line(&search_line(search));
                if !search.method.row().gives_shares {
                    out.line("these counters rank keys and cannot say what share of the work a key is");
                }
            }
            None => out.line(&format!(
                "nothing that is allowed names a hot key of {shard}; where one is likely, to name it:"
            )),
        }
        if answer.search.is_some() {
            out.line(&format!("ways to find hot keys of {shard}:"));
        }
        for row in ways() {
            let refusal =
                answer.offers.iter().find(|offer| offer.method == row.method).map(|offer| &offer.refusal);
            let stands = match refusal {
                None => "not told yet".to_owned(),
                Some(Some(why)) => format!("not offered: {why}"),
                Some(None) if permit.allows(row.method) => format!("offered: {}", row.cost),
                Some(None) => {
                    format!("offered with {}: {}", flag(row.method).unwrap_or("a yes"), row.cost)
                }
            };
            out.hang(&format!("  {:<12}", row.name), 15, &stands);
        }
    }
    let named = passive.most_named();
    if !named.is_empty() {
        out.line("keys of commands that were slow or large (no shares):");
        for (node, key, times, words) in named {
            out.line(&format!("  {key}  {times} times, such as {words}  {node}"));
        }
    }
    out
}

fn json(answers: &[Answer], passive: &Passive, top: usize) -> serde_json::Value {
    let keys = |search: &HotSearch| search.keys.iter().take(top).cloned().collect::<Vec<_>>();
    serde_json::json!({
        "schema": 1,
        "shards": answers.iter().map(|answer| serde_json::json!({
            "shard": answer.shard,
            "offers": answer.offers,
            "search": answer.search.as_ref().map(|search| HotSearch { keys: keys(search), ..search.clone() }),
        })).collect::<Vec<_>>(),
        "slow_or_large": passive.most_named().iter().map(|(node, key, times, _)| serde_json::json!({
            "node": node, "key": key, "times": times,
        })).collect::<Vec<_>>(),
    })
}
