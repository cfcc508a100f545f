//! Envoy's default format, and Istio's, which says more of why.

use super::{Access, Attempt, CALLER_WENT_AWAY, given, route, seconds, words};

pub(super) fn read(line: &str) -> Option<Access> {
    if !line.trim_start().starts_with('[') {
        return None;
    }
    let words = words(line);
    // [TIME] "REQUEST" STATUS FLAGS ... RECEIVED SENT DURATION UPSTREAM-TIME "FOR" "AGENT" "ID" "AUTHORITY" "UPSTREAM"
    let (request, status, flags) = (words.get(1)?, words.get(2)?, words.get(3)?);
    let status: u16 = status.parse().ok().filter(|status| *status < 1_000)?;
    // What Istio adds before the bytes is no number.
    let rest = &words[4..];
    let sizes = rest.iter().position(|word| word.parse::<u64>().is_ok())?;
    let rest = &rest[sizes..];
    rest.get(1)?.parse::<u64>().ok()?;
    let went_away = flags.split(',').any(|flag| flag == "DC");
    let upstream_time = rest.get(3).and_then(|time| seconds(time, 1e-3));
    let upstream = rest.get(8).and_then(|upstream| given(upstream));
    // A status of 0 is none: the answer never began.
    let of_upstream = (status > 0 && !went_away && upstream_time.is_some()).then_some(status);
    Some(Access {
        route: route(request),
        status: if went_away { CALLER_WENT_AWAY } else { status },
        seconds: rest.get(2).and_then(|time| seconds(time, 1e-3)),
        id: rest.get(6).and_then(|id| given(id)).map(|id| id.as_bytes().to_vec()),
        attempts: upstream
            .map(|upstream| Attempt {
                upstream: upstream.to_owned(),
                status: of_upstream,
                seconds: upstream_time,
            })
            .into_iter()
            .collect(),
    })
}
