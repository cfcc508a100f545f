//! Which GPU a name means. A GPU is its uuid: tools number GPUs by their own machine, which one calls by its name, another by the
//! address at which it is asked, and a container by its own id. So one GPU may have several names, and one name several GPUs, as
//! of two exporters whose ports are forwarded to this machine.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::World;
use super::gpu_tellers::is_of_gpu;
use super::machine::whole_of;
use crate::reading::{Event, GpuName, Reading};
use crate::subject::{Kind, Subject};
use crate::text::RemoteText;

/// A uuid in the form in which two tools tell the same: some leave NVIDIA's `GPU-` out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Uuid(RemoteText);

impl Uuid {
    fn new(told: &str) -> Self {
        let lower = told.to_ascii_lowercase();
        Self(RemoteText::new(lower.strip_prefix("gpu-").unwrap_or(&lower)))
    }

    /// What may be the uuid in the name of a GPU, `HOST:UUID`: a number is none.
    fn in_name(gpu: &Subject) -> Option<Self> {
        let (_, last) = gpu.name().rsplit_once(':')?;
        let is_number = last.len() < 8 && last.bytes().all(|byte| byte.is_ascii_digit());
        (!is_number).then(|| Self::new(last))
    }
}

/// What a name is worth, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Worth {
    /// Its driver was asked here.
    Direct,
    /// It has the name of its machine.
    Named,
    /// It has the address at which somebody was asked, which may be that of a tunnel.
    Addressed,
}

impl Worth {
    fn of(source: &Subject, gpu: &Subject) -> Self {
        let host = gpu.name().rsplit_once(':').map_or("", |(host, _)| host);
        match source.kind() {
            Kind::Discovery => Self::Direct,
            _ if host == "localhost" || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok() => {
                Self::Addressed
            }
            _ => Self::Named,
        }
    }
}

/// What GPUs are called.
#[derive(Debug, Default)]
pub(super) struct GpuNames {
    /// The names of each source's own GPUs.
    told: BTreeMap<Subject, BTreeMap<Subject, Uuid>>,
    /// Which GPUs have a name, and who says so.
    claims: BTreeMap<Subject, BTreeSet<(Uuid, Subject)>>,
    /// What each GPU is called here.
    called: BTreeMap<Uuid, (Subject, Worth)>,
    /// Which GPU each of these names means.
    holders: BTreeMap<Subject, Uuid>,
    /// Whether names may have become former ones that nobody has looked for yet.
    is_news: bool,
}

impl GpuNames {
    /// Takes the names of all GPUs of a source.
    fn tell(&mut self, source: &Subject, list: BTreeMap<Subject, Uuid>) {
        if self.told.get(source) == Some(&list) {
            return;
        }
        self.is_news = true;
        self.forget_source(source);
        for (gpu, uuid) in &list {
            self.claims.entry(gpu.clone()).or_default().insert((uuid.clone(), source.clone()));
        }
        for (gpu, uuid) in &list {
            self.call(uuid, gpu, Worth::of(source, gpu));
        }
        self.told.insert(source.clone(), list);
    }

    /// Finds a name for a GPU that a source calls so. A name that two GPUs have at once is neither's, and a name that another
    /// had stays that one's until it has left: it may only be lost, and the others be numbered anew.
    fn call(&mut self, uuid: &Uuid, gpu: &Subject, worth: Worth) {
        let is_direct = worth == Worth::Direct;
        let is_claimed_by_other =
            self.claims.get(gpu).is_some_and(|claims| claims.iter().any(|(other, _)| other != uuid));
        let holder = self.holders.get(gpu).filter(|holder| *holder != uuid).cloned();
        if let Some(holder) = &holder {
            let held = self.called.get(holder).map_or(Worth::Addressed, |(_, held)| *held);
            let claims = self.claims.get(gpu).into_iter().flatten();
            let is_claimed = claims.filter(|(other, _)| other == holder).count() > 0;
            if is_direct || (is_claimed && held > Worth::Direct) {
                self.name(holder, by_uuid(gpu, holder), held);
            }
        }
        if self.called.get(uuid).is_some_and(|(_, known)| *known <= worth) {
            return;
        }
        let is_free = is_direct || (holder.is_none() && !is_claimed_by_other);
        self.name(uuid, if is_free { gpu.clone() } else { by_uuid(gpu, uuid) }, worth);
    }

