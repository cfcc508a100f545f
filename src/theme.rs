//! Themes: a colour for every role, one TOML file a theme; and what of it a terminal can show.

pub mod choice;
mod color;
mod file;

use std::path::{Path, PathBuf};

use headwater_panels::palette::ROLE_COUNT;
use headwater_panels::{ColorRole, Palette};
use headwater_widgets::Glyphs;
use ratatui::style::{Color, Modifier, Style};

use crate::config::{ConfigError, config_folder, text_of, unknown_name};
pub use color::{Depth, Rgb};

include!(concat!(env!("OUT_DIR"), "/theme_files.rs"));

/// The theme that is taken when none is asked for.
pub const USUAL: &str = "dark";

/// The theme without colours.
pub const MONO: &str = "mono";

/// How something looks: without a colour of its own it has that of the ground, or of the terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Look {
    /// The colour of characters.
    pub fg: Option<Rgb>,
    /// The colour behind them.
    pub bg: Option<Rgb>,
    /// Bold, dim, reversed, underlined.
    pub modifiers: Modifier,
}

/// A look for every role, on its ground.
#[derive(Clone, Debug, PartialEq)]
pub struct Theme {
    /// Its name: that of its file.
    pub name: String,
    /// The empty screen.
    pub ground: Look,
    /// By role.
    looks: [Look; ROLE_COUNT],
}

impl Theme {
    /// Reads a theme's text; `origin` names it in complaints.
    pub fn parse(text: &str, name: &str, origin: &str) -> Result<Self, ConfigError> {
        file::read(text, name, origin)
    }

    /// The theme of a file, where a path or a name that ends in `.toml` is given; else the theme of this name in
    /// `$XDG_CONFIG_HOME/headwater/themes/`, or the built-in one.
    pub fn load(wanted: &str) -> Result<Self, ConfigError> {
        if wanted.contains('/') || wanted.ends_with(".toml") {
            return Self::of_file(Path::new(wanted));
        }
        let own = folder().map(|folder| folder.join(format!("{wanted}.toml"))).filter(|path| path.exists());
        if let Some(path) = own {
            return Self::of_file(&path);
        }
        Self::built_in(wanted).ok_or_else(|| {
            let names = names();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            ConfigError::new("--theme", unknown_name("theme", wanted, &names))
        })
    }

    /// The built-in theme of this name.
    pub fn built_in(name: &str) -> Option<Self> {
        let text = text(name)?;
        Some(
            Self::parse(text, name, &format!("themes/{name}.toml")).expect("tests read every built-in theme"),
        )
    }

    fn of_file(path: &Path) -> Result<Self, ConfigError> {
        let text = text_of(path, "'headwater config theme dark' prints one to begin with")?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        Self::parse(&text, &name, &path.display().to_string())
    }

    /// The look of a role.
    pub fn look(&self, role: ColorRole) -> Look {
        self.looks[role as usize]
    }

    /// What a terminal of this depth shows of the theme.
    pub fn palette(&self, depth: Depth, glyphs: Glyphs) -> Palette {
        let ground = self.shown(self.ground, ColorRole::Text, depth);
        Palette::new(glyphs, style(ground), |role| style(self.shown(self.look(role), role, depth)))
    }

    /// A look in the colours that a terminal has: as near as they come, and as easy to read as they must be.
    fn shown(&self, look: Look, role: ColorRole, depth: Depth) -> Shown {
        let ground = self.ground.bg.map(|bg| depth.nearest(bg, |_| true));
        let bg = look.bg.map(|bg| {
            // What stands out from the ground must do so in few colours too.
            let stands_out =
                |candidate| look == self.ground || ground.is_none_or(|(_, ground)| candidate != ground);
            depth.nearest(bg, stands_out)
        });
        let behind = bg.or(ground).map(|(_, rgb)| rgb);
        let fg = look.fg.map(|fg| match (behind, look.bg.or(self.ground.bg)) {
            (Some(behind), Some(meant)) => {
                let least = least_contrast(role).min(fg.contrast(meant));
                depth.nearest(fg, |candidate| candidate.contrast(behind) >= least)
            }
            _ => depth.nearest(fg, |_| true),
        });
        Shown { fg, bg, modifiers: look.modifiers }
    }
}

/// A look in a terminal's colours, each with what it is on the screen.
#[derive(Clone, Copy, Debug)]
struct Shown {
    fg: Option<(Color, Rgb)>,
    bg: Option<(Color, Rgb)>,
    modifiers: Modifier,
}

