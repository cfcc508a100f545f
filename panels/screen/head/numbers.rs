//! The numbers of the first row: how callers are, by whoever sees it worst.

use headwater_engine::{Kind, Snapshot};

use super::Group;
use crate::callers::felt;
use crate::gauge::{multiple, value};
use crate::palette::ColorRole;

/// What stands in the first row after the name: the signal, the word before its value, and the cells that are kept for
/// it, so that what there is room for does not change with the digits.
const SIGNALS: &[(&str, &str, usize)] = &[
    ("p99", "p99 ", "p99 999 ms x99".len()),
    ("errors", "err ", "err 99.9 % x99".len()),
    ("requests", "", 9),
];

/// What may follow a number.
const MULTIPLE: &str = " x99";

/// The numbers that anybody tells. Whose they are stands before those of callers, and before those of the service that follow
/// one of theirs.
pub(super) fn groups(snapshot: &Snapshot) -> Vec<Group> {
    let mut groups = vec![];
    // Whose the number before it was: what is said of nobody else is the service's.
    let mut whose = Kind::Service;
    for (name, word, kept) in SIGNALS {
        let signal = snapshot.signals.iter().find(|signal| signal.row.name == *name);
        let Some(signal) = signal else { continue };
        let felt = felt(signal, snapshot);
        if felt.is_none() && signal.trace.latest().is_none() {
            continue;
        }
        let by = felt.as_ref().map_or(Kind::Service, |felt| felt.whose.kind());
        let label = if by == whose { (*word).to_owned() } else { format!("{} {word}", by.word()) };
        let mut kept = kept + label.len() - word.len();
        whose = by;
        let mut texts = vec![(label, ColorRole::Label)];
        match felt {
            // How many times as much as usual that is nobody has kept.
            Some(felt) => {
                kept -= MULTIPLE.len();
                texts.push((felt.shown, ColorRole::Guilty));
            }
            None => {
                let role = if signal.now.is_some() { ColorRole::Text } else { ColorRole::Unknown };
                texts.push((value(signal), role));
                let times = multiple(signal);
                texts.extend((!times.is_empty()).then(|| (format!(" {times}"), ColorRole::Guilty)));
            }
        }
        groups.push(Group { texts, kept });
    }
    groups
}