    fn name(&mut self, uuid: &Uuid, gpu: Subject, worth: Worth) {
        if let Some((before, _)) = self.called.insert(uuid.clone(), (gpu.clone(), worth)) {
            self.holders.remove(&before);
        }
        self.holders.insert(gpu, uuid.clone());
    }

    /// What a GPU, or a slice of one, is called here that a source, or nobody in particular, calls so; `None` where that is its name.
    fn other_name(&self, source: Option<&Subject>, gpu: &Subject) -> Option<Subject> {
        let (whole, slice) = whole_of(gpu);
        let told = source.and_then(|source| self.told.get(source)?.get(&whole));
        let uuid = told.cloned().or_else(|| {
            if self.holders.contains_key(&whole) {
                return None;
            }
            let mut claims = self.claims.get(&whole).into_iter().flatten().map(|(uuid, _)| uuid);
            let only = claims.next().filter(|only| claims.all(|other| other == *only));
            only.cloned().or_else(|| Uuid::in_name(&whole))
        })?;
        let (called, _) = self.called.get(&uuid)?;
        (*called != whole).then(|| Subject::component(Kind::Gpu, &format!("{}{slice}", called.name())))
    }

    /// Whether nothing is called so any more that was.
    fn is_former(&self, gpu: &Subject) -> bool {
        let (whole, _) = whole_of(gpu);
        self.other_name(None, gpu).is_some()
            || (!self.holders.contains_key(&whole) && self.claims.contains_key(&whole))
    }

    /// Forgets what a source said that has left; what GPUs are called stays.
    pub(super) fn forget_source(&mut self, source: &Subject) {
        for (gpu, uuid) in self.told.remove(source).into_iter().flatten() {
            if let Some(claims) = self.claims.get_mut(&gpu) {
                claims.remove(&(uuid, source.clone()));
                if claims.is_empty() {
                    self.claims.remove(&gpu);
                }
            }
        }
    }

    /// Forgets the names of GPUs that have left, unless their pages still tell them: those say only once whose they are.
    pub(super) fn forget(&mut self, gone: &BTreeSet<Subject>) {
        let told: BTreeSet<&Uuid> = self.told.values().flat_map(BTreeMap::values).collect();
        for gpu in gone {
            if let Some(uuid) = self.holders.get(gpu).filter(|uuid| !told.contains(uuid)).cloned() {
                self.called.remove(&uuid);
                self.holders.remove(gpu);
            }
        }
    }
}

/// The name of a GPU whose number is another's as well.
fn by_uuid(gpu: &Subject, uuid: &Uuid) -> Subject {
    let host = gpu.name().rsplit_once(':').map_or("", |(host, _)| host);
    Subject::component(Kind::Gpu, &format!("{host}:{}", uuid.0.as_str()))
}

