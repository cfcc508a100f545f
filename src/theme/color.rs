//! Colours: how far apart they are, how well one is read on another, and which of them a terminal has.

use std::fmt;
use std::sync::LazyLock;

use ratatui::style::Color;
use serde::de::{self, Deserialize, Deserializer};

/// A colour of the sRGB space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rgb(pub u8, pub u8, pub u8);

/// How many colours a terminal shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// The sixteen of ANSI, whose exact shades are the terminal's.
    Sixteen,
    /// The palette of xterm.
    Indexed,
    /// Any.
    True,
}

/// The sixteen colours as xterm shows them.
const SIXTEEN: [(Color, Rgb); 16] = [
    (Color::Black, Rgb(0, 0, 0)),
    (Color::Red, Rgb(205, 0, 0)),
    (Color::Green, Rgb(0, 205, 0)),
    (Color::Yellow, Rgb(205, 205, 0)),
    (Color::Blue, Rgb(0, 0, 238)),
    (Color::Magenta, Rgb(205, 0, 205)),
    (Color::Cyan, Rgb(0, 205, 205)),
    (Color::Gray, Rgb(229, 229, 229)),
    (Color::DarkGray, Rgb(127, 127, 127)),
    (Color::LightRed, Rgb(255, 0, 0)),
    (Color::LightGreen, Rgb(0, 255, 0)),
    (Color::LightYellow, Rgb(255, 255, 0)),
    (Color::LightBlue, Rgb(92, 92, 255)),
    (Color::LightMagenta, Rgb(255, 0, 255)),
    (Color::LightCyan, Rgb(0, 255, 255)),
    (Color::White, Rgb(255, 255, 255)),
];

/// The cube and the greys of xterm's palette; its first sixteen differ between terminals and are left out.
static INDEXED: LazyLock<Vec<(Color, Rgb)>> = LazyLock::new(|| {
    let level = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
    let cube = (16..=231_u8).map(|index| {
        let place = index - 16;
        (Color::Indexed(index), Rgb(level(place / 36), level(place / 6 % 6), level(place % 6)))
    });
    let greys = (232..=255_u8).map(|index| {
        let grey = 8 + 10 * (index - 232);
        (Color::Indexed(index), Rgb(grey, grey, grey))
    });
    cube.chain(greys).collect()
});

impl Depth {
    /// The nearest colour that will do, and what it is on the screen; the nearest of all where none will.
    pub(super) fn nearest(self, wanted: Rgb, will_do: impl Fn(Rgb) -> bool) -> (Color, Rgb) {
        let Rgb(red, green, blue) = wanted;
        let candidates = match self {
            Self::True => return (Color::Rgb(red, green, blue), wanted),
            Self::Indexed => INDEXED.as_slice(),
            Self::Sixteen => SIXTEEN.as_slice(),
        };
        let nearest_of = |is_candidate: &dyn Fn(Rgb) -> bool| {
            let candidates = candidates.iter().filter(|(_, rgb)| is_candidate(*rgb)).copied();
            candidates
                .min_by(|(_, one), (_, other)| self.away(wanted, *one).total_cmp(&self.away(wanted, *other)))
        };
        nearest_of(&will_do).or_else(|| nearest_of(&|_| true)).unwrap_or((Color::Reset, wanted))
    }

    /// How far a colour of the palette is from the wanted one.
    fn away(self, wanted: Rgb, candidate: Rgb) -> f64 {
        match self {
            // All that is not grey is gaudy here: a pale green is to become the green, not the palest blue.
            Self::Sixteen => apart(hue_first(wanted), hue_first(candidate)),
            _ => wanted.distance(candidate),
        }
    }
}

