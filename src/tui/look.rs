//! How the screen looks and which key does what: the place where themes and keymaps come in.

use std::path::PathBuf;

use headwater_panels::{Keymap, Palette};
use headwater_widgets::Glyphs;

use crate::config::ConfigError;
use crate::keymap;
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

/// Colours, characters and keys.
#[derive(Clone, Debug)]
pub struct Look {
    palette: Palette,
    theme: String,
    depth: Depth,
    glyphs: Glyphs,
    keys: Keymap,
}

impl Look {
    /// Reads what was asked for, as far as the terminal of this environment can show it. Fails with every mistake in
    /// the file of a theme or a keymap.
    pub fn load(options: &LookOptions, environment: &Environment) -> Result<Self, ConfigError> {
        let choice = choose(&options.wishes, environment);
        let (depth, glyphs) = (choice.depth, choice.glyphs);
        let theme = Theme::load(&choice.theme)?;
        let keys = keymap::load(options.keymap.as_deref())?;
        Ok(Self { palette: theme.palette(depth, glyphs), theme: theme.name, depth, glyphs, keys })
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

    /// Takes the next theme.
    pub fn next_theme(&mut self) {
        let theme = after(&self.theme);
        self.palette = theme.palette(self.depth, self.glyphs);
        self.theme = theme.name;
    }
}
