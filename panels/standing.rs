//! What a snapshot comes to, in the one glyph, word and colour that every part of the screen says it with.

use headwater_engine::Snapshot;
use headwater_engine::report::Conclusion;

use crate::palette::ColorRole;

/// What a snapshot comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    /// The glyph that says the same as the colour.
    pub(crate) glyph: &'static str,
    /// The words, in the case in which they stand within a line.
    pub(crate) words: &'static str,
    /// The one word for it, where a sentence follows.
    pub(crate) label: &'static str,
    /// The colour.
    pub(crate) role: ColorRole,
}

const INCIDENT: Standing =
    Standing { glyph: "X", words: "INCIDENT", label: "GUILTY", role: ColorRole::Guilty };
const ENDED: Standing = Standing { words: "INCIDENT ended", ..INCIDENT };
const SILENT: Standing =
    Standing { glyph: "?", words: "no target answers", label: "SILENT", role: ColorRole::Unknown };
const SUSPECTED: Standing =
    Standing { glyph: "!", words: "suspected", label: "SUSPECT", role: ColorRole::Suspect };
const BLIND: Standing =
    Standing { glyph: "?", words: "not everything seen", label: "BLIND", role: ColorRole::Unknown };
const SUFFERING: Standing =
    Standing { glyph: "!", words: "callers suffer", label: "SYMPTOM", role: ColorRole::Suspect };
const CALM: Standing =
    Standing { glyph: "o", words: "nothing guilty", label: "CALM", role: ColorRole::Innocent };

/// What a snapshot comes to: a verdict first, then what nobody sees, and all is calm only when nobody is suspected.
pub(crate) fn standing(snapshot: &Snapshot) -> Standing {
    let report = &snapshot.report;
    match report.conclusion {
        Conclusion::Guilty if report.ended().is_some() => ENDED,
        Conclusion::Guilty => INCIDENT,
        Conclusion::NoTarget => SILENT,
        _ if snapshot.silent_since().is_some() => SILENT,
        _ if !report.suspects.is_empty() => SUSPECTED,
        Conclusion::Blind => BLIND,
        // The report may be clear, and yet something is out of sight at this moment.
        Conclusion::Clear if snapshot.has_faulty_target() => BLIND,
        // The first seconds of an incident, or one whose cause nobody sees.
        Conclusion::Clear if snapshot.callers_suffer() => SUFFERING,
        Conclusion::Clear => CALM,
    }
}

#[cfg(test)]
mod tests {
    use headwater_engine::Kind;
    use headwater_engine::reading::{Fault, FaultKind};
    use headwater_engine::report::Verdict;
    use headwater_engine::wording::headline_of;

    use super::*;
    use crate::example::{Trouble, World};

    #[test]
    fn nothing_is_calm_while_somebody_is_suspected() {
        let calm = World::after(Trouble::None, 10);
        assert_eq!(standing(&calm), CALM);
        let mut sources = calm.sources.to_vec();
        let page = sources.iter_mut().find(|state| state.source.kind() == Kind::Service);
        let fault = Fault { kind: FaultKind::Http, message: "503".into() };
        page.unwrap().fault = Some((calm.at, fault));
        let partly = Snapshot { sources: sources.into(), ..(*calm).clone() };
        assert_eq!(standing(&partly), BLIND);
        let said = headline_of(&partly);
        assert!(said.contains("not everything could be seen: 1 of 5 sources is in trouble"), "{said}");
        let mut rules = calm.rules.to_vec();
        let felt = rules.iter_mut().find(|state| state.rule == "latency-shift").unwrap();
        felt.state = "firing";
        let suffering = Snapshot { rules: rules.into(), ..(*calm).clone() };
        assert_eq!(standing(&suffering), SUFFERING);
        assert_eq!(headline_of(&suffering), "callers suffer, and nobody is found guilty of it");
        assert_eq!(standing(&World::after(Trouble::Refused, 10)), SILENT);
        let incident = World::after(Trouble::FullLink, 60);
        assert_eq!(standing(&incident), INCIDENT);
        for conclusion in [Conclusion::Clear, Conclusion::Blind] {
            let suspected = World::suspected(conclusion);
            assert_eq!(suspected.report.suspects[0].verdict, Verdict::Suspect);
            assert_eq!(standing(&suspected), SUSPECTED, "{conclusion:?}");
        }
    }
}
