//! Which GPU is measured. CUDA counts those that it shows to this process (`CUDA_VISIBLE_DEVICES`), in an order of its own
//! (`CUDA_DEVICE_ORDER`), and the slices of one in place of it; NVML and people count those of the host. What both have in
//! common is what a GPU is called and where it is plugged in.

use std::fmt::Write;

/// A GPU, or a slice of one, as CUDA shows it to this process.
#[derive(Clone, Debug, Default)]
pub(super) struct Shown {
    /// What the GPU is called, also of a slice of it: `GPU-` and its id.
    pub(super) uuid: Option<String>,
    /// Where it is plugged in, as [`bus_text`] writes it.
    pub(super) bus: Option<String>,
    /// What the slice (MIG) is called, where it is one: `MIG-` and its id.
    pub(super) slice: Option<String>,
}

/// A GPU as NVML lists it.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    /// Its number on this host.
    pub(super) index: u32,
    /// What it is called.
    pub(super) uuid: Option<String>,
    /// Where it is plugged in, as NVML writes it.
    pub(super) bus: Option<String>,
}

/// The GPU to measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    /// Its place among those that CUDA shows.
    pub(super) ordinal: usize,
    /// Its number on this host; `None` where NVML does not tell.
    pub(super) index: Option<u32>,
}

impl Shown {
    fn is(&self, listed: &Listed) -> bool {
        let is_same = |own: &Option<String>, other: &Option<String>| {
            own.as_ref().zip(other.as_ref()).is_some_and(|(own, other)| own.eq_ignore_ascii_case(other))
        };
        is_same(&self.uuid, &listed.uuid) || is_same(&self.bus, &listed.bus)
    }

    /// What its turn is called, which is the same for all of its slices: where it is plugged in, else its id. Where neither is
    /// known, its number has to do.
    pub(super) fn lock_name(&self, index: u32) -> String {
        let name = self.bus.as_ref().or(self.uuid.as_ref());
        format!("gpu-{}", name.map_or_else(|| index.to_string(), |name| name.to_lowercase()))
    }

    /// Its number on this host.
    fn index(&self, listed: &[Listed]) -> Option<u32> {
        listed.iter().find(|one| self.is(one)).map(|one| one.index)
    }
}

/// The GPU with this number on this host, else the first that is shown; `settings` are the words of the environment that decide
/// what is shown. At least one is shown.
pub(super) fn choose(
    wanted: Option<u32>,
    shown: &[Shown],
    listed: &[Listed],
    settings: &str,
) -> Result<Choice, String> {
    let indices: Vec<Option<u32>> = shown.iter().map(|one| one.index(listed)).collect();
    let Some(wanted) = wanted else {
        return Ok(Choice { ordinal: 0, index: indices[0] });
    };
    if let Some(ordinal) = indices.iter().position(|index| *index == Some(wanted)) {
        return Ok(Choice { ordinal, index: Some(wanted) });
    }
    if listed.iter().any(|one| one.index == wanted) && indices.iter().any(Option::is_some) {
        let known: Vec<String> = indices.iter().flatten().map(u32::to_string).collect();
        return Err(format!(
            "GPU {wanted} is there, and CUDA shows to this process GPU {} alone{settings}",
            known.join(", ")
        ));
    }
    // Nobody can tell which they are: CUDA's own count has to do.
    if indices.iter().all(Option::is_none) && (wanted as usize) < shown.len() {
        return Ok(Choice { ordinal: wanted as usize, index: None });
    }
    let count = listed.len().max(shown.len());
    Err(format!("there is no GPU {wanted}: this host has {count}, counted from 0{settings}"))
}

/// What the environment says of which GPUs CUDA shows, as the end of a sentence; empty where it says nothing.
pub(super) fn settings(value_of: impl Fn(&str) -> Option<String>) -> String {
    let mut said = String::new();
    for name in ["CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"] {
        if let Some(value) = value_of(name) {
            let before = if said.is_empty() { " (" } else { ", " };
            // Text cannot fail to be written.
            let _ = write!(said, "{before}{name}='{value}'");
        }
    }
    if said.is_empty() { said } else { said + ")" }
}

