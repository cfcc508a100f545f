//! The `[canary]` table: our own kernels, timed every now and then.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::file::{BackendWord, CanaryTable};
use super::local::LocalSpec;
use super::place::{Document, unknown_name};
use crate::bench::BackendChoice;
use crate::bench::kernel::KERNELS;
use crate::sources::canary::CanarySpec;

const BUDGET: Duration = Duration::from_millis(200);

/// Seldom enough not to be felt, often enough to tell anything.
const EVERY: RangeInclusive<Duration> = Duration::from_secs(10)..=Duration::from_secs(3_600);

const BUDGETS: RangeInclusive<Duration> = Duration::from_millis(20)..=Duration::from_secs(5);

/// The canary of this table, on this machine.
pub(super) fn resolve(
    table: Option<&CanaryTable>,
    local: &LocalSpec,
    document: &mut Document<'_>,
) -> Option<CanarySpec> {
    let table = table?;
    let mut spec = CanarySpec::new(&local.name, table.budget.map_or(BUDGET, |span| span.0));
    spec.plan.nvml_library = local.nvml_library();
    if !BUDGETS.contains(&spec.plan.budget) {
        document.wrong(&["canary", "budget"], "is out of range: write a span from '20ms' to '5s'");
    }
    spec.every = table.every.map_or(spec.every, |span| span.0);
    if !EVERY.contains(&spec.every) {
        document.wrong(&["canary", "every"], "is out of range: write a span from '10s' to '1h'");
    }
    spec.plan.backend = match table.backend.unwrap_or_default() {
        BackendWord::Auto => BackendChoice::Auto,
        BackendWord::Cuda => BackendChoice::Cuda,
        BackendWord::Cpu => BackendChoice::Cpu,
    };
    spec.plan.is_forced = table.force.unwrap_or_default();
    if !table.devices.is_empty() {
        spec.devices.clone_from(&table.devices);
    }
    let names: Vec<&str> = KERNELS.iter().map(|kernel| kernel.name).collect();
    for (position, name) in table.kernels.iter().enumerate() {
        if !names.contains(&name.as_str()) {
            let sentence = unknown_name("kernel", name, &names);
            document.complain(&["canary", "kernels", &position.to_string()], sentence);
        }
    }
    if !table.kernels.is_empty() {
        spec.plan.kernels.clone_from(&table.kernels);
    }
    Some(spec)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::bench::BackendChoice;
    use crate::config::Config;

    const PAGE: &str = "[[metrics]]\nurl = \"http://h:1/metrics\"\n";

    #[test]
    fn a_canary_is_off_unless_there_is_its_table_and_has_a_pace_of_its_own() {
        assert!(Config::parse(PAGE, "c.toml").unwrap().canary.is_none());
        let text = format!("{PAGE}[canary]\nbackend = \"cuda\"\ndevices = [0, 2]\nkernels = [\"launch\"]\n");
        let config = Config::parse(&text, "c.toml").unwrap();
        let canary = config.canary.as_ref().unwrap();
        assert_eq!((canary.every, canary.plan.budget), (Duration::from_secs(60), Duration::from_millis(200)));
        assert_eq!((canary.plan.backend, canary.devices.as_slice()), (BackendChoice::Cuda, &[0, 2][..]));
        assert_eq!(
            (canary.plan.kernels.as_slice(), canary.plan.is_forced),
            (&["launch".to_owned()][..], false)
        );
        let teller = &config.settings.tellers[0];
        assert_eq!((teller.subject.as_str(), teller.every), ("probe/canary", Some(Duration::from_secs(60))));
        let again = Config::parse(&config.print(), "c.toml").unwrap();
        assert_eq!(again.canary.unwrap().plan, canary.plan);
        let local = format!("{text}[local]\ngpu = true\nnvml_library = \"/opt/nvml.so\"\n");
        let asks = Config::parse(&local, "c.toml").unwrap().canary.unwrap().plan.nvml_library;
        assert_eq!(asks, Some("/opt/nvml.so".into()), "the library that the GPUs are asked by");
    }

    #[test]
    fn what_is_wrong_is_named_with_the_fix() {
        for (keys, said) in [
            ("every = \"1s\"", "'every' = '1s' is out of range: write a span from '10s'"),
            ("budget = \"1min\"", "'budget' = '1min' is out of range"),
            ("kernels = [\"lunch\"]", "did you mean 'launch'"),
            ("backend = \"rocm\"", "'backend'"),
        ] {
            let complaint =
                Config::parse(&format!("{PAGE}[canary]\n{keys}\n"), "c.toml").unwrap_err().to_string();
            assert!(complaint.contains(said), "{keys}: {complaint}");
        }
    }
}
