//! The state of a GPU beside its kernels, by NVML where that is there: CUDA itself tells no clock and no temperature.

use headwater_engine::metric::{GPU_CLOCK, GPU_CLOCK_MEMORY, GPU_POWER, GPU_TEMPERATURE, GPU_UTILIZATION};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};

use super::choice::Listed;
use crate::bench::backend::load;
use crate::bench::report::DeviceState;
use crate::sources::nvml::{glance, usual_library};

/// NVML, and the GPU in it that is measured.
#[derive(Debug)]
pub(super) struct Watch {
    nvml: Result<Nvml, NvmlError>,
    /// The number that the GPU has there. By its name it is not asked for: that fails where any other GPU has fallen off the
    /// bus.
    index: Option<u32>,
    /// The place of the slice among those of the GPU, and its GPU instance.
    slice: Option<(u32, u32)>,
}

impl Watch {
    /// Opens the library; it watches no GPU yet.
    pub(super) fn open() -> Self {
        Self { nvml: Nvml::builder().lib_path(&usual_library()).init(), index: None, slice: None }
    }

    /// The GPUs that NVML lists. Of one that cannot be opened its number is all that is known.
    pub(super) fn listed(&self) -> Vec<Listed> {
        let Ok(nvml) = &self.nvml else { return vec![] };
        let listed = |index| {
            let device = nvml.device_by_index(index).ok();
            let uuid = device.as_ref().and_then(|device| device.uuid().ok());
            let bus = device.and_then(|device| device.pci_info().ok()).map(|pci| pci.bus_id);
            Listed { index, uuid, bus }
        };
        (0..nvml.device_count().unwrap_or_default()).map(listed).collect()
    }

    /// Watches the GPU with this number, or this slice of it, from now on.
    pub(super) fn turn_to(&mut self, index: Option<u32>, slice: Option<&str>) {
        self.index = index;
        self.slice = slice.and_then(|uuid| self.ask(|device| glance::slice(device, uuid)));
    }

    /// What cannot be read, with the reason.
    pub(super) fn missing(&self) -> Option<String> {
        let what = "clocks, temperature, throttling and use of the GPU: NVML does not tell them";
        match &self.nvml {
            Err(error) => Some(format!("{what} ({error})")),
            Ok(_) if self.index.is_none() => Some(format!("{what} (it does not list this GPU)")),
            Ok(_) => None,
        }
    }

    fn ask<T>(&self, question: impl FnOnce(&Device<'_>) -> Option<T>) -> Option<T> {
        question(&self.nvml.as_ref().ok()?.device_by_index(self.index?).ok()?)
    }

    /// Clocks, temperature and the rest now.
    pub(super) fn state(&self) -> DeviceState {
        let told = self.ask(|device| Some(glance::glance(device))).unwrap_or_default();
        let throttle = told.held_down_by.as_ref();
        DeviceState {
            sm_clock_hz: told.level(GPU_CLOCK),
            memory_clock_hz: told.level(GPU_CLOCK_MEMORY),
            temperature_c: told.level(GPU_TEMPERATURE),
            power_w: told.level(GPU_POWER),
            throttle: throttle.map(|reasons| reasons.iter().map(|reason| (*reason).to_owned()).collect()),
            utilization: told.level(GPU_UTILIZATION),
            load: load(),
        }
    }

    /// Free memory and all of it, in bytes; of a slice its own.
    pub(super) fn memory(&self) -> Option<(u64, u64)> {
        let (used, all) = self.ask(|device| match self.slice {
            Some((place, _)) => glance::memory(&device.mig_device_by_index(place).ok()?),
            None => glance::memory(device),
        })?;
        Some(((all - used).max(0.0) as u64, all as u64))
    }

    /// The GPU instance of the slice.
    pub(super) fn instance(&self) -> Option<u32> {
        self.slice.map(|(_, instance)| instance)
    }

    /// The driver's release.
    pub(super) fn driver(&self) -> Option<String> {
        self.nvml.as_ref().ok()?.sys_driver_version().ok()
    }
}