/// Where a GPU is plugged in, as NVML writes it.
pub(super) fn bus_text(domain: i32, bus: i32, device: i32) -> String {
    format!("{domain:08X}:{bus:02X}:{device:02X}.0")
}

/// An id as NVML writes it, of a GPU or of a slice.
pub(super) fn uuid_text(of: &str, bytes: [u8; 16]) -> String {
    let mut text = of.to_owned();
    for (place, byte) in bytes.iter().enumerate() {
        if [0, 4, 6, 8, 10].contains(&place) {
            text.push('-');
        }
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(uuid: &str, bus: i32) -> Shown {
        Shown { uuid: Some(uuid.to_owned()), bus: Some(bus_text(0, bus, 0)), slice: None }
    }

    /// Three GPUs of a host, in the order of their places.
    fn host() -> Vec<Listed> {
        ["GPU-a", "GPU-b", "GPU-c"]
            .iter()
            .zip(0_u32..)
            .map(|(uuid, index)| Listed {
                index,
                uuid: Some((*uuid).to_owned()),
                bus: Some(bus_text(0, 0x1b + index as i32, 0)),
            })
            .collect()
    }

    fn chosen(ordinal: usize, index: impl Into<Option<u32>>) -> Result<Choice, String> {
        Ok(Choice { ordinal, index: index.into() })
    }

    #[test]
    fn a_gpu_is_found_by_what_it_is_and_not_by_how_cuda_counts_it() {
        // CUDA_VISIBLE_DEVICES=2,1.
        let some = [shown("GPU-c", 0x1d), shown("GPU-b", 0x1c)];
        assert_eq!(choose(None, &some, &host(), ""), chosen(0, 2));
        assert_eq!(choose(Some(1), &some, &host(), ""), chosen(1, 1));
        assert_eq!(choose(Some(2), &some, &host(), ""), chosen(0, 2));
        let settings = settings(|name| (name == "CUDA_VISIBLE_DEVICES").then(|| "2,1".to_owned()));
        let refused = choose(Some(0), &some, &host(), &settings).unwrap_err();
        let expected =
            "GPU 0 is there, and CUDA shows to this process GPU 2, 1 alone (CUDA_VISIBLE_DEVICES='2,1')";
        assert_eq!(refused, expected);
        let refused = choose(Some(7), &some, &host(), "").unwrap_err();
        assert_eq!(refused, "there is no GPU 7: this host has 3, counted from 0");
    }

    #[test]
    fn one_of_the_two_names_is_enough() {
        let nameless = Shown { uuid: None, ..shown("", 0x1d) };
        assert_eq!(choose(None, &[nameless], &host(), ""), chosen(0, 2));
        let elsewhere = Shown { bus: None, ..shown("GPU-B", 0) };
        assert_eq!(choose(None, &[elsewhere], &host(), ""), chosen(0, 1));
        // A slice stands for its GPU.
        let slice = Shown { slice: Some("MIG-x".to_owned()), ..shown("GPU-b", 0x1c) };
        assert_eq!(choose(Some(1), &[slice], &host(), ""), chosen(0, 1));
    }

    #[test]
    fn without_nvml_cuda_counts() {
        let two = [shown("GPU-a", 1), shown("GPU-b", 2)];
        assert_eq!(choose(None, &two, &[], ""), chosen(0, None));
        assert_eq!(choose(Some(1), &two, &[], ""), chosen(1, None));
        let refused = choose(Some(2), &two, &[], "").unwrap_err();
        assert_eq!(refused, "there is no GPU 2: this host has 2, counted from 0");
        assert_eq!(settings(|_| None), "");
    }

    #[test]
    fn places_and_ids_are_written_as_nvml_writes_them() {
        assert_eq!(bus_text(0, 0x3b, 0), "00000000:3B:00.0");
        let mut bytes = [0; 16];
        for (place, byte) in bytes.iter_mut().enumerate() {
            *byte = (place * 17) as u8;
        }
        assert_eq!(uuid_text("GPU", bytes), "GPU-00112233-4455-6677-8899-aabbccddeeff");
    }
}