impl World {
    /// A reading with its GPUs under the names that they have here, whatever its source calls them.
    pub(super) fn named_by_uuid<'a>(&mut self, reading: Cow<'a, Reading>) -> Cow<'a, Reading> {
        let mut list = BTreeMap::new();
        for event in &reading.events {
            if let Event::Gpu(GpuName { uuid, gpu }) = event {
                list.entry(gpu.clone()).or_insert_with(|| Uuid::new(uuid.as_str()));
            }
        }
        if !list.is_empty() {
            self.gpus.names.tell(&reading.source, list);
        }
        // Who asks a driver himself calls its GPUs as they are called here.
        if self.gpus.names.called.is_empty() || reading.source.kind() == Kind::Gpu {
            return reading;
        }
        let mut named = reading;
        let mut others: BTreeMap<Subject, Option<Subject>> = BTreeMap::new();
        for index in 0..named.samples.len() {
            if !is_of_gpu(&named.samples[index]) {
                continue;
            }
            let gpu = &named.samples[index].subject;
            let other = match others.get(gpu) {
                Some(known) => known.clone(),
                None => {
                    let other = self.gpus.names.other_name(Some(&named.source), gpu);
                    others.insert(gpu.clone(), other.clone());
                    other
                }
            };
            if let Some(other) = other {
                named.to_mut().samples[index].subject = other;
            }
        }
        named
    }

    /// Forgets GPUs by names that they have no more: they have not fallen silent under them. Once for all pages of a tick, as all
    /// names are looked through, and each page of a fleet is news when it is first heard.
    pub(crate) fn forget_former_names(&mut self) {
        if !std::mem::take(&mut self.gpus.names.is_news) {
            return;
        }
        let known = self.gpus.tellers().map(|(gpu, _)| gpu);
        let former: BTreeSet<Subject> = known.filter(|gpu| self.gpus.names.is_former(gpu)).cloned().collect();
        if !former.is_empty() {
            self.forget_gpus(&former);
            self.gone.extend(former);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::GPU_UTILIZATION;
    use crate::reading::Value;
    use crate::time::Moment;

    /// A page of this place that tells these GPUs with their uuids.
    fn page(place: &str, gpus: &[(&str, &str)]) -> Reading {
        let mut reading = Reading::new(format!("service/page@{place}").parse().unwrap(), Moment(0));
        for (gpu, uuid) in gpus {
            let gpu: Subject = gpu.parse().unwrap();
            reading.events.push(Event::Gpu(GpuName { uuid: RemoteText::new(uuid), gpu: gpu.clone() }));
            reading.sample(&gpu, GPU_UTILIZATION, Value::Gauge(0.5));
        }
        reading
    }

    /// What the GPUs of a page are called when it is heard.
    fn hear(world: &mut World, page: &Reading) -> Vec<String> {
        let named = world.named(page).into_owned();
        world.take(&named);
        world.heard_of_gpus(&named);
        named.samples.iter().map(|sample| sample.subject.to_string()).collect()
    }

    fn known(world: &mut World) -> Vec<&str> {
        world.forget_former_names();
        world.gpus.tellers().map(|(gpu, _)| gpu.as_str()).collect()
    }

    #[test]
    fn two_gpus_of_one_number_are_two_whoever_is_heard_first() {
        let pages = [
            page("127.0.0.1:1", &[("gpu/127.0.0.1:0", "aaaa")]),
            page("127.0.0.1:2", &[("gpu/127.0.0.1:0", "GPU-BBBB")]),
            page("127.0.0.1:3", &[("gpu/127.0.0.1:0", "cccc")]),
        ];
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
            let mut world = World::default();
            for place in order.into_iter().chain([0, 1, 2]) {
                hear(&mut world, &pages[place]);
            }
            assert_eq!(known(&mut world), ["gpu/127.0.0.1:aaaa", "gpu/127.0.0.1:bbbb", "gpu/127.0.0.1:cccc"]);
        }
    }

    #[test]
    fn names_are_looked_through_once_for_all_pages_of_a_tick_and_only_after_news() {
        let uuid = |number: usize| format!("00000000-1111-2222-3333-{number:012}");
        let of = |number: usize, gpu: String| page(&format!("h:{number}"), &[(gpu.as_str(), &uuid(number))]);
        let mut world = World::default();
        for number in 0..9 {
            hear(&mut world, &of(number, format!("gpu/10.0.0.{number}:0")));
        }
        for number in 10..19 {
            let mut better =
                page(&format!("h:{number}"), &[(&format!("gpu/host-{number}:0"), &uuid(number - 10))]);
            better.samples.clear();
            hear(&mut world, &better);
        }
        assert_eq!(world.gpus.tellers().count(), 9, "no page has looked through them");
        assert!(world.gone.is_empty() && world.gpus.names.is_news);
        assert_eq!(known(&mut world), [""; 0]);
        assert_eq!(world.gone.len(), 9);
        assert_eq!(hear(&mut world, &of(0, "gpu/10.0.0.0:0".to_owned())), ["gpu/host-10:0"]);
        assert!(!world.gpus.names.is_news, "it said so before");
    }

    #[test]
    fn slices_follow_their_gpu() {
        let mut world = World::default();
        hear(&mut world, &page("127.0.0.1:1", &[("gpu/127.0.0.1:0", "aaaa")]));
        let mut slices = page("127.0.0.1:2", &[("gpu/127.0.0.1:0", "bbbb")]);
        slices.sample(&"gpu/127.0.0.1:0-mig-7".parse().unwrap(), GPU_UTILIZATION, Value::Gauge(0.5));
        assert_eq!(hear(&mut world, &slices), ["gpu/127.0.0.1:bbbb", "gpu/127.0.0.1:bbbb-mig-7"]);
    }

    #[test]
    fn one_gpu_of_several_tools_is_one_by_the_best_of_its_names() {
        let uuid = "00000000-1111-2222-3333-444444444444";
        let long = format!("GPU-{uuid}");
        let smi = page("10.0.0.5:9835", &[("gpu/10.0.0.5:0", uuid)]);
        let docker = page("10.0.0.5:9400", &[("gpu/3f9c1d2e7a5b:0", &long)]);
        let mut driver = page("x", &[("gpu/host-a:0", &long)]);
        driver.source = "discovery/nvml".parse().unwrap();
        let by_uuid = page("h:8002", &[]);
        let mut triton = by_uuid.clone();
        triton.sample(
            &format!("gpu/h:{}", long.to_uppercase()).parse().unwrap(),
            GPU_UTILIZATION,
            Value::Gauge(0.5),
        );

        let mut world = World::default();
        assert_eq!(hear(&mut world, &smi), ["gpu/10.0.0.5:0"]);
        assert_eq!(hear(&mut world, &docker), ["gpu/3f9c1d2e7a5b:0"]);
        assert_eq!(hear(&mut world, &smi), ["gpu/3f9c1d2e7a5b:0"]);
        assert_eq!(known(&mut world), ["gpu/3f9c1d2e7a5b:0"]);
        hear(&mut world, &driver);
        for page in [&smi, &docker, &triton] {
            assert_eq!(hear(&mut world, page), ["gpu/host-a:0"]);
        }
        assert_eq!(known(&mut world), ["gpu/host-a:0"]);
        // A tool that has the number alone means the only GPU that is called so.
        let mut tracer = page("10.0.0.5:9999", &[]);
        tracer.sample(&"gpu/3f9c1d2e7a5b:0".parse().unwrap(), GPU_UTILIZATION, Value::Gauge(0.5));
        assert_eq!(hear(&mut world, &tracer), ["gpu/host-a:0"]);
    }

    #[test]
    fn the_driver_that_is_asked_here_keeps_its_names() {
        let mut driver = page("x", &[("gpu/host-a:0", "aaaa")]);
        driver.source = "discovery/nvml".parse().unwrap();
        let other = page("10.0.0.5:9400", &[("gpu/host-a:0", "bbbb")]);
        for order in [[&driver, &other], [&other, &driver]] {
            let mut world = World::default();
            for page in order {
                hear(&mut world, page);
            }
            assert_eq!(hear(&mut world, &driver), ["gpu/host-a:0"]);
            assert_eq!(hear(&mut world, &other), ["gpu/host-a:bbbb"]);
        }
    }

    #[test]
    fn a_gpu_that_is_numbered_anew_keeps_its_name_and_so_does_the_lost_one() {
        let mut world = World::default();
        hear(&mut world, &page("a:1", &[("gpu/a:0", "aaaa"), ("gpu/a:1", "bbbb")]));
        assert_eq!(hear(&mut world, &page("a:1", &[("gpu/a:0", "bbbb")])), ["gpu/a:1"]);
        assert_eq!(known(&mut world), ["gpu/a:0", "gpu/a:1"]);
        // Another in its place is not the lost one, until that has left.
        let put_in = page("a:1", &[("gpu/a:0", "cccc"), ("gpu/a:1", "bbbb")]);
        assert_eq!(hear(&mut world, &put_in), ["gpu/a:cccc", "gpu/a:1"]);
        let gone: BTreeSet<Subject> = ["gpu/a:0", "gpu/a:cccc"].map(|gpu| gpu.parse().unwrap()).into();
        hear(&mut world, &page("a:1", &[("gpu/a:1", "bbbb")]));
        world.forget_gpus(&gone);
        assert_eq!(hear(&mut world, &put_in), ["gpu/a:0", "gpu/a:1"]);
    }
}