impl Rgb {
    /// The contrast with another colour, from 1 to 21 (WCAG 2.1).
    pub fn contrast(self, other: Self) -> f64 {
        let (one, other) = (self.luminance(), other.luminance());
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    /// How different two colours look: the distance in Oklab (B. Ottosson, 2020), 1 from black to white.
    pub fn distance(self, other: Self) -> f64 {
        apart(oklab(self.linear()), oklab(other.linear()))
    }

    fn luminance(self) -> f64 {
        let [red, green, blue] = self.linear();
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    /// Red, green and blue by their light, from 0 to 1.
    pub(super) fn linear(self) -> [f64; 3] {
        [self.0, self.1, self.2].map(|value| {
            let value = f64::from(value) / 255.0;
            if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        })
    }
}

/// The length of the way from one point to another.
pub(super) fn apart(one: [f64; 3], other: [f64; 3]) -> f64 {
    one.iter().zip(other).map(|(one, other)| (one - other).powi(2)).sum::<f64>().sqrt()
}

/// A point of Oklab where lightness counts for half and every colour that is not grey is equally colourful.
fn hue_first(rgb: Rgb) -> [f64; 3] {
    let [lightness, green_red, blue_yellow] = oklab(rgb.linear());
    let chroma = green_red.hypot(blue_yellow);
    let scale = if chroma < 0.04 { 0.0 } else { 1.0 / chroma };
    [lightness / 2.0, green_red * scale, blue_yellow * scale]
}

/// Linear light as a point of Oklab: lightness, green to red, blue to yellow.
pub(super) fn oklab([red, green, blue]: [f64; 3]) -> [f64; 3] {
    let long = (0.412_221_470_8 * red + 0.536_332_536_3 * green + 0.051_445_992_9 * blue).cbrt();
    let middle = (0.211_903_498_2 * red + 0.680_699_545_1 * green + 0.107_396_956_6 * blue).cbrt();
    let short = (0.088_302_461_9 * red + 0.281_718_837_6 * green + 0.629_978_700_5 * blue).cbrt();
    [
        0.210_454_255_3 * long + 0.793_617_785 * middle - 0.004_072_046_8 * short,
        1.977_998_495_1 * long - 2.428_592_205 * middle + 0.450_593_709_9 * short,
        0.025_904_037_1 * long + 0.782_771_766_2 * middle - 0.808_675_766 * short,
    ]
}

impl std::str::FromStr for Rgb {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let digits = text
            .strip_prefix('#')
            .filter(|digits| digits.len() == 6 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let part = |from: usize| {
            let digits = digits.ok_or(())?;
            u8::from_str_radix(&digits[from..from + 2], 16).map_err(|_| ())
        };
        Ok(Self(part(0)?, part(2)?, part(4)?))
    }
}

impl<'de> Deserialize<'de> for Rgb {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_str(RgbVisitor)
    }
}

struct RgbVisitor;

impl de::Visitor<'_> for RgbVisitor {
    type Value = Rgb;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a colour: write for example \"#ff8800\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Rgb, E> {
        text.parse().map_err(|()| E::custom("is not a colour: write for example \"#ff8800\""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contrast_and_distance_are_those_of_their_definitions() {
        let (black, white) = (Rgb(0, 0, 0), Rgb(255, 255, 255));
        assert!((black.contrast(white) - 21.0).abs() < 1e-9);
        assert!((Rgb(118, 118, 118).contrast(white) - 4.54).abs() < 0.01);
        assert!((black.distance(white) - 1.0).abs() < 1e-6);
        assert_eq!("#ff8000".parse(), Ok(Rgb(255, 128, 0)));
        for text in ["ff8000", "#ff80", "#ff80zz", "#+f+f+f", "", "#ä1234"] {
            assert_eq!(text.parse::<Rgb>(), Err(()), "{text}");
        }
    }

    #[test]
    fn the_nearest_colour_of_a_palette_is_taken_among_those_that_will_do() {
        assert_eq!(Depth::Indexed.nearest(Rgb(255, 95, 95), |_| true).0, Color::Indexed(203));
        assert_eq!(Depth::Indexed.nearest(Rgb(9, 9, 9), |_| true).0, Color::Indexed(232));
        assert_eq!(Depth::Sixteen.nearest(Rgb(250, 10, 10), |_| true).0, Color::LightRed);
        assert_eq!(Depth::Sixteen.nearest(Rgb(250, 10, 10), |rgb| rgb.0 < 255).0, Color::Red);
        assert_eq!(Depth::Sixteen.nearest(Rgb(111, 207, 151), |_| true).0, Color::Green);
        assert_eq!(Depth::Sixteen.nearest(Rgb(18, 22, 28), |_| true).0, Color::Black);
        assert_eq!(Depth::Sixteen.nearest(Rgb(250, 10, 10), |_| false).0, Color::LightRed);
        assert_eq!(Depth::True.nearest(Rgb(1, 2, 3), |_| false).0, Color::Rgb(1, 2, 3));
    }
}
