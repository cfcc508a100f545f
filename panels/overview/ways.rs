//! Where the keys lead from here, what is counted as not shown, and rows cut off an area.

use super::*;

/// Rules about Redis with the panel that shows their evidence, where it is another than that of shards.
static SHOWN_BY: &[(&str, &str)] = &[
    ("slow-commands", "slow-log"),
    ("hot-key", "keys"),
    ("co-located-keys", "keys"),
    ("big-key", "keys"),
    ("expiry-herd", "keys"),
];

/// The panel that shows an accusation best.
fn accused(suspect: &Suspect) -> (&'static str, Subject) {
    let panel = match suspect.subject.kind() {
        Kind::Redis => {
            SHOWN_BY.iter().find(|(rule, _)| *rule == suspect.rule).map_or("shards", |(_, panel)| panel)
        }
        Kind::Gpu => "gpu",
        Kind::Queue => "queue",
        Kind::Client | Kind::Gateway => "clients",
        _ => "rules",
    };
    (panel, suspect.subject.clone())
}

/// The panel that shows most of what is not accused, or why none shows anything.
fn unaccused(row: &SubjectVerdict, snapshot: &Snapshot) -> Result<(&'static str, Subject), String> {
    let has_source = snapshot.sources.iter().any(|source| row.subject.contains(&source.source));
    let panel = match (row.verdict, row.subject.kind()) {
        (Verdict::Unknown, _) if row.age_s.is_none() && has_source => "sources",
        (Verdict::Unknown, _) if row.age_s.is_none() => {
            return Err(format!("{}: {}; there is nothing to show", row.subject, row.reason));
        }
        (_, Kind::Redis) => "shards",
        _ => "rules",
    };
    Ok((panel, row.subject.clone()))
}

/// The panel that shows most of a component, or why none shows anything.
pub(crate) fn way_to(snapshot: &Snapshot, component: &Subject) -> Result<(&'static str, Subject), String> {
    let report = &snapshot.report;
    if let Some(suspect) = report.suspects.iter().find(|suspect| component.contains(&suspect.subject)) {
        return Ok(accused(suspect));
    }
    match report.verdicts.iter().find(|row| row.subject == *component) {
        Some(row) => unaccused(row, snapshot),
        None => Err(format!("{component}: nothing was seen of it; there is nothing to show")),
    }
}

impl Overview {
    /// Where `open` leads: to what is under the cursor, or to the first suspect where there is no cursor yet; or why nowhere.
    /// What is promised and what is done are both this.
    pub(super) fn way(&self, snapshot: &Snapshot) -> Result<(&'static str, Subject), String> {
        let rows = dependencies::rows(snapshot);
        if let Some(place) = self.place(&rows) {
            return way_to(snapshot, &rows[place].subject);
        }
        let first = snapshot.report.suspects.first().map(accused);
        first.ok_or_else(|| "nothing is accused: put the cursor on a dependency first".to_owned())
    }

    /// What the keys lead to from here.
    pub(super) fn hint(&self, view: &View<'_>) -> Option<String> {
        let key = view.keys.key_of(Action::Open);
        let (panel, subject) = self.way(view.snapshot).ok()?;
        let title = PANELS.iter().find(|row| row.name == panel)?.title;
        (!key.is_empty()).then(|| format!("{key}: {subject} on {title}"))
    }
}

/// Without a title, what was left out is counted at the end of the lowest row that is empty there.
pub(super) fn count_left_out(more: &str, palette: &Palette, verdict: Rect, buffer: &mut Buffer) {
    let width = u16::try_from(more.len()).unwrap_or(u16::MAX);
    let Some(x) = verdict.right().checked_sub(width).filter(|x| *x > verdict.x) else { return };
    let is_empty = |y: &u16| (x - 1..verdict.right()).all(|x| buffer[(x, *y)].symbol() == " ");
    if let Some(y) = (verdict.top()..verdict.bottom()).rev().find(is_empty) {
        buffer.set_stringn(x, y, more, usize::from(width), palette.style(ColorRole::Faint));
    }
}

/// Cuts so many rows off the top.
pub(super) fn cut(below: &mut Rect, rows: u16) -> Rect {
    let height = rows.min(below.height);
    let part = Rect { height, ..*below };
    *below = Rect { y: below.y + height, height: below.height - height, ..*below };
    part
}