fn style(shown: Shown) -> Style {
    let Shown { fg, bg, modifiers } = shown;
    let mut style = Style::new().add_modifier(modifiers);
    style.fg = fg.map(|(color, _)| color);
    style.bg = bg.map(|(color, _)| color);
    style
}

/// The least contrast of a role with what is behind it: WCAG 2.1 asks 4.5 of text (1.4.3) and 3 of graphics (1.4.11)
/// and of what is not needed to understand the rest.
fn least_contrast(role: ColorRole) -> f64 {
    match role {
        ColorRole::Faint | ColorRole::Stale | ColorRole::Frame | ColorRole::Trend => 3.0,
        ColorRole::HeatLow | ColorRole::HeatMild | ColorRole::HeatHigh | ColorRole::HeatFull => 3.0,
        _ => 4.5,
    }
}

/// The names of all themes, built in or in the user's folder.
pub fn names() -> Vec<String> {
    let own = folder().and_then(|folder| std::fs::read_dir(folder).ok()).into_iter().flatten().flatten();
    let own = own.filter_map(|entry| Some(entry.file_name().to_str()?.strip_suffix(".toml")?.to_owned()));
    let mut names: Vec<String> = built_in_names().map(str::to_owned).chain(own).collect();
    names.sort();
    names.dedup();
    names
}

/// The names of the built-in themes.
pub fn built_in_names() -> impl Iterator<Item = &'static str> {
    THEME_FILES.iter().map(|(file, _)| file.strip_suffix(".toml").unwrap_or(file))
}

/// The text of the built-in theme of this name, to begin one's own with.
pub fn text(name: &str) -> Option<&'static str> {
    built_in_names().zip(THEME_FILES).find(|(known, _)| *known == name).map(|(_, (_, text))| *text)
}

/// The theme after this one that can be read: all of them in turn.
pub fn after(name: &str) -> Theme {
    let names = names();
    let place = names.iter().position(|known| known == name).map_or(0, |place| place + 1);
    let turn = names.iter().cycle().skip(place).take(names.len());
    let readable = turn.filter_map(|name| Theme::load(name).ok()).next();
    readable.or_else(|| Theme::built_in(USUAL)).expect("the usual theme is built in")
}

