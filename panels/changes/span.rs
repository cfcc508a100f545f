//! How far back changes are shown.

/// How far back is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Span {
    Day,
    Week,
}

impl Span {
    /// In days.
    pub(super) const fn days(self) -> u64 {
        match self {
            Self::Day => 1,
            Self::Week => 7,
        }
    }

    /// The word for it.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
        }
    }

    /// The one that is not shown.
    pub(super) const fn other(self) -> Self {
        match self {
            Self::Day => Self::Week,
            Self::Week => Self::Day,
        }
    }
}
