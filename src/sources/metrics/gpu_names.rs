//! By which numbers machines call the GPUs whose uuids their pages tell: other tools know a GPU by its uuid alone.

use headwater_engine::reading::GpuName;
use headwater_engine::{Kind, RemoteText, Subject};

use super::exposition::Exposition;

/// The labels that hold a uuid, a number and the name of the machine, in the order of their worth.
const UUID: &[&str] = &["UUID", "uuid", "gpu_uuid"];
const NUMBER: &[&str] = &["gpu", "index"];
const HOST: &[&str] = &["Hostname", "hostname"];

/// What a slice's own uuid begins with.
const OF_A_SLICE: &str = "MIG-";

/// Families whose series have a uuid beside a number.
const TELLING: &[&str] = &["DCGM_FI_", "nvidia_smi_gpu_info"];

/// The GPUs of a page that has both for each, named as its dialect names them; in order, each once. A slice of a GPU has
/// its parent's number, and mostly its uuid: then it tells of its parent.
pub(super) fn gpu_names(page: &Exposition<'_>, host: &str) -> Vec<GpuName> {
    let mut names: Vec<GpuName> = vec![];
    for sample in &page.samples {
        let name = page.name(sample);
        if !TELLING.iter().any(|telling| name.starts_with(telling)) {
            continue;
        }
        let first = |labels: &[&str]| {
            labels.iter().find_map(|label| page.label(sample, label)).filter(|value| !value.is_empty())
        };
        let (Some(uuid), Some(number)) = (first(UUID), first(NUMBER)) else { continue };
        let machine = first(HOST).unwrap_or(host);
        if !uuid.starts_with(OF_A_SLICE) && !names.iter().any(|known| known.uuid.as_str() == uuid) {
            let gpu = Subject::component(Kind::Gpu, &format!("{machine}:{number}"));
            names.push(GpuName { uuid: RemoteText::new(uuid), gpu });
        }
    }
    names.sort_by(|one, other| one.uuid.as_str().cmp(other.uuid.as_str()));
    names
}

#[cfg(test)]
mod tests {
    use super::super::exposition::decode;
    use super::*;

    fn of(text: &str) -> Vec<(String, String)> {
        let names = gpu_names(&decode(text.as_bytes(), None), "10.0.0.9");
        names.into_iter().map(|name| (name.uuid.to_string(), name.gpu.to_string())).collect()
    }

    #[test]
    fn pages_with_a_uuid_and_a_number_name_their_gpus() {
        let dcgm = "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\",UUID=\"GPU-1\",Hostname=\"a\"} 60\n\
                    DCGM_FI_DEV_GPU_TEMP{gpu=\"1\",UUID=\"GPU-2\",Hostname=\"a\"} 60\n\
                    DCGM_FI_DEV_FB_USED{gpu=\"1\",UUID=\"GPU-2\",GPU_I_ID=\"3\",Hostname=\"a\"} 60\n\
                    DCGM_FI_DEV_FB_USED{gpu=\"2\",UUID=\"GPU-3\",GPU_I_ID=\"3\",Hostname=\"a\"} 60\n\
                    DCGM_FI_DEV_FB_USED{gpu=\"3\",UUID=\"MIG-4\",GPU_I_ID=\"3\",Hostname=\"a\"} 60\n";
        let expected = [("GPU-1", "gpu/a:0"), ("GPU-2", "gpu/a:1"), ("GPU-3", "gpu/a:2")];
        assert_eq!(of(dcgm), expected.map(|(uuid, gpu)| (uuid.to_owned(), gpu.to_owned())));
        let smi = "nvidia_smi_gpu_info{uuid=\"df6e\",index=\"3\"} 1\nnvidia_smi_temperature_gpu{uuid=\"df6e\"} 60\n";
        assert_eq!(of(smi), [("df6e".to_owned(), "gpu/10.0.0.9:3".to_owned())]);
        assert_eq!(of("nv_gpu_utilization{gpu_uuid=\"GPU-1\"} 0.5\n"), []);
    }
}
