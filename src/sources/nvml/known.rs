//! The GPUs that are known: which is which, and what is remembered of each from look to look.

use std::collections::BTreeMap;

use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};

use super::driver::Doing;
use super::throttling::Throttled;
use super::trouble::{Sense, sense};
use super::xids::Xids;

/// Which GPUs there are.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Listed {
    /// The versions of library and driver, in words.
    pub(super) versions: String,
    /// The GPUs, by their numbers. One that is lost stays among them: it has not left, it is missing.
    pub(super) gpus: Vec<Gpu>,
    /// The driver's numbers of those that this user may not open, as in a job that was given some of a machine's GPUs.
    /// They are counted by the driver, and are neither looked at nor lost.
    pub(super) denied: Vec<u32>,
}

/// A call that failed, with its error.
pub(super) type Failed = (&'static str, NvmlError);

/// The way to each GPU that the driver lists, by the number that it is called by, or why there is none. It is kept for as
/// long as the library is open: asking for a GPU by its UUID fails as soon as any other one has fallen off the bus.
pub(super) type Handles<'nvml> = BTreeMap<u32, Result<Device<'nvml>, Failed>>;

/// The call that opens a GPU.
pub(super) const HANDLE: &str = "nvmlDeviceGetHandleByIndex_v2";

/// Which one a GPU is.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Gpu {
    /// The number that it is called by; that of the driver when it was first seen.
    pub(super) index: u32,
    /// What no other GPU is called.
    pub(super) uuid: Option<String>,
    /// The model.
    name: Option<String>,
    /// Its place on the PCI bus.
    bus: Option<String>,
}

impl Gpu {
    /// Which one it is, in words.
    pub(super) fn words(&self) -> String {
        let known = [&self.name, &self.bus, &self.uuid].into_iter().flatten();
        let words = known.map(String::as_str).collect::<Vec<_>>().join(", ");
        if words.is_empty() { format!("GPU {}", self.index) } else { words }
    }
}

/// What is remembered of a GPU from look to look.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// For how long it was slowed down, for which reason.
    pub(super) throttled: Throttled,
    /// Its XID events.
    pub(super) xids: Xids,
    /// Whether it was not there at the last look.
    pub(super) is_lost: bool,
}

/// Every GPU that was ever listed, with what is remembered of it. It outlives the library, which may be loaded anew.
#[derive(Debug, Default)]
pub(super) struct Known {
    gpus: Vec<(Gpu, Memory)>,
}

impl Known {
    /// What is remembered of a GPU, by its number.
    pub(super) fn memory(&mut self, index: u32) -> Option<&mut Memory> {
        self.gpus.iter_mut().find(|(gpu, _)| gpu.index == index).map(|(_, memory)| memory)
    }

    /// Whether one of them was not there at its last look.
    pub(super) fn has_lost_one(&self) -> bool {
        self.gpus.iter().any(|(_, memory)| memory.is_lost)
    }

