//! The grammar of CLUSTER NODES:
//! `<id> <ip:port@cport[,hostname[,aux=value]*]> <flag,..> <master id|-> <ping> <pong> <epoch> <link> <slot>..`

use headwater_engine::reading::NodeHealth;

use super::{Host, SLOTS, SeenNode};

/// One line of CLUSTER NODES.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeLine {
    /// The node id.
    pub id: String,
    /// The address to dial.
    pub host: Host,
    /// The port for clients.
    pub port: u16,
    /// The announced name, when there is one.
    pub hostname: Option<String>,
    /// Whether this is the node that answered.
    pub myself: bool,
    /// The node that it replicates.
    pub master: Option<String>,
    /// What its flags say.
    pub health: NodeHealth,
    /// The ranges of slots that it owns.
    pub slots: Vec<(u16, u16)>,
    /// Slots that it is giving away, with the id of the node that takes each; only the node itself says so.
    pub leaving: Vec<(u16, String)>,
    /// Slots that it is taking, with the id of the node that gives each; only the node itself says so.
    pub arriving: Vec<(u16, String)>,
}

impl NodeLine {
    /// The line as a node of a shard.
    pub(super) fn seen(&self) -> SeenNode {
        SeenNode {
            id: self.id.clone(),
            host: self.host.clone(),
            ip: match &self.host {
                Host::Known(address) => Some(address.clone()),
                _ => None,
            },
            port: self.port,
            tls_port: None,
            primary: self.master.is_none(),
            health: self.health,
        }
    }
}

/// Reads a reply. Lines that do not follow the grammar and nodes that are only being met are left out.
pub fn read_nodes(text: &str) -> Vec<NodeLine> {
    text.lines().filter_map(read_line).collect()
}

fn read_line(line: &str) -> Option<NodeLine> {
    let mut words = line.split_ascii_whitespace();
    let (id, address, flags, master) = (words.next()?, words.next()?, words.next()?, words.next()?);
    // ping, pong, epoch, link state
    let words: Vec<&str> = words.skip(4).collect();
    let moving = |arrow| words.iter().filter_map(move |word| read_move(word, arrow)).collect();
    let has = |flag: &str| flags.split(',').any(|known| known == flag);
    if has("handshake") {
        return None;
    }
    let (endpoint, hostname) = match address.split_once(',') {
        Some((endpoint, rest)) => (endpoint, rest.split(',').next().filter(|name| !name.is_empty())),
        None => (address, None),
    };
    // The address may be an IPv6 one without brackets, so the port is what follows the last colon.
    let (host, port) = endpoint.rsplit_once('@').map_or(endpoint, |(front, _)| front).rsplit_once(':')?;
    let health = match () {
        () if has("fail") => NodeHealth::Failed,
        () if has("fail?") => NodeHealth::Suspected,
        () => NodeHealth::Online,
    };
    Some(NodeLine {
        id: id.to_owned(),
        host: if has("noaddr") { Host::Unknown } else { Host::of(Some(host)) },
        port: port.parse().ok()?,
        hostname: hostname.map(str::to_owned),
        myself: has("myself"),
        master: (master != "-").then(|| master.to_owned()),
        health,
        slots: words.iter().filter_map(|word| read_slots(word)).collect(),
        leaving: moving("->-"),
        arriving: moving("-<-"),
    })
}

/// `5` or `5-9`; a slot on the move, `[5->-id]` or `[5-<-id]`, stays with its owner until it has arrived.
fn read_slots(word: &str) -> Option<(u16, u16)> {
    let (first, last) = word.split_once('-').unwrap_or((word, word));
    Some((first.parse().ok()?, last.parse().ok()?)).filter(|(first, last)| first <= last)
}

/// `[5->-id]` or `[5-<-id]`, by its arrow.
fn read_move(word: &str, arrow: &str) -> Option<(u16, String)> {
    let (slot, id) = word.strip_prefix('[')?.strip_suffix(']')?.split_once(arrow)?;
    Some((slot.parse().ok().filter(|slot| *slot < SLOTS)?, id.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_every_kind_are_split_at_the_right_colon() {
        let lines = read_nodes(
            "a ::1:7510@17510,n1.example myself,master - 0 0 0 connected 0-16383\n\
             b :7511@17511 master - 0 0 0 connected\n\
             c 10.0.0.1:6379@16379, slave a 0 0 0 connected\n\
             d 10.0.0.2:6380 slave,fail? a 0 0 0 disconnected\n\
             e :0@0 master,fail,noaddr - 0 0 0 disconnected 5\n\
             f 127.0.0.1:7999@17999 handshake - 0 0 0 disconnected\n\
             g 10.0.0.3:6379@16379,,tls-port=0,shard-id=x slave,nofailover a 0 0 0 connected\n",
        );
        let seen: Vec<_> = lines.iter().map(|n| (n.id.as_str(), n.host.clone(), n.port)).collect();
        let known = |host: &str| Host::Known(host.to_owned());
        assert_eq!(
            seen,
            [
                ("a", known("::1"), 7_510),
                ("b", Host::AsAsked, 7_511),
                ("c", known("10.0.0.1"), 6_379),
                ("d", known("10.0.0.2"), 6_380),
                ("e", Host::Unknown, 0),
                ("g", known("10.0.0.3"), 6_379),
            ]
        );
        assert_eq!(lines[0].hostname.as_deref(), Some("n1.example"));
        assert!(lines[0].myself && !lines[1].myself);
        assert_eq!(lines[2].hostname, None);
        assert_eq!((lines[3].health, lines[4].health), (NodeHealth::Suspected, NodeHealth::Failed));
        assert_eq!(lines[4].slots, [(5, 5)]);
    }

    #[test]
    fn moving_slots_stay_with_their_owner() {
        let lines = read_nodes("a h:1@2 master - 0 0 1 connected 0-5 7 [100->-b] [101-<-c] 9-3\n");
        assert_eq!(lines[0].slots, [(0, 5), (7, 7)]);
        assert_eq!(lines[0].leaving, [(100, "b".to_owned())]);
        assert_eq!(lines[0].arriving, [(101, "c".to_owned())]);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "(?s).{0,300}") {
            let _ = read_nodes(&text);
        }

        #[test]
        fn what_is_written_is_read_back(
            id in "[0-9a-f]{40}",
            host in "([0-9]{1,3}\\.){3}[0-9]{1,3}|[0-9a-f:]{0,20}[0-9a-f]",
            port in 1_u16..,
            slots in proptest::collection::vec(0_u16..16_384, 0..5),
        ) {
            let tail: Vec<_> = slots.iter().map(ToString::to_string).collect();
            let line = format!("{id} {host}:{port}@1{port} master - 0 1 2 connected {}", tail.join(" "));
            let lines = read_nodes(&line);
            proptest::prop_assert_eq!(&lines[0].id, &id);
            proptest::prop_assert_eq!(&lines[0].host, &Host::Known(host));
            proptest::prop_assert_eq!(lines[0].port, port);
            let read: Vec<_> = lines[0].slots.iter().map(|(first, _)| *first).collect();
            proptest::prop_assert_eq!(read, slots);
        }
    }
}
