//! Addresses that lead back to the machine that uses them.

use std::net::IpAddr;

/// Whether a host is this machine by the way back to itself: `localhost`, a loopback address, or the address that stands
/// for all of a machine's own, in either version of IP. It is near, but may be the end of a tunnel to another machine.
pub fn leads_back(host: &str) -> bool {
    let host = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    match host.parse::<IpAddr>().map(|address| address.to_canonical()) {
        Ok(address) => address.is_loopback() || address.is_unspecified(),
        Err(_) => host.eq_ignore_ascii_case("localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_of_writing_the_way_back_is_known() {
        for back in [
            "localhost",
            "LocalHost",
            "127.0.0.1",
            "127.3.4.5",
            "0.0.0.0",
            "::1",
            "[::1]",
            "::",
            "[::]",
            "::ffff:127.0.0.1",
            "[::ffff:127.0.0.9]",
            "::ffff:0.0.0.0",
        ] {
            assert!(leads_back(back), "{back}");
        }
        for away in ["10.0.0.1", "::ffff:10.0.0.1", "2001:db8::1", "localhost.example", "h", "", "128.0.0.1"]
        {
            assert!(!leads_back(away), "{away}");
        }
    }
}
