//! `headwater dialects`: which metrics pages can be read, and what is made of one.

mod explained;

use std::io::Read as _;
use std::path::Path;

use clap::{Args, ValueEnum};
use headwater_engine::metric::Unit;
use headwater_engine::quantity::show;
use headwater_engine::{Kind, RemoteText, Subject};
use serde_json::json;

use self::explained::{as_json, explained};
use super::output::{Failure, layout, print};
use super::target::AccessArgs;
use super::{EXIT_UNAVAILABLE, EXIT_USAGE};
use crate::config::shown_address;
use crate::sources::metrics::dialect::{Dialect, Dialects};
use crate::sources::metrics::exposition::{Exposition, Format, decode};
use crate::sources::metrics::fetch::{Address, Fetcher, LONGEST_PAGE};
use crate::sources::metrics::likeness::{is_markup, likeness};
use crate::sources::metrics::mapping::{Mapper, Target};

/// `headwater dialects`.
#[derive(Debug, Args)]
pub(super) struct DialectsArgs {
    /// Say what is made of one metrics page: an address, or a file, also packed with gzip
    #[arg(long, value_name = "URL|FILE")]
    explain: Option<String>,

    /// The form of the answer
    #[arg(long, value_enum, default_value_t = DialectsFormat::Text)]
    format: DialectsFormat,

    #[command(flatten)]
    access: AccessArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DialectsFormat {
    Text,
    Json,
}

pub(super) async fn run(args: DialectsArgs) -> Result<u8, Failure> {
    let dialects = Dialects::built_in();
    let Some(place) = &args.explain else {
        match args.format {
            DialectsFormat::Text => print(&table(dialects))?,
            DialectsFormat::Json => print(&format!("{:#}\n", listed(dialects)))?,
        }
        return Ok(0);
    };
    let is_address = ["http://", "https://"].iter().any(|scheme| place.starts_with(scheme));
    let (target, bytes, format) =
        if is_address { fetched(place, &args.access).await? } else { from_file(place)? };
    let page = decode(if is_markup(&bytes) { &[] } else { &bytes }, format);
    if page.samples.is_empty() && page.native_histograms == 0 {
        return Err(no_page(place, &bytes, &page));
    }
    let mapping = Mapper::new(dialects, target, None).map(&page);
    match args.format {
        DialectsFormat::Text => print(&explained(dialects, &page, &mapping))?,
        DialectsFormat::Json => print(&format!("{:#}\n", as_json(dialects, &page, &mapping)))?,
    }
    Ok(0)
}

/// Why what came is refused.
fn no_page(place: &str, bytes: &[u8], page: &Exposition<'_>) -> Failure {
    let first = page.problems.first_lost();
    let what = match first {
        Some(problem) => {
            format!("{} (line {} cannot be read: {})", likeness(bytes), problem.line, problem.reason)
        }
        None => format!("{}, not metrics", likeness(bytes)),
    };
    Failure::usage(format_args!("'{}' holds {what}: is it the right page?", shown(place)))
}

/// Asks an address once, as the source does.
async fn fetched(place: &str, access: &AccessArgs) -> Result<(Target, Vec<u8>, Option<Format>), Failure> {
    let config = access.resolve(&[place.to_owned()])?;
    let Some(spec) = config.metrics.first() else {
        return Err(Failure::usage(format_args!("'{}' is no metrics page", shown(place))));
    };
    let address = Address::parse(&spec.url)?;
    let target = Target::new(&spec.component()?, address.host_and_port());
    let answer = Fetcher::new(address, spec)?.fetch().await;
    let page = answer.map_err(|fault| Failure::new(EXIT_UNAVAILABLE, fault.message))?;
    Ok((target, page.bytes, page.format))
}

/// Reads a file as if `service/ITS-NAME` had served it.
fn from_file(place: &str) -> Result<(Target, Vec<u8>, Option<Format>), Failure> {
    let path = Path::new(place);
    let unread = |error: std::io::Error| {
        Failure::of_file(&error, format_args!("'{}' cannot be read: {error}", shown(place)))
    };
    let limit = LONGEST_PAGE as u64 + 1;
    let mut bytes = vec![];
    std::fs::File::open(path).map_err(unread)?.take(limit).read_to_end(&mut bytes).map_err(unread)?;
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut unpacked = vec![];
        let packed = flate2::read::MultiGzDecoder::new(bytes.as_slice());
        packed.take(limit).read_to_end(&mut unpacked).map_err(|error| {
            let sentence = format!("'{}' is packed with gzip and cannot be unpacked: {error}", shown(place));
            Failure::new(EXIT_USAGE, sentence)
        })?;
        bytes = unpacked;
    }
    if bytes.len() > LONGEST_PAGE {
        let most = show(LONGEST_PAGE as f64, Unit::Bytes);
        let sentence =
            format!("'{}' is longer than {most}, which is the longest page that is read", shown(place));
        return Err(Failure::usage(sentence));
    }
    let stem = path.file_stem().map_or_else(|| "page".into(), |stem| stem.to_string_lossy());
    Ok((Target::new(&Subject::component(Kind::Service, &stem), "file"), bytes, None))
}

fn shown(place: &str) -> RemoteText {
    RemoteText::new(&shown_address(place))
}

fn table(dialects: &Dialects) -> String {
    let mut out = layout(100);
    let column = dialects.list.iter().map(|dialect| dialect.id.len()).max().unwrap_or(0) + 2;
    for dialect in &dialects.list {
        out.hang(&dialect.id, column, &dialect.title);
        out.hang("", column, &format!("known by {}", evidence(dialect)));
        out.hang("", column, &format!("gives {}", gives(dialect).join(", ")));
    }
    out.finish()
}

/// What a dialect is recognised by, in words.
fn evidence(dialect: &Dialect) -> String {
    if dialect.evidence.is_empty() {
        return "any family that it maps".to_owned();
    }
    let families: Vec<_> = dialect.evidence.iter().map(|pattern| pattern.text()).collect();
    let label = dialect.evidence_label.as_ref().map(|label| format!(" with the label {label}"));
    families.join(", ") + &label.unwrap_or_default()
}

/// The metrics that a dialect can give, each once.
fn gives(dialect: &Dialect) -> Vec<&'static str> {
    let mut names = vec![];
    for row in &dialect.rows {
        if !names.contains(&row.metric.name()) {
            names.push(row.metric.name());
        }
    }
    names
}

fn listed(dialects: &Dialects) -> serde_json::Value {
    let one = |dialect: &Dialect| {
        let families: Vec<_> = dialect.evidence.iter().map(|pattern| pattern.text()).collect();
        json!({
            "id": dialect.id,
            "title": dialect.title,
            "recognised_by": families,
            "label": dialect.evidence_label,
            "metrics": gives(dialect),
        })
    };
    json!({ "dialects": dialects.list.iter().map(one).collect::<Vec<_>>() })
}
