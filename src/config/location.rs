//! Where files live: the XDG base directories.

use std::path::PathBuf;

use etcetera::BaseStrategy;

/// The configuration that is read when neither `--config` nor a target is given:
/// `$XDG_CONFIG_HOME/headwater/config.toml`. `None` without a home directory.
pub fn default_config_file() -> Option<PathBuf> {
    Some(config_folder()?.join("config.toml"))
}

/// The folder of what a user writes for Headwater: `$XDG_CONFIG_HOME/headwater`. `None` without a home directory.
pub(crate) fn config_folder() -> Option<PathBuf> {
    let base = etcetera::choose_base_strategy().ok()?;
    Some(base.config_dir().join("headwater"))
}

/// Where Headwater keeps what it writes by itself: `$XDG_STATE_HOME/headwater`. `None` without a home directory.
pub fn state_folder() -> Option<PathBuf> {
    let base = etcetera::choose_base_strategy().ok()?;
    Some(base.state_dir().unwrap_or_else(|| base.data_dir()).join("headwater"))
}

/// Where healthy values of a deployment are kept between runs: `$XDG_STATE_HOME/headwater/baselines/NAME.json`.
/// `None` without a home directory.
pub(super) fn baselines_file(name: &str) -> Option<PathBuf> {
    Some(state_folder()?.join("baselines").join(format!("{}.json", plain_file_name(name))))
}

/// A name as that of a file: letters, digits, `-`, `_` and `.`, at most a hundred, none hidden.
pub(crate) fn plain_file_name(name: &str) -> String {
    let file: String = name
        .chars()
        .map(|c| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' })
        .take(100)
        .collect();
    file.trim_start_matches('.').to_owned()
}

/// A short word for these targets, the same in any order, in any run and by any version: FNV-1a of 64 bits.
pub(super) fn word_for(mut targets: Vec<&str>) -> String {
    targets.sort_unstable();
    let hash = targets.join("\n").bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}
