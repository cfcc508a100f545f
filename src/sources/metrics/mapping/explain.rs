//! Says, family by family, what was mapped, what was left and why.

use headwater_engine::RemoteText;

use super::{Dialects, Exposition, Fate, Mapping, RowAt, SubjectRole};

/// What became of one family, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The family's name.
    pub family: RemoteText,
    /// The type's word, `untyped` when there is none.
    pub kind: &'static str,
    /// How many samples it has on the page.
    pub samples: usize,
    /// One sentence a row that looked at it, or one that says why none did.
    pub fates: Vec<String>,
}

/// Explains a mapping of `page`, in the order of its families.
pub fn explain(dialects: &Dialects, page: &Exposition<'_>, mapping: &Mapping) -> Vec<Explanation> {
    let samples = page.by_family();
    page.families
        .iter()
        .zip(&mapping.fates)
        .zip(samples)
        .map(|((family, fates), samples)| Explanation {
            family: RemoteText::new(&family.name),
            kind: family.kind.map_or("untyped", super::FamilyKind::word),
            samples: samples.len(),
            fates: match &fates[..] {
                [] => vec!["has no samples".to_owned()],
                fates => fates.iter().map(|fate| sentence(dialects, *fate)).collect(),
            },
        })
        .collect()
}

fn sentence(dialects: &Dialects, fate: Fate) -> String {
    let row = |at: RowAt| {
        let dialect = &dialects.list[at.dialect];
        let row = &dialect.rows[at.row];
        let subject = match row.role.kind() {
            None => String::new(),
            Some(_) if row.role == SubjectRole::Edge => " of each way".to_owned(),
            Some(kind) if dialect.names.contains_key(&row.role) => format!(" of each {}", kind.word()),
            Some(kind) => format!(" of the {}", kind.word()),
        };
        (format!("{}{subject}", row.metric.name()), &dialect.id)
    };
    match fate {
        Fate::Mapped(at) => {
            let (metric, dialect) = row(at);
            format!("becomes {metric} (dialect {dialect})")
        }
        Fate::Added(at) => {
            let (metric, dialect) = row(at);
            format!("is added to {metric} (dialect {dialect}), which a family that goes first gives")
        }
        Fate::SecondChoice(at) => {
            let (metric, dialect) = row(at);
            format!("could be {metric} (dialect {dialect}), but a family that goes first gives it")
        }
        Fate::WrongType(at) => {
            let (metric, dialect) = row(at);
            format!("has not the type that {metric} (dialect {dialect}) needs")
        }
        Fate::NothingFits(at) => {
            let (metric, dialect) = row(at);
            format!("has no series with a value for {metric} (dialect {dialect})")
        }
        Fate::Free(0) => "is a free metric, but has no value or no room is left".to_owned(),
        Fate::Free(series) => format!("is a free metric with {series} series"),
        Fate::NoValue => "has no value: its numbers mean that there is none".to_owned(),
        Fate::OfNobody => {
            "is about the exporter, which is no component, or about nobody whom its labels name".to_owned()
        }
        Fate::Ignored => "is ignored: nobody needs it in an incident".to_owned(),
        Fate::Unmapped => "is not mapped; only levels and totals become free metrics".to_owned(),
    }
}
