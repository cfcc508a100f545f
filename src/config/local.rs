//! The machine that Headwater runs on: the `[local]` table, and what bare targets mean for it.

use std::net::{IpAddr, UdpSocket};
use std::path::PathBuf;

use headwater_engine::loopback::leads_back;
use headwater_engine::settings::Teller;

use super::file::LocalTable;
use super::place::Document;
use super::resolve::is_plain_name;
use crate::sources::host::{HostSpec, name_of_this_machine};
use crate::sources::nvml::{LISTS_EVERY, NvmlSpec};

/// What is looked at on the machine that Headwater runs on.
#[derive(Clone, Debug)]
pub struct LocalSpec {
    /// What it is called.
    pub name: String,
    /// Its GPUs.
    pub gpu: Option<NvmlSpec>,
    /// Its kernel.
    pub host: Option<HostSpec>,
}

impl LocalSpec {
    /// What tells of its GPUs, where they were asked for: nobody is to miss them in silence.
    pub(super) fn teller(&self) -> Option<Teller> {
        let expected = self.gpu.as_ref().filter(|gpu| gpu.is_expected);
        expected.map(|_| Teller { subject: NvmlSpec::subject(), every: Some(LISTS_EVERY) })
    }

    /// NVIDIA's management library, where one is configured.
    pub(crate) fn nvml_library(&self) -> Option<PathBuf> {
        self.gpu.as_ref()?.library.clone()
    }

    /// The machine of this name, of which nothing is looked at.
    fn unseen(name: String) -> Self {
        Self { name, gpu: None, host: None }
    }

    /// The machine of this name, with its GPUs where the library is there.
    fn found(name: String) -> Self {
        Self { gpu: Some(NvmlSpec::new(&name, false)), host: Some(HostSpec::new(&name)), name }
    }
}

/// Whether the machine that Headwater runs on is looked at beside bare targets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Locally {
    /// It is not.
    #[default]
    Off,
    /// It is where one of them is on it, by a Unix socket, its name or an address of its own. A loopback address may be the
    /// near end of a tunnel to another machine, and behind a proxy or a forwarded port nothing that looks near is.
    Auto,
    /// It is.
    On,
}

/// What a `[local]` table asks for.
pub(super) fn resolve(table: Option<&LocalTable>, document: &mut Document<'_>) -> LocalSpec {
    let Some(table) = table else { return LocalSpec::unseen(name_of_this_machine()) };
    if !(table.gpu.unwrap_or_default() || table.host.unwrap_or_default()) {
        document.complain(&["local"], "[local] asks for nothing: write gpu = true or host = true");
    }
    if table.name.as_deref().is_some_and(|name| !is_plain_name(name) || name.contains(':')) {
        document.wrong(&["local", "name"], "is not a name: write letters, digits, '.', '_' and '-'");
    }
    let name = table.name.clone().unwrap_or_else(name_of_this_machine);
    let mut spec = LocalSpec::unseen(name.clone());
    if table.gpu == Some(true) {
        let library = table.nvml_library.as_ref().map(PathBuf::from);
        spec.gpu = Some(NvmlSpec { library, ..NvmlSpec::new(&name, true) });
    } else if table.nvml_library.is_some() {
        document.complain(&["local", "nvml_library"], "'nvml_library' needs gpu = true beside it");
    }
    spec.host = (table.host == Some(true)).then(|| HostSpec::new(&name));
    spec
}

/// What is looked at beside bare targets at these places: `HOST`, `HOST:PORT`, or the path of a socket.
pub(super) fn beside(locally: Locally, places: &[String], is_forwarded: bool) -> LocalSpec {
    let name = name_of_this_machine();
    match locally {
        Locally::On => LocalSpec::found(name),
        Locally::Auto if !is_forwarded && places.iter().any(|place| is_here(place, &name)) => {
            LocalSpec::found(name)
        }
        Locally::Auto | Locally::Off => LocalSpec::unseen(name),
    }
}

/// Whether a place is on this machine, as far as its name or address tells.
fn is_here(place: &str, own_name: &str) -> bool {
    if place.starts_with('/') {
        return true;
    }
    let host = match place.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        // A bare address of IP version 6 has many colons and no port.
        None if place.matches(':').count() > 1 => place,
        None => place.split(':').next().unwrap_or_default(),
    };
    // The way back may end in a tunnel, whatever this machine is called.
    if leads_back(host) {
        return false;
    }
    match host.parse::<IpAddr>() {
        Ok(address) => is_own(address.to_canonical()),
        Err(_) => host.eq_ignore_ascii_case(own_name),
    }
}

/// Whether an address is one of this machine's, and nobody else's: only those can be bound to.
fn is_own(address: IpAddr) -> bool {
    !address.is_multicast() && UdpSocket::bind((address, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An address of this machine that is no loopback, as a socket towards elsewhere would have; nothing is sent. A
    /// machine without any network has none.
    fn own_address() -> Option<IpAddr> {
        let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
        socket.connect("203.0.113.7:9").ok()?;
        Some(socket.local_addr().ok()?.ip()).filter(|address| !leads_back(&address.to_string()))
    }

    #[test]
    fn a_place_is_here_by_its_name_or_an_address_of_this_machine() {
        let own =
            own_address().map(|own| [own.to_string(), format!("{own}:6379"), format!("[::ffff:{own}]:6379")]);
        let named = ["/run/redis.sock", "me:1", "ME"].map(str::to_owned);
        for here in own.into_iter().flatten().chain(named) {
            assert!(is_here(&here, "me"), "{here}");
        }
        // Addresses for documentation are nobody's, and a loopback address is where tunnels end.
        for elsewhere in [
            "203.0.113.7:6379",
            "[2001:db8::7]:6379",
            "redis.example:6379",
            "localhost.example:1",
            "localhost",
            "LOCALHOST:6379",
            "127.0.0.1:8000",
            "127.3.4.5",
            "[::1]:6379",
            "::1",
            "0.0.0.0:6379",
            "[::]:6379",
            "[::ffff:127.0.0.1]:6379",
        ] {
            assert!(!is_here(elsewhere, "me"), "{elsewhere}");
        }
        assert!(!is_here("localhost:1", "localhost"), "a machine that never got a name");
    }

    #[test]
    fn what_is_forwarded_is_not_here_and_what_is_asked_for_is_looked_at_anyway() {
        let has_host = |locally, place: &str, is_forwarded| {
            beside(locally, &[place.to_owned()], is_forwarded).host.is_some()
        };
        assert!(has_host(Locally::Auto, "/run/redis.sock", false));
        assert!(!has_host(Locally::Auto, "/run/redis.sock", true));
        assert!(!has_host(Locally::Auto, "127.0.0.1:1", false));
        assert!(!has_host(Locally::Auto, "203.0.113.7:1", false));
        assert!(!has_host(Locally::Off, "127.0.0.1:1", false));
        assert!(has_host(Locally::On, "203.0.113.7:1", true));
    }
}
