//! Where files live: the XDG base directories.

use std::path::PathBuf;

use etcetera::BaseStrategy;

/// The configuration that is read when neither `--config` nor a target is given:
/// `$XDG_CONFIG_HOME/headwater/config.toml`. `None` without a home directory.
pub fn default_config_file() -> Option<PathBuf> {
    let base = etcetera::choose_base_strategy().ok()?;
    Some(base.config_dir().join("headwater").join("config.toml"))
}

/// Where healthy values of a deployment are kept between runs: `$XDG_STATE_HOME/headwater/baselines/NAME.json`.
/// `None` without a home directory.
pub fn baselines_file(name: &str) -> Option<PathBuf> {
    let base = etcetera::choose_base_strategy().ok()?;
    let state = base.state_dir().unwrap_or_else(|| base.data_dir());
    let file: String = name
        .chars()
        .map(|c| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' })
        .take(100)
        .collect();
    Some(state.join("headwater").join("baselines").join(format!("{}.json", file.trim_start_matches('.'))))
}
