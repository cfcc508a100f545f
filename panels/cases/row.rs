//! One case in a row, beside what is going on.

use headwater_engine::case::{Case, Likeness, matches};

use crate::lines::{self, Weight};
use crate::palette::ColorRole;
use crate::panel::View;
use crate::table::Row;

/// One case.
pub(super) struct Line {
    case: Case,
    /// How much it looks like what is going on, 0 to 1; `None` when it does not.
    pub(super) share: Option<f64>,
    /// The same in words.
    pub(super) percent: String,
    pub(super) title: String,
    /// What is alike, and what is clear here, in few words.
    pub(super) why: String,
    /// What is alike and what is not, one a line.
    likeness: Vec<(&'static str, String)>,
    /// Everything it says, to be searched.
    pub(super) text: String,
}

impl Row for Line {
    fn id(&self) -> &str {
        &self.case.id
    }
}

impl Line {
    fn new(case: &Case, likeness: Option<&Likeness<'_>>) -> Self {
        let parts: Vec<String> = case.parts().into_iter().flat_map(|(_, texts)| texts).collect();
        Self {
            share: likeness.map(|likeness| likeness.share),
            percent: likeness.map_or_else(|| "-".to_owned(), Likeness::percent),
            title: case.title.clone(),
            why: likeness.map(Likeness::summary).unwrap_or_default(),
            likeness: likeness.map(Likeness::words).unwrap_or_default(),
            text: format!("{} {}", case.id, parts.join(" ")),
            case: case.clone(),
        }
    }

    /// The colour of how alike it is.
    pub(super) fn role(&self) -> ColorRole {
        if self.share.is_some() { ColorRole::Heading } else { ColorRole::Faint }
    }

    /// What is said of it below the table: what it is, why it is alike, what stopped it.
    pub(super) fn summary(&self) -> Vec<lines::Line> {
        let mut told =
            vec![lines::Line::new(Weight::Core, &self.percent, self.title.clone()).colored(self.role())];
        if !self.why.is_empty() {
            told.push(lines::Line::new(Weight::Whole, "why", self.why.clone()));
        }
        if let Some(fix) = self.case.fix.first() {
            told.push(lines::Line::new(Weight::Whole, "stopped by", fix.clone()));
        }
        if let Some(avoid) = self.case.avoid.first() {
            told.push(lines::Line::new(Weight::Context, "avoid", avoid.clone()));
        }
        told
    }

    /// The whole case as a page.
    pub(super) fn lines(&self) -> Vec<lines::Line> {
        self.labelled()
            .into_iter()
            .map(|(label, text)| lines::Line::new(Weight::Core, label, text).text_colored(color(label)))
            .collect()
    }

    /// One row of text.
    pub(super) fn words(&self) -> String {
        let why =
            if self.why.is_empty() { String::new() } else { format!(" ({}: {})", self.percent, self.why) };
        format!("{}: {}{why}", self.case.id, self.title)
    }

    /// The whole case as text.
    pub(super) fn written(&self) -> String {
        let mut text = format!("{}\n", self.words());
        for (label, line) in self.labelled() {
            text += &format!("{label:<11}{line}\n");
        }
        text
    }

    /// Likeness, then the case, each label once above all that it stands for.
    fn labelled(&self) -> Vec<(&'static str, String)> {
        let likeness = self.likeness.iter().cloned();
        let parts = self.case.parts().into_iter();
        let parts = parts.flat_map(|(label, texts)| texts.into_iter().map(move |text| (label, text)));
        let mut last = "";
        likeness
            .chain(parts)
            .map(|(label, text)| {
                let shown = if label == last { "" } else { label };
                last = label;
                (shown, text)
            })
            .collect()
    }
}

fn color(label: &str) -> ColorRole {
    match label {
        "was" => ColorRole::Heading,
        _ => ColorRole::Text,
    }
}

/// Every case: those that look like what is going on first, the most alike at the top, then the others.
pub(super) fn rows(view: &View<'_>) -> Vec<Line> {
    let cases = &view.library.cases;
    let alike = matches(&view.snapshot.report, &view.snapshot.rules, cases);
    let is_alike = |case: &&Case| alike.iter().any(|likeness| likeness.case.id == case.id);
    let others = cases.iter().filter(|case| !is_alike(case));
    alike
        .iter()
        .map(|likeness| Line::new(likeness.case, Some(likeness)))
        .chain(others.map(|case| Line::new(case, None)))
        .collect()
}

/// What the comparison comes to.
pub(super) fn told(view: &View<'_>, rows: &[Line]) -> String {
    let report = &view.snapshot.report;
    let count = rows.iter().filter(|row| row.share.is_some()).count();
    match count {
        0 if report.symptom.is_none() && report.suspects.is_empty() => {
            "nothing fires: nothing to compare".to_owned()
        }
        0 => "no case looks like this".to_owned(),
        1 => format!("1 of {} looks like this", rows.len()),
        _ => format!("{count} of {} look like this", rows.len()),
    }
}
