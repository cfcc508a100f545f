//! The words of the runbook that help explains.

/// What help explains.
pub(super) static WORDS: &[(&str, &str)] = &[
    (
        "confirm",
        "you have seen what the checks show, good, bad or not known; it does not mean that all is well",
    ),
    ("override", "you know better than the checks, or they cannot see it: your words stand in the report"),
    ("blind", "the checks of the step cannot be evaluated on fresh data, so it cannot pass"),
    ("! noted", "the step was answered by your words and not by its checks"),
    ("? noted", "you went on though its checks could not be seen: it is left unknown"),
    ("redo", "the step was answered before it became bad: look again"),
    ("gate", "what must be so before an action is taken"),
    ("left", "what is left of the golden five minutes: scope, metric, component, test, stop"),
];
