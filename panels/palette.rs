//! Colours by role, and the glyphs that say the same without colour.

use headwater_engine::report::Verdict;
use headwater_widgets::Glyphs;
use ratatui::style::{Modifier, Style};

macro_rules! roles {
    ($($(#[$doc:meta])* $role:ident $name:literal)*) => {
        /// What a colour stands for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ColorRole { $($(#[$doc])* $role),* }

        /// Every role with the name it has in a theme, in the order of a [`Palette`]'s styles.
        pub static ROLES: &[(ColorRole, &str)] = &[$((ColorRole::$role, $name)),*];
    };
}

roles! {
    /// A convicted subject, and an incident.
    Guilty "guilty"
    /// A suspected subject, and what could not be fully seen.
    Suspect "suspect"
    /// What is not known.
    Unknown "unknown"
    /// What is proven innocent.
    Innocent "innocent"
    /// A title, and what the eye should find first.
    Heading "heading"
    /// The name of what stands beside it.
    Label "label"
    /// Plain text.
    Text "text"
    /// What matters less.
    Faint "faint"
    /// A value that is too old to be what is going on now.
    Stale "stale"
    /// Frames and rules between parts.
    Frame "frame"
    /// The row under the cursor.
    Selected "selected"
    /// A key that can be pressed.
    Key "key"
    /// The panel that is open, in the list of panels.
    Active "active"
    /// A notice across the screen: frozen, gone back, replayed, stale.
    Banner "banner"
    /// What was typed wrong or cannot be done.
    Error "error"
    /// A mark of the operator on the time axis.
    Mark "mark"
    /// A curve.
    Trend "trend"
    /// The lowest of four shades of a strip.
    HeatLow "heat-low"
    /// The second shade.
    HeatMild "heat-mild"
    /// The third shade.
    HeatHigh "heat-high"
    /// The highest shade.
    HeatFull "heat-full"
}

/// Number of roles.
pub const ROLE_COUNT: usize = ROLES.len();

/// A style for each role, and the characters to draw with.
#[derive(Clone, Copy, Debug)]
pub struct Palette {
    styles: [Style; ROLE_COUNT],
    /// The style of the empty screen.
    pub ground: Style,
    /// The characters that the terminal can show.
    pub glyphs: Glyphs,
}

impl Palette {
    /// A palette with this style for each role, on this ground.
    pub fn new(glyphs: Glyphs, ground: Style, style: impl Fn(ColorRole) -> Style) -> Self {
        let mut styles = [Style::new(); ROLE_COUNT];
        for (place, (role, _)) in ROLES.iter().enumerate() {
            styles[place] = style(*role);
        }
        Self { styles, ground, glyphs }
    }

    /// No colour at all: bold, dim and reversed alone.
    pub fn mono(glyphs: Glyphs) -> Self {
        Self::new(glyphs, Style::new(), |role| match role {
            ColorRole::Guilty | ColorRole::Heading | ColorRole::Key => {
                Style::new().add_modifier(Modifier::BOLD)
            }
            ColorRole::Faint | ColorRole::Stale | ColorRole::Frame => {
                Style::new().add_modifier(Modifier::DIM)
            }
            ColorRole::Selected | ColorRole::Active | ColorRole::Banner => {
                Style::new().add_modifier(Modifier::REVERSED)
            }
            _ => Style::new(),
        })
    }

    /// The style of a role.
    pub fn style(&self, role: ColorRole) -> Style {
        self.styles[role as usize]
    }

    /// The styles of the four shades of a strip, from empty to full.
    pub fn heat(&self) -> [Style; 4] {
        [ColorRole::HeatLow, ColorRole::HeatMild, ColorRole::HeatHigh, ColorRole::HeatFull]
            .map(|role| self.style(role))
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
        let mono = Palette::mono(Glyphs::Ascii);
        for (place, (role, name)) in ROLES.iter().enumerate() {
            assert_eq!(*role as usize, place, "{name}");
            assert_eq!((mono.style(*role).fg, mono.style(*role).bg), (None, None), "{name}");
        }
    }
}
