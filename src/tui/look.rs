//! What a user's files make of the screen: how it looks, which key does what, which runbooks and cases it knows.

use std::path::PathBuf;

use headwater_engine::Library;
use headwater_panels::screen::Notice;
use headwater_panels::{Keymap, Palette};
use headwater_widgets::Glyphs;

use crate::config::ConfigError;
use crate::keymap;
use crate::library;
use crate::theme::choice::{Environment, Wishes, choose};
use crate::theme::{Depth, Theme, after};

/// What was asked for.
#[derive(Clone, Debug, Default)]
pub struct LookOptions {
    /// Colours and characters.
    pub wishes: Wishes,
    /// The file that changes the keymap.
    pub keymap: Option<PathBuf>,
}

/// Colours, characters, keys, runbooks and cases.
#[derive(Clone, Debug)]
pub struct Look {
    palette: Palette,
    theme: String,
    depth: Depth,
    glyphs: Glyphs,
    keys: Keymap,
    library: Library,
    broken: Vec<ConfigError>,
}

impl Look {
    /// Reads what was asked for, as far as the terminal of this environment can show it. Fails with every mistake in
    /// the file of a theme or a keymap; a broken runbook or case is left out and told by [`Look::left_out`].
    pub fn load(options: &LookOptions, environment: &Environment) -> Result<Self, ConfigError> {
        let choice = choose(&options.wishes, environment);
        let (depth, glyphs) = (choice.depth, choice.glyphs);
        let theme = Theme::load(&choice.theme)?;
        let keys = keymap::load(options.keymap.as_deref())?;
        let (library, broken) = library::load();
        let palette = theme.palette(depth, glyphs);
        Ok(Self { palette, theme: theme.name, depth, glyphs, keys, library, broken })
    }

    /// The palette in force.
    pub fn palette(&self) -> &Palette {
        &self.palette
    }

    /// The name of the theme in force.
    pub fn theme(&self) -> &str {
        &self.theme
    }

    /// The keymap in force.
    pub fn keys(&self) -> &Keymap {
        &self.keys
    }

    /// The runbooks and cases that could be read.
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// What is said of the runbooks and cases that could not be read; `None` when all could.
    pub fn left_out(&self) -> Option<Notice> {
        library::notice(&self.broken)
    }

    /// Takes the next theme.
    pub fn next_theme(&mut self) {
        let theme = after(&self.theme);
        self.palette = theme.palette(self.depth, self.glyphs);
        self.theme = theme.name;
    }
}