    /// Asks the driver which GPUs there are, and opens each; what it does not list any more stays known. Gives the call
    /// that failed.
    pub(super) fn list<'nvml>(
        &mut self,
        nvml: &'nvml Nvml,
        handles: &mut Handles<'nvml>,
        doing: &Doing,
    ) -> Result<Listed, Failed> {
        const COUNT: &str = "nvmlDeviceGetCount_v2";
        doing.begin(COUNT, None);
        let count = nvml.device_count().map_err(|error| (COUNT, error))?;
        let (mut opened, mut denied) = (Handles::new(), vec![]);
        for index in 0..count {
            doing.begin(HANDLE, Some(index));
            match nvml.device_by_index(index) {
                Ok(device) => {
                    doing.begin("nvmlDeviceGetUUID", Some(index));
                    let uuid = device.uuid().ok();
                    doing.begin("nvmlDeviceGetName", Some(index));
                    let name = device.name().ok();
                    doing.begin("nvmlDeviceGetPciInfo_v3", Some(index));
                    let bus = device.pci_info().ok().map(|pci| pci.bus_id);
                    opened.insert(self.note(Gpu { index, uuid, name, bus }), Ok(device));
                }
                Err(error) if sense(&error) == Sense::Gone => return Err((HANDLE, error)),
                // The driver counts what this user may not open; what was never seen is not missed.
                Err(NvmlError::NoPermission) => {
                    denied.push(index);
                    if self.gpus.iter().any(|(known, _)| known.index == index) {
                        opened.entry(index).or_insert(Err((HANDLE, NvmlError::NoPermission)));
                    }
                }
                // It is there, and whoever looks at it hears why it cannot be read.
                Err(error) => {
                    let own = self.note(Gpu { index, ..Gpu::default() });
                    let kept = handles.remove(&own).filter(Result::is_ok);
                    opened.entry(own).or_insert_with(|| kept.unwrap_or(Err((HANDLE, error))));
                }
            }
        }
        *handles = opened;
        doing.begin("nvmlSystemGetDriverVersion", None);
        let driver = nvml.sys_driver_version();
        doing.begin("nvmlSystemGetNVMLVersion", None);
        let library = nvml.sys_nvml_version();
        let version = |what: &str, version: Result<String, NvmlError>| match version {
            Ok(version) => format!("{what} {version}"),
            Err(_) => format!("{what} of unknown version"),
        };
        Ok(Listed {
            versions: format!("{}, {}", version("NVML", library), version("driver", driver)),
            gpus: self.gpus.iter().map(|(gpu, _)| gpu.clone()).collect(),
            denied,
        })
    }

    /// Notes a GPU that is listed: one that is known keeps its number, also where the driver counts anew because another
    /// one is missing. Gives that number.
    fn note(&mut self, listed: Gpu) -> u32 {
        let is_same = |known: &Gpu| match &listed.uuid {
            Some(uuid) => known.uuid.as_ref() == Some(uuid),
            // It cannot say which one it is: the one of its number, if that is the place of the known one.
            None => known.index == listed.index,
        };
        if let Some((known, _)) = self.gpus.iter_mut().find(|(known, _)| is_same(known)) {
            if listed.uuid.is_some() {
                *known = Gpu { index: known.index, ..listed };
            }
            return known.index;
        }
        let nameless =
            self.gpus.iter_mut().find(|(known, _)| known.index == listed.index && known.uuid.is_none());
        if let Some((known, _)) = nameless {
            *known = listed;
            return known.index;
        }
        let is_free = |index: &u32| self.gpus.iter().all(|(known, _)| known.index != *index);
        let index = (listed.index..).find(is_free).unwrap_or(listed.index);
        self.gpus.push((Gpu { index, ..listed }, Memory::default()));
        self.gpus.sort_by_key(|(gpu, _)| gpu.index);
        index
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu(index: u32, uuid: &str) -> Gpu {
        Gpu { index, uuid: (!uuid.is_empty()).then(|| uuid.to_owned()), ..Gpu::default() }
    }

    fn after(lists: &[&[(u32, &str)]]) -> Vec<(u32, String)> {
        let mut known = Known::default();
        for list in lists {
            for (index, uuid) in *list {
                known.note(gpu(*index, uuid));
            }
        }
        known.gpus.into_iter().map(|(gpu, _)| (gpu.index, gpu.uuid.unwrap_or_default())).collect()
    }

    #[test]
    fn a_gpu_keeps_its_number_when_another_is_missing_and_the_missing_one_stays_known() {
        let all = [(0, "a".to_owned()), (1, "b".to_owned()), (2, "c".to_owned())];
        assert_eq!(after(&[&[(0, "a"), (1, "b"), (2, "c")], &[(0, "a"), (1, "c")]]), all);
        assert_eq!(after(&[&[(0, "a"), (1, "b"), (2, "c")], &[(0, "a"), (1, ""), (2, "c")]]), all);
        assert_eq!(after(&[&[(0, "a"), (1, ""), (2, "c")], &[(0, "a"), (1, "b"), (2, "c")]]), all);
    }

    #[test]
    fn a_new_gpu_in_the_place_of_a_missing_one_has_a_number_of_its_own() {
        assert_eq!(after(&[&[(0, "a")], &[(0, "new")]]), [(0, "a".to_owned()), (1, "new".to_owned())]);
    }

    #[test]
    fn one_that_says_nothing_of_itself_is_called_by_its_number() {
        assert_eq!(gpu(3, "").words(), "GPU 3");
        let named = Gpu { name: Some("NVIDIA H200".to_owned()), ..gpu(0, "GPU-1") };
        assert_eq!(named.words(), "NVIDIA H200, GPU-1");
    }
}
