//! `headwater rank`: what explains a symptom, from exported files.

use std::path::PathBuf;

use clap::Args;
use headwater_engine::quantity::times;
use headwater_engine::ranking::{Evidence, Ranking, Suspect};
use serde_json::{Value, json};

use super::output::{Failure, layout, print, say};
use crate::postmortem::{Postmortem, PostmortemError};

/// The version of the JSON.
const SCHEMA: u32 = 1;

/// How many suspects the text lists; the JSON has all.
const LISTED: usize = 10;

/// The forms of the answer.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum RankFormat {
    Text,
    Json,
}

/// `headwater rank`.
#[derive(Debug, Args)]
pub(super) struct RankArgs {
    /// A folder with edges.csv (caller,callee), metrics.csv (time,subject,metric,value) and case.json (symptom, baseline, window)
    #[arg(value_name = "CASE_DIR")]
    folder: PathBuf,

    /// The form of the ranking
    #[arg(long, value_enum, default_value_t = RankFormat::Text)]
    format: RankFormat,
}

impl From<PostmortemError> for Failure {
    fn from(error: PostmortemError) -> Self {
        match &error {
            PostmortemError::File { reason, .. } => Self::of_file(reason, &error),
            PostmortemError::Broken { .. } => Self::usage(error),
        }
    }
}

pub(super) fn run(args: &RankArgs) -> Result<u8, Failure> {
    let postmortem = Postmortem::read(&args.folder)?;
    for skipped in postmortem.skipped() {
        let (line, complaint) = &skipped.first;
        say(format_args!(
            "headwater: '{}': {} of {} rows cannot be read and are left out, the first in line {line}: {complaint}",
            skipped.path.display(),
            skipped.rows,
            skipped.of,
        ));
    }
    if postmortem.outside() > 0 {
        say(format_args!(
            "headwater: {} rows of metrics.csv are neither in the baseline nor in the window",
            postmortem.outside()
        ));
    }
    let ranking = postmortem.rank();
    match args.format {
        RankFormat::Text => print(&text(&postmortem, &ranking))?,
        RankFormat::Json => print(&format!("{:#}\n", document(&postmortem, &ranking)))?,
    }
    Ok(0)
}

fn text(postmortem: &Postmortem, ranking: &Ranking) -> String {
    let mut out = layout(100);
    out.hang("symptom", 9, &symptom(postmortem, ranking));
    out.blank();
    let standing_out = ranking.suspects.iter().filter(|suspect| suspect.stands_out()).count();
    if standing_out == 0 {
        out.hang("", 0, "Nothing that the symptom depends on differs clearly from its baseline.");
    }
    for (rank, suspect) in (1..).zip(&ranking.suspects).take(standing_out.min(LISTED)) {
        out.hang(&format!("{rank:>2}  {:>5.2}", suspect.score), 11, &named(suspect));
        out.hang("", 11, &suspect.because);
    }
    let listed = standing_out.min(LISTED);
    if ranking.suspects.len() > listed {
        let more = ranking.suspects.len() - listed;
        out.line(&format!("    and {more} with less against them or hardly anything: --format json has all"));
    }
    if !ranking.missing.is_empty() {
        out.blank();
    }
    for missing in &ranking.missing {
        out.hang("missing", 9, missing);
    }
    out.finish()
}

fn named(suspect: &Suspect) -> String {
    match suspect.also.as_slice() {
        [] => suspect.subject.clone(),
        also => format!("{} (also seen as {})", suspect.subject, also.join(", ")),
    }
}

fn symptom(postmortem: &Postmortem, ranking: &Ranking) -> String {
    let (subject, metric) = postmortem.symptom();
    let course = &ranking.symptom;
    let show = |value| course.nature.show(value);
    match (course.usual, course.worst) {
        (Some(usual), Some(worst)) => {
            let factor = if usual > 0.0 && worst > usual {
                format!(", {}", times(worst / usual))
            } else {
                String::new()
            };
            format!("{subject} {metric}: usually {}, at worst {}{factor}", show(usual), show(worst))
        }
        (None, Some(worst)) => format!("{subject} {metric}: at worst {}, usually unknown", show(worst)),
        _ => format!("{subject} {metric}: not seen"),
    }
}

fn document(postmortem: &Postmortem, ranking: &Ranking) -> Value {
    let (subject, metric) = postmortem.symptom();
    json!({
        "schema": SCHEMA,
        "symptom": {
            "subject": subject, "metric": metric, "usual": ranking.symptom.usual, "worst": ranking.symptom.worst,
        },
        "candidates": ranking.candidates,
        "suspects": ranking.suspects.iter().map(row).collect::<Value>(),
        "missing": ranking.missing,
    })
}

fn row(suspect: &Suspect) -> Value {
    json!({
        "subject": suspect.subject,
        "score": rounded(suspect.score),
        "because": suspect.because,
        "also": suspect.also,
        "evidence": suspect.evidence.iter().map(number).collect::<Value>(),
    })
}

fn number(evidence: &Evidence) -> Value {
    json!({
        "mechanism": evidence.mechanism,
        "subject": evidence.subject,
        "metric": evidence.metric,
        "from": evidence.from,
        "to": evidence.to,
        "share": evidence.share.map(rounded),
        "for_each_request": evidence.is_for_each_request,
        "strength": rounded(evidence.strength),
    })
}

/// A score with as many digits as it is worth.
fn rounded(score: f64) -> f64 {
    (score * 1_000.0).round() / 1_000.0
}
