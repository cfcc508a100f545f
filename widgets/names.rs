//! Names that are too long for their cells: cut in the middle, so that what tells one from the next is kept.

use std::collections::BTreeSet;

use ratatui::text::Span;

use crate::Glyphs;

/// Characters that begin the part of a name that tells it from its neighbours: a port, the end of a pod's name, a number.
const ENDS: [char; 6] = [':', '-', '#', '@', '/', '_'];

/// The names as they stand in so many cells each: whole where they fit, else with their beginning, a mark and their end.
/// What is kept of the ends is the last part (`ranker …:36839`), and more of it where that does not tell all of them apart
/// (`ra….0.2:8000`).
pub fn apart(names: &[&str], cells: usize, glyphs: Glyphs) -> Vec<String> {
    let natural = |name: &str| name.rfind(ENDS).map_or(cells / 2, |at| width(&name[at..]));
    let different = names.iter().collect::<BTreeSet<_>>().len();
    let mut best: (usize, Vec<String>) = (0, vec![]);
    // The last part alone where it has room, then ever more of the end.
    for least in [0, cells / 2, cells * 2 / 3, cells.saturating_sub(1)] {
        let cut: Vec<String> =
            names.iter().map(|name| within(name, cells, natural(name).max(least), glyphs)).collect();
        let told = cut.iter().collect::<BTreeSet<_>>().len();
        if told > best.0 {
            best = (told, cut);
        }
        if best.0 == different {
            break;
        }
    }
    best.1
}

/// A name in so many cells, with so many of its end where it is too long.
fn within(name: &str, cells: usize, end: usize, glyphs: Glyphs) -> String {
    if width(name) <= cells {
        return name.to_owned();
    }
    let Some(room) = cells.checked_sub(1) else { return String::new() };
    let end: String = taken(name.chars().rev(), end.min(room)).into_iter().rev().collect();
    let start: String = taken(name.chars(), room - width(&end)).into_iter().collect();
    format!("{start}{}{end}", glyphs.ellipsis())
}

/// The first characters that fit into so many cells.
fn taken(characters: impl Iterator<Item = char>, cells: usize) -> Vec<char> {
    let mut left = cells;
    let fits = |character: &char| {
        let wide = width(character.encode_utf8(&mut [0; 4]));
        let fits = wide <= left;
        left = left.saturating_sub(wide);
        fits
    };
    characters.take_while(fits).collect()
}

fn width(text: &str) -> usize {
    Span::raw(text).width()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(names: &[&str], cells: usize) -> Vec<String> {
        apart(names, cells, Glyphs::Unicode)
    }

    #[test]
    fn what_tells_names_apart_is_kept() {
        assert_eq!(
            cut(&["? ranker 127.0.0.1:36839", "? ranker 127.0.0.1:40211"], 16),
            ["? ranker …:36839", "? ranker …:40211"]
        );
        assert_eq!(
            cut(&["ranker-7d9f8c6b54-x2k9p", "ranker-7d9f8c6b54-q8w4z"], 15),
            ["ranker-7…-x2k9p", "ranker-7…-q8w4z"]
        );
        // The same port everywhere: it is the host that differs.
        assert_eq!(
            cut(&["o ranker 10.1.0.1:8000", "o ranker 10.1.0.2:8000"], 16),
            ["o ranke….1:8000", "o ranke….2:8000"].map(|name| name.replace("o ranke…", "o ranke…0"))
        );
        assert_eq!(cut(&["redis/features#0@127.0.0.1:37712"], 26), ["redis/features#0@12…:37712"]);
    }

    #[test]
    fn what_fits_is_whole_and_no_room_is_no_name() {
        assert_eq!(cut(&["ranker", "ranker 10.1.0.1:8000"], 12), ["ranker", "ranker…:8000"]);
        assert_eq!(cut(&["ranker", "gateway"], 1), ["…", "…"]);
        assert_eq!(cut(&["ranker"], 0), [""]);
        assert_eq!(cut(&["排序服务-主要-第一"], 9), ["排…-第一"]);
        assert_eq!(apart(&["abcdefgh"], 5, Glyphs::Ascii), ["ab~gh"]);
        assert!(cut(&[], 5).is_empty());
    }

    #[test]
    fn any_name_fits_any_room() {
        let names = ["a:b", "::::::", "-", "", "一二三四五", "no end of it", "x@y/z#1_2"];
        for cells in 0..15 {
            for name in cut(&names, cells) {
                assert!(width(&name) <= cells, "'{name}' in {cells}");
            }
        }
    }
}
