//! How the screen looks and which key does what.

use std::path::Path;

use headwater_panels::{Keymap, Palette};
use headwater_widgets::Glyphs;

use crate::config::ConfigError;
use crate::keymap;
use crate::theme::choice::{Choice, Terminal, Wishes, choose};
use crate::theme::{self, Depth, Theme};

/// Colours, characters and keys.
#[derive(Clone, Debug)]
pub struct Look {
    theme: Theme,
    palette: Palette,
    depth: Depth,
    glyphs: Glyphs,
    keys: Keymap,
}

impl Look {
    /// What was asked for, as far as the terminal of this process can show it. Fails with every mistake of a file.
    pub fn load(wishes: &Wishes, keymap: Option<&Path>) -> Result<Self, ConfigError> {
        let Choice { theme, depth, glyphs } = choose(wishes, &Terminal::of_environment());
        let theme = Theme::load(&theme)?;
        let palette = theme.palette(depth, glyphs);
        Ok(Self { theme, palette, depth, glyphs, keys: keymap::load(keymap)? })
    }

    /// The palette in force.
    pub fn palette(&self) -> &Palette {
        &self.palette
    }

    /// The name of the theme in force.
    pub fn theme(&self) -> &str {
        &self.theme.name
    }

    /// The keymap in force.
    pub fn keys(&self) -> &Keymap {
        &self.keys
    }

    /// Takes the next theme.
    pub fn next_theme(&mut self) {
        self.theme = theme::after(&self.theme.name);
        self.palette = self.theme.palette(self.depth, self.glyphs);
    }
}
