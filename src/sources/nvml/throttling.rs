//! Why and for how long a GPU ran slower than it could.

use std::collections::BTreeMap;
use std::time::Instant;

use headwater_engine::metric::GPU_THROTTLED;
use headwater_engine::reading::Value;
use nvml_wrapper::Device;
use nvml_wrapper::enums::device::SampleValue;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::structs::device::FieldId;
use nvml_wrapper::sys_exports::field_id::{
    NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN,
    NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN, NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP,
    NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN, NVML_FI_DEV_CLOCKS_EVENT_REASON_SYNC_BOOST,
};

use super::questions::long;
use super::raw;
use super::session::Looking;

/// The call for the reasons of this moment.
pub(super) const CALL: &str = "nvmlDeviceGetCurrentClocksEventReasons";

/// One reason for clocks below the highest.
struct Reason {
    /// Its bit.
    bit: u64,
    /// Its name, as NVIDIA writes it.
    name: &'static str,
    /// The driver's own count of nanoseconds, for the reasons that newer ones count.
    counted: Option<u32>,
}

/// Every reason but that there is nothing to do.
const REASONS: &[Reason] = &[
    Reason { bit: 0x2, name: "applications_clocks_setting", counted: None },
    Reason { bit: 0x4, name: "sw_power_cap", counted: Some(NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP) },
    Reason { bit: 0x8, name: "hw_slowdown", counted: None },
    Reason { bit: 0x10, name: "sync_boost", counted: Some(NVML_FI_DEV_CLOCKS_EVENT_REASON_SYNC_BOOST) },
    Reason {
        bit: 0x20,
        name: "sw_thermal_slowdown",
        counted: Some(NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN),
    },
    Reason {
        bit: 0x40,
        name: "hw_thermal_slowdown",
        counted: Some(NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN),
    },
    Reason {
        bit: 0x80,
        name: "hw_power_brake_slowdown",
        counted: Some(NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN),
    },
    Reason { bit: 0x100, name: "display_clock_setting", counted: None },
];

/// For how long a GPU was slowed down, by reason. Where the driver counts that itself its counts are told; where it tells
/// only the reasons of this moment, each is taken to have lasted since the look before.
#[derive(Debug, Default)]
pub(super) struct Throttled {
    seconds: BTreeMap<&'static str, f64>,
    looked: Option<Instant>,
    /// The reasons that the driver counts, as of the first look: a total has one teller.
    counted: Option<Vec<&'static str>>,
}

impl Throttled {
    /// Leaves out what is to come until the next look: nobody sees it.
    pub(super) fn pause(&mut self) {
        self.looked = None;
    }

    /// Takes the reasons of this moment and the driver's own counts; gives the seconds of each reason.
    fn take(
        &mut self,
        at: Instant,
        reasons: u64,
        counts: &BTreeMap<&'static str, f64>,
    ) -> Vec<(&'static str, f64)> {
        let since = self.looked.replace(at).map_or(0.0, |before| at.duration_since(before).as_secs_f64());
        let counted = self.counted.get_or_insert_with(|| counts.keys().copied().collect());
        let mut told = vec![];
        for reason in REASONS {
            if counted.contains(&reason.name) {
                told.extend(counts.get(reason.name).map(|seconds| (reason.name, *seconds)));
                continue;
            }
            let seconds = self.seconds.entry(reason.name).or_default();
            if reasons & reason.bit != 0 {
                *seconds += since;
            }
            told.push((reason.name, *seconds));
        }
        told
    }
}

/// The reasons of this moment, by their names.
pub(super) fn reasons(device: &Device<'_>) -> Result<Vec<&'static str>, NvmlError> {
    let reasons = raw::clocks_event_reasons(device)?;
    Ok(REASONS.iter().filter(|reason| reasons & reason.bit != 0).map(|reason| reason.name).collect())
}

/// Asks for the reasons of this moment and for how long each held.
pub(super) fn ask(device: &Device<'_>, looking: &mut Looking<'_>) -> Result<(), NvmlError> {
    let reasons = raw::clocks_event_reasons(device)?;
    looking.calling("nvmlDeviceGetFieldValues");
    let counts = counts(device)?;
    let at = looking.at;
    for (reason, seconds) in looking.memory.throttled.take(at, reasons, &counts) {
        looking.part(GPU_THROTTLED, reason, Value::Counter(seconds));
    }
    Ok(())
}

/// The driver's own counts in seconds; a driver that has none is no failure, one that is gone is.
fn counts(device: &Device<'_>) -> Result<BTreeMap<&'static str, f64>, NvmlError> {
    let asked: Vec<(&'static str, FieldId)> =
        REASONS.iter().filter_map(|reason| Some((reason.name, FieldId(reason.counted?)))).collect();
    let fields: Vec<FieldId> = asked.iter().map(|(_, field)| field.clone()).collect();
    let values = match device.field_values_for(&fields) {
        Ok(values) => values,
        Err(error @ (NvmlError::GpuLost | NvmlError::ResetRequired | NvmlError::Uninitialized)) => {
            return Err(error);
        }
        Err(_) => return Ok(BTreeMap::new()),
    };
    let seconds =
        values.into_iter().map(|field| nanoseconds(field.ok()?.value.ok()?).map(|count| count / 1e9));
    Ok(asked.iter().map(|(name, _)| *name).zip(seconds).filter_map(|(name, s)| Some((name, s?))).collect())
}

fn nanoseconds(value: SampleValue) -> Option<f64> {
    match value {
        SampleValue::U64(count) => long(count).ok(),
        SampleValue::U32(count) => Some(f64::from(count)),
        SampleValue::I64(count) => u64::try_from(count).ok().and_then(|count| long(count).ok()),
        SampleValue::F64(count) => Some(count),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn seconds(told: &[(&'static str, f64)], name: &str) -> Option<f64> {
        told.iter().find(|(known, _)| *known == name).map(|(_, seconds)| *seconds)
    }

    #[test]
    fn time_is_counted_by_the_driver_or_else_from_look_to_look_and_idleness_is_no_reason() {
        let (mut throttled, start) = (Throttled::default(), Instant::now());
        let at = |second| start + Duration::from_secs(second);
        let counts = |power| BTreeMap::from([("sw_power_cap", power)]);
        throttled.take(at(0), 0x40 | 0x1, &counts(5.0));
        throttled.take(at(2), 0x40 | 0x1, &counts(6.0));
        let told = throttled.take(at(3), 0x1, &counts(6.5));
        assert_eq!(seconds(&told, "hw_thermal_slowdown"), Some(2.0));
        assert_eq!(seconds(&told, "sw_power_cap"), Some(6.5));
        assert_eq!(seconds(&told, "hw_slowdown"), Some(0.0));
        assert_eq!(told.len(), REASONS.len());
    }

    #[test]
    fn a_total_never_changes_its_teller_and_grows_by_nothing_unseen() {
        let (mut throttled, start) = (Throttled::default(), Instant::now());
        let at = |second| start + Duration::from_secs(second);
        throttled.take(at(0), 0x4, &BTreeMap::from([("sw_power_cap", 100.0)]));
        let told = throttled.take(at(1), 0x4, &BTreeMap::new());
        assert_eq!(seconds(&told, "sw_power_cap"), None);
        throttled.take(at(2), 0x8, &BTreeMap::new());
        throttled.pause();
        let told = throttled.take(at(60), 0x8, &BTreeMap::new());
        assert_eq!(seconds(&told, "hw_slowdown"), Some(1.0));
    }
}
