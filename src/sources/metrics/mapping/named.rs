//! Whom the series of a page are about: the subjects of one role that their labels name.

use std::collections::HashMap;

use headwater_engine::Subject;

use super::page::Page;
use crate::sources::metrics::dialect::{Asked, Dialect, Naming, SubjectRole};
use crate::sources::metrics::exposition::Label;

/// A series whose labels should name somebody and do not.
pub(super) struct Nobody;

/// Names the subjects of one role on one page.
pub(super) struct Named<'d> {
    naming: Option<&'d Naming>,
    by: By<'d>,
    asked: &'d Asked,
}

/// Whose labels name the subject of a series.
enum By<'d> {
    /// Its own.
    Itself,
    /// Those of one series for all.
    First(&'d [Label<'d>]),
    /// Those of the series of another family that says the same where both are joined.
    Joint(HashMap<&'d str, &'d [Label<'d>]>),
}

impl<'d> Named<'d> {
    pub(super) fn new(
        page: &'d Page<'d, '_>,
        dialect: &'d Dialect,
        role: SubjectRole,
        asked: &'d Asked,
    ) -> Self {
        let naming = dialect.names.get(&role);
        let by = match naming.and_then(|naming| Some((naming, naming.from.as_ref()?))) {
            None => By::Itself,
            Some((naming, family)) if naming.is_joined() => By::Joint(page.labels_by_joint(family, naming)),
            Some((_, family)) => By::First(page.first_labels(family)),
        };
        Self { naming, by, asked }
    }

    /// Whom a series with these labels is about; `None` is the target's own.
    pub(super) fn subject(&self, labels: &[Label<'_>]) -> Result<Option<Subject>, Nobody> {
        let Some(naming) = self.naming else { return Ok(None) };
        naming.subject(self.labels(labels), self.asked).map(Some).ok_or(Nobody)
    }

    /// The labels that name the subject of a series with these.
    pub(super) fn labels<'l>(&'l self, labels: &'l [Label<'l>]) -> &'l [Label<'l>] {
        match (&self.by, self.naming) {
            (By::First(first), _) => first,
            (By::Joint(by), Some(naming)) => {
                naming.joint(labels).and_then(|joint| by.get(joint)).copied().unwrap_or(labels)
            }
            _ => labels,
        }
    }
}
