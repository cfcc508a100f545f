//! How the screen looks and which key does what: the place where themes and keymaps come in.

use std::path::PathBuf;

use headwater_panels::{Keymap, Palette};
use headwater_widgets::Glyphs;

use crate::config::ConfigError;
use crate::keymap;

/// What was asked for.
#[derive(Clone, Debug, Default)]
pub struct LookOptions {
    /// The name of the theme; `None` for the usual one.
    pub theme: Option<String>,
    /// The file that changes the keymap.
    pub keymap: Option<PathBuf>,
    /// Whether only ASCII characters are drawn.
    pub is_ascii: bool,
    /// Whether no colour is used.
    pub is_colourless: bool,
}

/// Colours, characters and keys.
#[derive(Clone, Debug)]
pub struct Look {
    palette: Palette,
    theme: String,
    keys: Keymap,
}

impl Look {
    /// Reads what was asked for. Fails with every mistake of a keymap's file.
    pub fn load(options: &LookOptions) -> Result<Self, ConfigError> {
        let glyphs = if options.is_ascii { Glyphs::Ascii } else { Glyphs::Unicode };
        let keys = keymap::load(options.keymap.as_deref())?;
        Ok(Self { palette: Palette::mono(glyphs), theme: "mono".to_owned(), keys })
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
    pub fn next_theme(&mut self) {}
}
