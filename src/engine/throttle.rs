//! Why the clocks of a GPU are held down, by the names that NVIDIA's tools have for it.

/// One row of [`REASONS`].
#[derive(Debug)]
pub struct Reason {
    /// The name as a part of `gpu.throttled`: that of NVIDIA's clocks event reasons.
    pub name: &'static str,
    /// What it is, as the doer of a sentence: `held down by ...`.
    pub words: &'static str,
    /// Whether it takes speed from a GPU that has work; what somebody set and what rests does not.
    pub costs: bool,
    /// Whether it is the power limit, into which a GPU at full load runs every day.
    pub is_power_limit: bool,
    /// Whether it is heat alone.
    pub is_heat: bool,
}

/// Every reason that tools tell of; `power` and `thermal` are the totals of violations of DCGM, which do not say more.
pub static REASONS: &[Reason] = &[
    reason("sw_power_cap", "its power limit").of_power(),
    reason("power", "its power limit").of_power(),
    reason("sw_thermal_slowdown", "heat").of_heat(),
    reason("hw_thermal_slowdown", "heat, by the hardware itself").of_heat(),
    reason("thermal", "heat").of_heat(),
    reason("hw_slowdown", "the hardware, for heat or power"),
    reason("hw_power_brake_slowdown", "the brake of the power supply"),
    reason("board_limit", "a limit of the board"),
    reason("reliability", "the voltage that keeps it reliable").of_power(),
    reason("sync_boost", "the slowest GPU of its group").free(),
    reason("low_utilization", "too little work").free(),
    reason("gpu_idle", "having no work").free(),
    reason("applications_clocks_setting", "clocks that somebody set").free(),
    reason("display_clock_setting", "clocks of a display").free(),
];

const fn reason(name: &'static str, words: &'static str) -> Reason {
    Reason { name, words, costs: true, is_power_limit: false, is_heat: false }
}

impl Reason {
    const fn of_power(self) -> Self {
        Self { is_power_limit: true, ..self }
    }

    const fn of_heat(self) -> Self {
        Self { is_heat: true, ..self }
    }

    const fn free(self) -> Self {
        Self { costs: false, ..self }
    }
}

/// The row of a name; `None` for one that is not known here.
pub fn by_name(name: &str) -> Option<&'static Reason> {
    REASONS.iter().find(|row| row.name == name)
}

/// What a reason is in words; its own name where it is not known here.
pub fn words(name: &str) -> &str {
    by_name(name).map_or(name, |row| row.words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_rest_costs_nothing() {
        for (place, row) in REASONS.iter().enumerate() {
            assert!(REASONS[..place].iter().all(|other| other.name != row.name), "'{}'", row.name);
        }
        assert!(!by_name("gpu_idle").unwrap().costs && by_name("hw_slowdown").unwrap().costs);
        assert_eq!((words("sw_thermal_slowdown"), words("odd")), ("heat", "odd"));
    }
}
