//! nginx's combined format, ingress-nginx's, and combined with times as `name=value` at the end.

use super::{Access, attempts, given, route, seconds, words};

/// Names that people give to what they add at the end.
const ADDED: &[(Added, &[&str])] = &[
    (Added::Time, &["rt", "request_time"]),
    (Added::UpstreamTime, &["urt", "upstream_response_time"]),
    (Added::Upstream, &["ua", "upstream", "upstream_addr"]),
    (Added::UpstreamStatus, &["us", "upstream_status"]),
    (Added::Id, &["id", "rid", "req_id", "request_id"]),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Added {
    Time,
    UpstreamTime,
    Upstream,
    UpstreamStatus,
    Id,
}

pub(super) fn read(line: &str) -> Option<Access> {
    let words = words(line);
    // ADDR - USER [TIME] "REQUEST" STATUS BYTES "REFERER" "AGENT" ...
    let (request, status) = (words.get(4)?, words.get(5)?);
    let status: u16 = status.parse().ok().filter(|status| *status < 1_000)?;
    words.get(6)?.parse::<u64>().ok()?;
    let mut access = Access { route: route(request), status, ..Access::default() };
    let tail = words.get(9..).unwrap_or_default();
    // LENGTH TIME [UPSTREAM] [OTHER] ADDR LENGTH TIME STATUS ID, where lists have blanks after their commas.
    if let [length, time, ..] = tail
        && length.parse::<u64>().is_ok()
        && let Some(time) = seconds(time, 1.0)
    {
        access.seconds = Some(time);
        let rest = tail.get(4..).unwrap_or_default();
        if let Some((id, rest)) = rest.split_last().filter(|(_, rest)| rest.len() >= 4 && rest.len() % 4 == 0)
        {
            let each = rest.len() / 4;
            let list = |place: usize| rest[place * each..(place + 1) * each].join(" ");
            access.attempts = attempts(&list(0), &list(3), &list(2), 1.0);
            access.id = given(id).map(|id| id.as_bytes().to_vec());
        }
        return Some(access);
    }
    let added = |wanted: Added| {
        let (_, names) = ADDED.iter().find(|(added, _)| *added == wanted)?;
        tail.iter().find_map(|word| {
            let (name, value) = word.split_once('=')?;
            names.contains(&name).then(|| value.trim_matches('"'))
        })
    };
    access.seconds = added(Added::Time).and_then(|time| seconds(time, 1.0));
    access.id = added(Added::Id).and_then(given).map(|id| id.as_bytes().to_vec());
    access.attempts = attempts(
        added(Added::Upstream).unwrap_or_default(),
        added(Added::UpstreamStatus).unwrap_or_default(),
        added(Added::UpstreamTime).unwrap_or_default(),
        1.0,
    );
    Some(access)
}
