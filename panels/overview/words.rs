//! The words on the overview that help explains.

/// Each with its sentence; the letters stand under the time axis.
pub(super) static WORDS: &[(&str, &str)] = &[
    ("err/inst", "requests that end in an error, at the instance with most of them"),
    ("victim", "it suffers from what it calls, and is not the cause"),
    ("stirs", "a rule has begun to see something, and not for long enough to be sure"),
    (
        "loop",
        "trouble that feeds itself, as retries do: it stays when its first cause has gone; break it where the line says",
    ),
    (
        "judgements clear",
        "each rule is judged on everything that it watches: how many of these were seen, and found in order",
    ),
    ("r d b", "under the time axis: a runbook or a step answered, an action taken, a scan of keys"),
    ("m n c x", "under the time axis: a mark, a note, a change, an error that a GPU's driver logged (XID)"),
];
