//! Which servers of DNS this machine asks, and which whole names it takes a written one for.

use std::net::{IpAddr, SocketAddr};

/// The servers that are asked, of those that this machine names.
const MOST_SERVERS: usize = 3;

/// Where this machine says which servers it asks.
const RESOLVER_FILE: &str = "/etc/resolv.conf";

/// What this machine says about asking DNS.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ResolverFile {
    /// Whom it asks.
    pub(super) servers: Vec<SocketAddr>,
    search: Vec<String>,
    dots: usize,
}

impl ResolverFile {
    /// What it says, with this server instead of its own where one is given.
    pub(super) fn read(server: Option<SocketAddr>) -> Self {
        let own = Self::of(&std::fs::read_to_string(RESOLVER_FILE).unwrap_or_default());
        server.into_iter().fold(own, Self::asking)
    }

    /// The same with this server alone.
    pub(super) fn asking(self, server: SocketAddr) -> Self {
        Self { servers: vec![server], ..self }
    }

    pub(super) fn of(text: &str) -> Self {
        let mut own = Self { servers: vec![], search: vec![], dots: 1 };
        for line in text.lines() {
            let mut words = line.split_whitespace();
            match words.next() {
                Some("nameserver") => {
                    let server = words.next().and_then(|word| word.parse::<IpAddr>().ok());
                    own.servers.extend(server.map(|server| SocketAddr::new(server, 53)));
                }
                Some("search" | "domain") => own.search = words.map(str::to_owned).collect(),
                Some("options") => {
                    let dots = words.find_map(|word| word.strip_prefix("ndots:")?.parse().ok());
                    own.dots = dots.unwrap_or(own.dots);
                }
                _ => {}
            }
        }
        own.servers.truncate(MOST_SERVERS);
        own
    }

    /// The whole names that a written one may mean, the likelier first.
    pub(super) fn names(&self, written: &str) -> Vec<String> {
        if written.ends_with('.') {
            return vec![written.to_owned()];
        }
        let below = self.search.iter().map(|domain| format!("{written}.{}", domain.trim_matches('.')));
        let whole = [written.to_owned()];
        match written.matches('.').count() >= self.dots {
            true => whole.into_iter().chain(below).collect(),
            false => below.chain(whole).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_looked_for_below_the_search_domains_as_this_machine_does() {
        let text = "# made by hand\nnameserver 10.0.0.2\nnameserver ::1\nnameserver x\nsearch prod.svc svc.\n\
                    options timeout:1 ndots:2\n";
        let here = ResolverFile::of(text);
        let servers: Vec<String> = here.servers.iter().map(ToString::to_string).collect();
        assert_eq!(servers, ["10.0.0.2:53", "[::1]:53"]);
        assert_eq!(here.names("ranker"), ["ranker.prod.svc", "ranker.svc", "ranker"]);
        assert_eq!(here.names("a.b.c"), ["a.b.c", "a.b.c.prod.svc", "a.b.c.svc"]);
        assert_eq!(here.names("ranker."), ["ranker."]);
        assert_eq!(ResolverFile::of(""), ResolverFile { servers: vec![], search: vec![], dots: 1 });
    }
}
