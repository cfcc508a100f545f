//! A theme's file: its shape, and what is said of one that is wrong.

use std::collections::BTreeMap;

use headwater_panels::palette::{ROLE_COUNT, ROLES};
use ratatui::style::Modifier;
use serde::Deserialize;

use super::{Look, Rgb, Theme, built_in_names};
use crate::config::{ConfigError, Document, unknown_name};

/// The file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ThemeFile {
    /// The built-in theme that has what stands not here.
    from: Option<String>,
    /// The empty screen.
    ground: Option<LookTable>,
    /// By the role's name.
    roles: BTreeMap<String, LookTable>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct LookTable {
    fg: Option<Rgb>,
    bg: Option<Rgb>,
    bold: bool,
    dim: bool,
    reversed: bool,
    underlined: bool,
}

/// Reads a theme's text.
pub(super) fn read(text: &str, name: &str, origin: &str) -> Result<Theme, ConfigError> {
    let mut document = Document::new(text);
    let Some(file) = document.read::<ThemeFile>() else {
        document.finish(origin)?;
        return Err(ConfigError::new(origin, "this is no theme"));
    };
    let base = file.from.as_ref().and_then(|from| {
        let base = Theme::built_in(from);
        if base.is_none() {
            let names: Vec<_> = built_in_names().collect();
            document.complain(&["from"], unknown_name("theme", from, &names));
        }
        base
    });
    for name in file.roles.keys().filter(|name| ROLES.iter().all(|(_, role)| role != name)) {
        let names: Vec<_> = ROLES.iter().map(|(_, role)| *role).collect();
        document.complain(&["roles", name], unknown_name("role", name, &names));
    }
    let mut looks = base.as_ref().map_or([Look::default(); ROLE_COUNT], |base| base.looks);
    let mut missing = vec![];
    for (look, (_, role)) in looks.iter_mut().zip(ROLES) {
        match file.roles.get(*role) {
            Some(table) => *look = Look::from(*table),
            None if base.is_none() => missing.push(*role),
            None => {}
        }
    }
    let ground = file.ground.map(Look::from).or(base.as_ref().map(|base| base.ground));
    // A misspelt base is told by itself.
    if file.from.is_none() {
        if ground.is_none() {
            missing.insert(0, "ground");
        }
        if !missing.is_empty() {
            let missing = missing.join(", ");
            let complaint = format!("there is no {missing}: name every role, or begin with from = \"dark\"");
            document.complain(&["roles"], complaint);
        }
    }
    document.finish(origin)?;
    Ok(Theme { name: name.to_owned(), ground: ground.unwrap_or_default(), looks })
}

impl From<LookTable> for Look {
    fn from(table: LookTable) -> Self {
        let mut modifiers = Modifier::empty();
        for (is_set, modifier) in [
            (table.bold, Modifier::BOLD),
            (table.dim, Modifier::DIM),
            (table.reversed, Modifier::REVERSED),
            (table.underlined, Modifier::UNDERLINED),
        ] {
            modifiers.set(modifier, is_set);
        }
        Self { fg: table.fg, bg: table.bg, modifiers }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headwater_panels::ColorRole;

    fn complaints(text: &str) -> Vec<String> {
        let error = read(text, "mine", "mine.toml").expect_err(text);
        error.to_string().lines().map(|line| line.replace("mine.toml:", "")).collect()
    }

    #[test]
    fn a_theme_may_begin_with_another_one() {
        let text = "from = \"dark\"\n[roles]\nguilty = { fg = \"#FF0000\", underlined = true }\n";
        let (theme, dark) = (read(text, "mine", "mine.toml").unwrap(), Theme::built_in("dark").unwrap());
        let guilty = Look { fg: Some(Rgb(255, 0, 0)), bg: None, modifiers: Modifier::UNDERLINED };
        assert_eq!(theme.look(ColorRole::Guilty), guilty);
        assert_eq!(theme.look(ColorRole::Suspect), dark.look(ColorRole::Suspect));
        assert_eq!(theme.ground, dark.ground);
    }

    #[test]
    fn every_mistake_is_told_with_its_line() {
        for (text, complaint) in [
            ("from = \"drak\"\n", "1: unknown theme 'drak': did you mean 'dark'?"),
            ("from = \"dark\"\n[roles]\ngulity = {}\n", "3: unknown role 'gulity': did you mean 'guilty'?"),
            (
                "from = \"dark\"\n[roles]\ntext = { fg = \"red\" }\n",
                "3: 'fg' = 'red' is not a colour: write for example \"#ff8800\"",
            ),
            (
                "from = \"dark\"\n[roles]\ntext = { fg = 5 }\n",
                "3: 'fg' = '5' is not a colour: write for example \"#ff8800\"",
            ),
            (
                "from = \"dark\"\n[roles]\ntext = { blod = true }\n",
                "3: unknown key 'blod': did you mean 'bold'?",
            ),
            ("[roles]\nguilty = {}\n", "1: there is no ground, suspect, unknown, innocent"),
            ("", " there is no ground, guilty"),
            ("guilty = {}\n", "1: unknown key 'guilty'"),
            ("from =", "1: this is not TOML"),
        ] {
            let found = complaints(text);
            assert!(found.len() == 1 && found[0].starts_with(complaint), "{text}\n{found:?}");
        }
    }
}
