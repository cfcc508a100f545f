//! Which theme, how many colours and which characters a terminal gets: by what was asked for and what it says of itself.

use headwater_widgets::Glyphs;

use super::{Depth, MONO, USUAL};

/// What was asked for on the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// A theme's name or file.
    pub theme: Option<String>,
    /// Whether there may be no colour.
    pub is_colourless: bool,
    /// Whether only ASCII characters are drawn.
    pub is_ascii: bool,
}

/// What the environment says of the terminal; a variable that is empty is as if it was not there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// `TERM`.
    pub name: String,
    /// `COLORTERM`.
    pub colors: String,
    /// `NO_COLOR`.
    pub no_color: String,
    /// The first of `LC_ALL`, `LC_CTYPE` and `LANG` that says something.
    pub locale: String,
}

/// What the terminal gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The theme's name or file.
    pub theme: String,
    /// How many colours it may use.
    pub depth: Depth,
    /// The characters.
    pub glyphs: Glyphs,
}

/// Terminals that have all of xterm's palette without saying so in their names: beginnings of these.
const HAVE_256: &[&str] = &[
    "alacritty",
    "contour",
    "foot",
    "ghostty",
    "iterm",
    "rio",
    "st-",
    "tmux",
    "wezterm",
    "xterm-ghostty",
    "xterm-kitty",
];

/// Terminals whose fonts have few characters beyond ASCII.
const HAVE_FEW_GLYPHS: &[&str] = &["linux", "vt", "cons", "ansi"];

impl Environment {
    /// The environment of this process.
    pub fn of_process() -> Self {
        let said = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(said);
        Self {
            name: said("TERM").unwrap_or_default(),
            colors: said("COLORTERM").unwrap_or_default(),
            no_color: said("NO_COLOR").unwrap_or_default(),
            locale: locale.unwrap_or_default(),
        }
    }

    /// How many colours it shows.
    fn depth(&self) -> Depth {
        let begins = |known: &&str| self.name.starts_with(*known);
        let is_true = matches!(self.colors.as_str(), "truecolor" | "24bit") || self.name.ends_with("-direct");
        // GNU screen hands COLORTERM on and cannot read what it promises.
        if is_true && !self.name.starts_with("screen") {
            Depth::True
        } else if self.name.contains("256color") || HAVE_256.iter().any(begins) {
            Depth::Indexed
        } else {
            Depth::Sixteen
        }
    }

    fn glyphs(&self) -> Glyphs {
        let locale = self.locale.to_ascii_lowercase();
        let is_utf8 = locale.contains("utf-8") || locale.contains("utf8");
        if is_utf8 && !HAVE_FEW_GLYPHS.iter().any(|known| self.name.starts_with(known)) {
            Glyphs::Unicode
        } else {
            Glyphs::Ascii
        }
    }
}

/// What a terminal gets. `--no-color` goes before `--theme`, and what is asked for on the command line before
/// `NO_COLOR`, as <https://no-color.org> has it.
pub fn choose(wishes: &Wishes, environment: &Environment) -> Choice {
    let is_plain = matches!(environment.name.as_str(), "" | "dumb") || !environment.no_color.is_empty();
    let theme = match &wishes.theme {
        _ if wishes.is_colourless => MONO,
        Some(theme) => theme,
        None if is_plain => MONO,
        None => USUAL,
    };
    let glyphs = if wishes.is_ascii { Glyphs::Ascii } else { environment.glyphs() };
    Choice { theme: theme.to_owned(), depth: environment.depth(), glyphs }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(name: &str, colors: &str) -> Environment {
        Environment {
            name: name.to_owned(),
            colors: colors.to_owned(),
            locale: "en_GB.UTF-8".to_owned(),
            ..Environment::default()
        }
    }

    #[test]
    fn the_depth_is_what_a_terminal_says_it_has() {
        for (name, colors, depth) in [
            ("xterm-256color", "truecolor", Depth::True),
            ("xterm", "24bit", Depth::True),
            ("xterm-direct", "", Depth::True),
            ("xterm-256color", "", Depth::Indexed),
            ("screen-256color", "", Depth::Indexed),
            ("screen-256color", "truecolor", Depth::Indexed),
            ("tmux-256color", "truecolor", Depth::True),
            ("xterm-kitty", "", Depth::Indexed),
            ("foot", "", Depth::Indexed),
            ("screen", "truecolor", Depth::Sixteen),
            ("xterm", "", Depth::Sixteen),
            ("xterm", "yes", Depth::Sixteen),
            ("linux", "", Depth::Sixteen),
            ("", "", Depth::Sixteen),
        ] {
            let choice = choose(&Wishes::default(), &environment(name, colors));
            assert_eq!(choice.depth, depth, "{name} {colors}");
        }
    }

    #[test]
    fn no_color_is_obeyed_unless_a_theme_is_asked_for() {
        let theme = |wishes: &Wishes, no_color: &str, name: &str| {
            let environment = Environment { no_color: no_color.to_owned(), ..environment(name, "truecolor") };
            choose(wishes, &environment).theme
        };
        let nothing = Wishes::default();
        let light = Wishes { theme: Some("light".to_owned()), ..Wishes::default() };
        let colourless = Wishes { is_colourless: true, ..light.clone() };
        assert_eq!(theme(&nothing, "", "xterm"), "dark");
        assert_eq!(theme(&nothing, "1", "xterm"), "mono");
        assert_eq!(theme(&nothing, "", "dumb"), "mono");
        assert_eq!(theme(&nothing, "", ""), "mono");
        assert_eq!(theme(&light, "1", "xterm"), "light");
        assert_eq!(theme(&colourless, "", "xterm"), "mono");
    }

    #[test]
    fn characters_beyond_ascii_are_for_terminals_that_read_utf_8() {
        let glyphs = |locale: &str, name: &str, is_ascii: bool| {
            let wishes = Wishes { is_ascii, ..Wishes::default() };
            choose(&wishes, &Environment { locale: locale.to_owned(), ..environment(name, "") }).glyphs
        };
        assert_eq!(glyphs("C.UTF-8", "xterm", false), Glyphs::Unicode);
        assert_eq!(glyphs("de_DE.utf8", "xterm", false), Glyphs::Unicode);
        assert_eq!(glyphs("C.UTF-8", "xterm", true), Glyphs::Ascii);
        assert_eq!(glyphs("C.UTF-8", "linux", false), Glyphs::Ascii);
        assert_eq!(glyphs("C", "xterm", false), Glyphs::Ascii);
        assert_eq!(glyphs("", "xterm", false), Glyphs::Ascii);
        assert_eq!(glyphs("en_US.ISO-8859-1", "xterm", false), Glyphs::Ascii);
    }
}
