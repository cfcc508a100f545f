//! Headwater in a terminal: in a home of its own, and how it must leave.

use std::path::Path;

use super::Terminal;

impl Terminal {
    /// Starts a program in a terminal of this size and in this folder, which is its home too, so that nothing of the
    /// developer's is found; with these variables besides.
    ///
    /// # Panics
    /// When there is no pty or the program does not start.
    pub fn start_at_home(
        program: &Path,
        arguments: &[&str],
        home: &Path,
        size: (u16, u16),
        more: &[(&str, &str)],
    ) -> Self {
        let folder = home.to_str().expect("temporary folders have plain names");
        let own = ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "PWD"].map(|name| (name, folder));
        // What runs beside the tests is not what they look at.
        let variables = [&own[..], &[("HEADWATER_LOCAL", "off")], more].concat();
        Self::start(program, arguments, home, size, &variables)
    }

    /// The terminal is as it was before the program, which has ended.
    ///
    /// # Panics
    /// When it is not.
    pub fn assert_as_before(&self) {
        assert_eq!(self.leftovers(), [""; 0]);
        assert!(!self.is_raw());
    }
}
