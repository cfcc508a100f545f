//! Colours by role, and the glyphs that say the same without colour.

use headwater_engine::report::Verdict;
use headwater_widgets::Glyphs;
use ratatui::style::{Color, Modifier, Style};

/// What a colour stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorRole {
    /// A convicted subject, and an incident.
    Guilty,
    /// A suspected subject, and what could not be fully seen.
    Suspect,
    /// What is not known.
    Unknown,
    /// What is proven innocent.
    Innocent,
    /// A title, and what the eye should find first.
    Heading,
    /// The name of what stands beside it.
    Label,
    /// Plain text.
    Text,
    /// Frames, and what matters less.
    Faint,
}

/// Every role, in the order of a [`Palette`]'s styles.
const ROLES: [ColorRole; 8] = [
    ColorRole::Guilty,
    ColorRole::Suspect,
    ColorRole::Unknown,
    ColorRole::Innocent,
    ColorRole::Heading,
    ColorRole::Label,
    ColorRole::Text,
    ColorRole::Faint,
];

/// A style for each role, and the characters to draw with.
#[derive(Clone, Copy, Debug)]
pub struct Palette {
    styles: [Style; ROLES.len()],
    /// The characters that the terminal can show.
    pub glyphs: Glyphs,
}

impl Palette {
    /// No colour at all: bold and dim alone.
    pub fn mono(glyphs: Glyphs) -> Self {
        Self::of(glyphs, |role| match role {
            ColorRole::Guilty | ColorRole::Heading => Style::new().add_modifier(Modifier::BOLD),
            ColorRole::Faint => Style::new().add_modifier(Modifier::DIM),
            _ => Style::new(),
        })
    }

    /// The sixteen colours of every terminal, on a dark ground.
    pub fn dark(glyphs: Glyphs) -> Self {
        Self::of(glyphs, |role| match role {
            ColorRole::Guilty => Style::new().fg(Color::LightRed).add_modifier(Modifier::BOLD),
            ColorRole::Suspect => Style::new().fg(Color::LightYellow),
            ColorRole::Unknown => Style::new().fg(Color::LightMagenta),
            ColorRole::Innocent => Style::new().fg(Color::LightGreen),
            ColorRole::Heading => Style::new().fg(Color::White).add_modifier(Modifier::BOLD),
            ColorRole::Label => Style::new().fg(Color::LightCyan),
            ColorRole::Text => Style::new(),
            ColorRole::Faint => Style::new().fg(Color::DarkGray),
        })
    }

    fn of(glyphs: Glyphs, style: impl Fn(ColorRole) -> Style) -> Self {
        Self { styles: ROLES.map(style), glyphs }
    }

    /// The style of a role.
    pub fn style(&self, role: ColorRole) -> Style {
        ROLES.iter().position(|known| *known == role).map_or_else(Style::new, |index| self.styles[index])
    }
}

/// The role of a verdict's colour.
pub fn role_of(verdict: Verdict) -> ColorRole {
    match verdict {
        Verdict::Guilty => ColorRole::Guilty,
        Verdict::Suspect => ColorRole::Suspect,
        Verdict::Unknown => ColorRole::Unknown,
        Verdict::Innocent => ColorRole::Innocent,
    }
}

/// The glyph of a verdict: each differs from the others in any font and without colour.
pub fn glyph_of(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Guilty => "X",
        Verdict::Suspect => "!",
        Verdict::Unknown => "?",
        Verdict::Innocent => "o",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_role_has_its_own_place_and_mono_has_no_colour() {
        let (mono, dark) = (Palette::mono(Glyphs::Ascii), Palette::dark(Glyphs::Unicode));
        for role in ROLES {
            assert_eq!((mono.style(role).fg, mono.style(role).bg), (None, None), "{role:?}");
        }
        assert_eq!(dark.style(ColorRole::Guilty).fg, Some(Color::LightRed));
        assert_eq!(dark.style(ColorRole::Faint).fg, Some(Color::DarkGray));
    }
}