fn folder() -> Option<PathBuf> {
    Some(config_folder()?.join("themes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use headwater_panels::palette::ROLES;

    const DEPTHS: [Depth; 3] = [Depth::True, Depth::Indexed, Depth::Sixteen];

    fn themes() -> Vec<Theme> {
        built_in_names().map(|name| Theme::built_in(name).unwrap()).collect()
    }

    fn coloured() -> Vec<Theme> {
        themes().into_iter().filter(|theme| theme.name != MONO).collect()
    }

    fn too_faint(theme: &Theme, depth: Depth) -> Vec<String> {
        let mut breaches = vec![];
        let ground = theme.shown(theme.ground, ColorRole::Text, depth);
        for (role, name) in ROLES {
            let shown = theme.shown(theme.look(*role), *role, depth);
            let fg = shown.fg.or(ground.fg).map(|(_, rgb)| rgb);
            let bg = shown.bg.or(ground.bg).map(|(_, rgb)| rgb);
            let contrast = fg.zip(bg).map_or(0.0, |(fg, bg)| fg.contrast(bg));
            if contrast < least_contrast(*role) {
                breaches.push(format!("{}: {name} has a contrast of {contrast:.2} ({depth:?})", theme.name));
            }
            let stands_out = shown.bg.is_none_or(|(_, bg)| ground.bg.is_some_and(|(_, ground)| bg != ground));
            if !stands_out {
                breaches.push(format!("{}: {name} does not stand out ({depth:?})", theme.name));
            }
            if shown.modifiers.intersects(Modifier::DIM | Modifier::REVERSED) {
                breaches.push(format!("{}: nobody can tell the contrast of {name}", theme.name));
            }
        }
        breaches
    }

    #[test]
    fn every_coloured_theme_can_be_read_in_any_number_of_colours() {
        let breaches: Vec<_> = coloured()
            .iter()
            .flat_map(|theme| DEPTHS.map(|depth| too_faint(theme, depth)))
            .flatten()
            .collect();
        assert!(breaches.is_empty(), "\n{}", breaches.join("\n"));
    }

    #[test]
    fn a_theme_that_cannot_be_read_is_seen() {
        let text = "from = \"dark\"\n[roles]\ntext = { fg = \"#303030\" }\nselected = { bg = \"#12161c\" }\n\
                    key = { dim = true }\n";
        let theme = Theme::parse(text, "mine", "mine.toml").unwrap();
        assert_eq!(too_faint(&theme, Depth::True).len(), 3);
    }

    #[test]
    fn shades_stand_out_more_and_more() {
        for theme in coloured() {
            let palette = [ColorRole::HeatLow, ColorRole::HeatMild, ColorRole::HeatHigh, ColorRole::HeatFull];
            for depth in [Depth::True, Depth::Indexed] {
                let contrasts = palette.map(|role| {
                    let shown = theme.shown(theme.look(role), role, depth);
                    shown.fg.unwrap().1.contrast(theme.ground.bg.unwrap())
                });
                assert!(contrasts.is_sorted(), "{} {depth:?}: {contrasts:?}", theme.name);
            }
        }
    }

    #[test]
    fn no_two_verdicts_have_the_same_colour() {
        let roles = [ColorRole::Guilty, ColorRole::Innocent, ColorRole::Suspect, ColorRole::Unknown];
        for theme in coloured() {
            for depth in DEPTHS {
                // Of the sixteen only red, blue and black can be read on white.
                let is_poor = depth == Depth::Sixteen && theme.name == "light";
                let colors = roles.map(|role| theme.shown(theme.look(role), role, depth).fg.unwrap().0);
                let colors = if is_poor { &colors[..2] } else { &colors[..] };
                for (place, color) in colors.iter().enumerate() {
                    assert!(!colors[..place].contains(color), "{} {depth:?}: {colors:?}", theme.name);
                }
            }
        }
    }

    #[test]
    fn mono_has_no_colour_and_is_what_panels_are_pictured_in() {
        let mono = Theme::built_in(MONO).unwrap();
        for depth in DEPTHS {
            let (palette, pictured) = (mono.palette(depth, Glyphs::Ascii), Palette::mono(Glyphs::Ascii));
            assert_eq!(palette.ground, Style::new());
            for (role, name) in ROLES {
                assert_eq!(palette.style(*role), pictured.style(*role), "{name}");
            }
        }
    }

    /// How a colour looks to somebody without green or without red cones: G. M. Machado and others, 2009, severity 1.
    const BLINDNESS: [(&str, [[f64; 3]; 3]); 2] = [
        (
            "deuteranopia",
            [
                [0.367_322, 0.860_646, -0.227_968],
                [0.280_085, 0.672_501, 0.047_413],
                [-0.011_820, 0.042_940, 0.968_881],
            ],
        ),
        (
            "protanopia",
            [
                [0.152_286, 1.052_583, -0.204_868],
                [0.114_503, 0.786_281, 0.099_216],
                [-0.003_882, -0.048_116, 1.051_998],
            ],
        ),
    ];

    fn seen(rgb: Rgb, eyes: &[[f64; 3]; 3]) -> [f64; 3] {
        let light = rgb.linear();
        color::oklab(eyes.map(|row| row.iter().zip(light).map(|(a, b)| a * b).sum::<f64>().clamp(0.0, 1.0)))
    }

    /// The smallest distance between two verdicts for these eyes.
    fn least_distance(theme: &Theme, depth: Depth, eyes: &[[f64; 3]; 3]) -> f64 {
        let roles = [ColorRole::Guilty, ColorRole::Suspect, ColorRole::Unknown, ColorRole::Innocent];
        let seen = roles.map(|role| seen(theme.shown(theme.look(role), role, depth).fg.unwrap().1, eyes));
        let mut least = f64::INFINITY;
        for (place, one) in seen.iter().enumerate() {
            for other in &seen[..place] {
                least = least.min(color::apart(*one, *other));
            }
        }
        least
    }

    #[test]
    fn verdicts_stay_apart_for_whoever_does_not_tell_red_from_green() {
        let (blind, dark) = (Theme::built_in("colour-blind").unwrap(), Theme::built_in(USUAL).unwrap());
        for (name, eyes) in &BLINDNESS {
            for depth in [Depth::True, Depth::Indexed] {
                let least = least_distance(&blind, depth, eyes);
                assert!(least > 0.15, "{name} {depth:?}: {least:.3}");
            }
        }
        // The usual theme would not do: this is what the other is for.
        assert!(least_distance(&dark, Depth::True, &BLINDNESS[0].1) < 0.1);
    }

    #[test]
    fn themes_follow_each_other_and_come_round() {
        let mut name = USUAL.to_owned();
        let mut seen = vec![];
        for _ in names() {
            name = after(&name).name;
            seen.push(name.clone());
        }
        seen.sort();
        assert_eq!(seen, names());
        assert_eq!(after("no such theme").name, names()[0]);
    }
}
