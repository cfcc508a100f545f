//! The state of a GPU beside its kernels, by NVML where that is there: CUDA itself tells no clock and no temperature.

use std::ffi::OsString;

use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};

use crate::bench::report::DeviceState;

/// A GPU as NVML knows it.
#[derive(Debug)]
pub(super) struct Watch {
    /// The library, with the number that the GPU has in it. By its name it is not asked for: that fails where any other
    /// GPU has fallen off the bus.
    nvml: Option<(Nvml, u32)>,
    /// What cannot be read, with the reason.
    pub(super) missing: Vec<String>,
}

/// Reasons for slow clocks with NVIDIA's names; an idle GPU is not throttled.
const REASONS: &[(ThrottleReasons, &str)] = &[
    (ThrottleReasons::APPLICATIONS_CLOCKS_SETTING, "applications_clocks_setting"),
    (ThrottleReasons::SW_POWER_CAP, "sw_power_cap"),
    (ThrottleReasons::HW_SLOWDOWN, "hw_slowdown"),
    (ThrottleReasons::SYNC_BOOST, "sync_boost"),
    (ThrottleReasons::SW_THERMAL_SLOWDOWN, "sw_thermal_slowdown"),
    (ThrottleReasons::HW_THERMAL_SLOWDOWN, "hw_thermal_slowdown"),
    (ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN, "hw_power_brake_slowdown"),
    (ThrottleReasons::DISPLAY_CLOCK_SETTING, "display_clock_setting"),
];

impl Watch {
    /// Looks for the GPU with this id.
    pub(super) fn of(uuid: Option<&str>) -> Self {
        let mut watch = Self { nvml: None, missing: vec![] };
        let found = open().and_then(|nvml| {
            let index = index_of(&nvml, uuid.unwrap_or_default())?;
            Ok((nvml, index))
        });
        match found {
            Ok(found) => watch.nvml = Some(found),
            Err(error) => {
                let what = "clocks, temperature, throttling and use of the GPU";
                watch.missing.push(format!("{what}: NVML does not tell them ({error})"));
            }
        }
        watch
    }

    fn ask<T>(&self, question: impl FnOnce(&Device<'_>) -> Result<T, NvmlError>) -> Option<T> {
        let (nvml, index) = self.nvml.as_ref()?;
        question(&nvml.device_by_index(*index).ok()?).ok()
    }

    /// Clocks, temperature and the rest now.
    pub(super) fn state(&self) -> DeviceState {
        let megahertz = |clock| self.ask(|device| device.clock_info(clock)).map(|mhz| f64::from(mhz) * 1e6);
        let throttle = self.ask(|device| device.current_throttle_reasons()).map(|reasons| {
            let now = REASONS.iter().filter(|(reason, _)| reasons.contains(*reason));
            now.map(|(_, name)| (*name).to_owned()).collect()
        });
        DeviceState {
            sm_clock_hz: megahertz(Clock::SM),
            memory_clock_hz: megahertz(Clock::Memory),
            temperature_c: self.ask(|device| device.temperature(TemperatureSensor::Gpu)).map(f64::from),
            power_w: self
                .ask(|device| device.power_usage())
                .map(|milliwatts| f64::from(milliwatts) / 1_000.0),
            throttle,
            utilization: self
                .ask(|device| device.utilization_rates())
                .map(|rates| f64::from(rates.gpu) / 100.0),
            load: std::fs::read_to_string("/proc/loadavg")
                .ok()
                .and_then(|text| text.split_whitespace().next()?.parse().ok()),
        }
    }

    /// Free memory and all of it, in bytes.
    pub(super) fn memory(&self) -> Option<(u64, u64)> {
        self.ask(|device| device.memory_info()).map(|memory| (memory.free, memory.total))
    }

    /// The place of the GPU among those of this host.
    pub(super) fn index(&self) -> Option<u32> {
        self.ask(|device| device.index())
    }

    /// The driver's release.
    pub(super) fn driver(&self) -> Option<String> {
        self.nvml.as_ref()?.0.sys_driver_version().ok()
    }
}

/// How many GPUs NVML lists; none where it cannot be asked.
pub(super) fn listed() -> u32 {
    open().and_then(|nvml| nvml.device_count()).unwrap_or_default()
}

/// Opens the library that the environment names, else the one that the system finds.
fn open() -> Result<Nvml, NvmlError> {
    let mut builder = Nvml::builder();
    let library: Option<OsString> = std::env::var_os("HEADWATER_NVML");
    if let Some(library) = &library {
        builder.lib_path(library);
    }
    builder.init()
}

/// The number of the GPU with this id; those that cannot be opened are others.
fn index_of(nvml: &Nvml, uuid: &str) -> Result<u32, NvmlError> {
    let is_it = |index: &u32| {
        let found = nvml.device_by_index(*index).and_then(|device| device.uuid());
        found.is_ok_and(|found| found == uuid)
    };
    (0..nvml.device_count()?).find(is_it).ok_or(NvmlError::NotFound)
}
