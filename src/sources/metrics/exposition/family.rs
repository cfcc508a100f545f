//! Which family a sample's name belongs to, and what it is there.

use std::borrow::Cow;

use super::Reader;

/// A group of samples that share a TYPE.
#[derive(Clone, Debug, PartialEq)]
pub struct Family<'a> {
    /// The name, without suffixes such as `_bucket`; in OpenMetrics also without `_total`.
    pub name: Cow<'a, str>,
    /// The declared type; of a family without one, `None` or what its samples show.
    pub kind: Option<FamilyKind>,
    /// The help text, still escaped.
    pub help: Option<&'a str>,
    /// The unit, where OpenMetrics gives one.
    pub unit: Option<&'a str>,
}

/// The types that families can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FamilyKind {
    /// A total that only grows.
    Counter,
    /// A level.
    Gauge,
    /// Cumulative buckets.
    Histogram,
    /// Buckets of present things, which can fall.
    GaugeHistogram,
    /// Quantiles that the server computed.
    Summary,
    /// Facts in labels.
    Info,
    /// One boolean a state.
    StateSet,
    /// Declared to have no type.
    Untyped,
}

/// Every type with the word that TYPE lines use; the second `Untyped` is OpenMetrics' word.
const KINDS: &[(FamilyKind, &str)] = &[
    (FamilyKind::Counter, "counter"),
    (FamilyKind::Gauge, "gauge"),
    (FamilyKind::Histogram, "histogram"),
    (FamilyKind::GaugeHistogram, "gaugehistogram"),
    (FamilyKind::Summary, "summary"),
    (FamilyKind::Info, "info"),
    (FamilyKind::StateSet, "stateset"),
    (FamilyKind::Untyped, "untyped"),
    (FamilyKind::Untyped, "unknown"),
];

impl FamilyKind {
    /// The type of a TYPE line's word; case does not matter, blanks around it do.
    pub fn from_word(word: &str) -> Option<Self> {
        KINDS.iter().find(|(_, known)| known.eq_ignore_ascii_case(word)).map(|(kind, _)| *kind)
    }

    /// The word of TYPE lines.
    pub fn word(self) -> &'static str {
        KINDS.iter().find(|(kind, _)| *kind == self).map_or("untyped", |(_, word)| word)
    }

    /// The suffixes of the samples of this type, each with what it means; the empty suffix is the bare name.
    pub(super) fn suffixes(self) -> &'static [(&'static str, Role)] {
        match self {
            Self::Counter => &[("_total", Role::Plain), ("_created", Role::Created)],
            Self::Summary => &[
                ("", Role::Plain),
                ("_count", Role::Count),
                ("_sum", Role::Sum),
                ("_created", Role::Created),
            ],
            Self::Histogram => &[
                ("_bucket", Role::Bucket),
                ("_count", Role::Count),
                ("_sum", Role::Sum),
                ("_created", Role::Created),
            ],
            Self::GaugeHistogram => {
                &[("_bucket", Role::Bucket), ("_gcount", Role::Count), ("_gsum", Role::Sum)]
            }
            Self::Info => &[("_info", Role::Plain)],
            Self::Gauge | Self::StateSet | Self::Untyped => &[("", Role::Plain)],
        }
    }
}

/// What a sample is within its family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The value itself; of a summary, a quantile.
    Plain,
    /// A cumulative bucket.
    Bucket,
    /// The sum of all values.
    Sum,
    /// The number of values.
    Count,
    /// When the series began, as seconds since the Unix epoch.
    Created,
}

/// Gives every sample name its family and role. A family of exactly this name wins; then one whose type has the
/// suffix; then, without any TYPE, `_bucket` with a label `le` makes a histogram and takes its `_sum` and
/// `_count` along; the rest has no type.
pub(super) fn resolve(reader: &mut Reader<'_>) {
    for index in 0..reader.page.names.len() {
        let name = reader.page.names[index].text.clone();
        let resolved = declared(reader, &name);
        if let Some((family, role)) = resolved {
            reader.page.names[index].family = family;
            reader.page.names[index].role = role;
        } else if let Some(base) = base_of(&name, "_bucket").filter(|_| reader.page.names[index].has_le) {
            let family = reader.family_of(base);
            let known = &mut reader.page.families[family as usize];
            known.kind = known.kind.or(Some(FamilyKind::Histogram));
            reader.page.names[index].family = family;
            reader.page.names[index].role = Role::Bucket;
        }
    }
    for index in 0..reader.page.names.len() {
        if reader.page.names[index].family == u32::MAX {
            let name = reader.page.names[index].text.clone();
            let (family, role) =
                declared(reader, &name).unwrap_or_else(|| (reader.family_of(name.clone()), Role::Plain));
            reader.page.names[index].family = family;
            reader.page.names[index].role = role;
        }
    }
}

fn declared(reader: &Reader<'_>, name: &str) -> Option<(u32, Role)> {
    let kind_of = |family: u32| reader.page.families[family as usize].kind;
    let exact = reader.family_index.get(name).copied();
    if let Some(family) = exact.filter(|family| kind_of(*family).is_some()) {
        return Some((family, Role::Plain));
    }
    let (base, _) = name.rsplit_once('_')?;
    let suffix = &name[base.len()..];
    let family = *reader.family_index.get(base)?;
    let role = kind_of(family)?.suffixes().iter().find(|(known, _)| *known == suffix)?.1;
    Some((family, role))
}

fn base_of<'a>(name: &Cow<'a, str>, suffix: &str) -> Option<Cow<'a, str>> {
    match name {
        Cow::Borrowed(text) => text.strip_suffix(suffix).map(Cow::Borrowed),
        Cow::Owned(text) => text.strip_suffix(suffix).map(|base| Cow::Owned(base.to_owned())),
    }
}
