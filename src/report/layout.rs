//! Text in columns: hanging indents, wrapped at a width.

/// Lines of text that keep within a width.
#[derive(Debug)]
pub struct Layout {
    width: usize,
    text: String,
}

impl Layout {
    /// An empty text of this width in columns.
    pub fn new(width: usize) -> Self {
        Self { width, text: String::new() }
    }

    /// The text.
    pub fn finish(self) -> String {
        self.text
    }

    /// An empty line.
    pub fn blank(&mut self) {
        self.text.push('\n');
    }

    /// One line as it is, however long.
    pub fn line(&mut self, line: &str) {
        self.text += line.trim_end();
        self.text.push('\n');
    }

    /// `label` in a column of `indent` characters, then `text` beside it, wrapped at blanks. A word that is
    /// longer than a line is kept whole: a cut key or address could not be copied.
    pub fn hang(&mut self, label: &str, indent: usize, text: &str) {
        let mut line = format!("{label:<indent$}");
        if label.chars().count() >= indent && indent > 0 {
            line.push(' ');
        }
        let mut is_empty = true;
        // A label that leaves no room for the first word stands alone.
        let mut is_label = label.chars().count() >= indent && indent > 0;
        for word in words(text) {
            let taken = line.chars().count() + usize::from(!is_empty) + word.chars().count();
            if (!is_empty || std::mem::take(&mut is_label)) && taken > self.width {
                self.line(&line);
                line = " ".repeat(indent);
                is_empty = true;
            }
            if !is_empty {
                line.push(' ');
            }
            line += &word;
            is_empty = false;
        }
        self.line(&line);
    }
}

/// Words that belong to the number before them: a line never ends between the two.
const UNITS: &[&str] =
    &["s", "ms", "µs", "min", "h", "days", "%", "B", "kB", "MB", "GB", "TB", "B/s", "kB/s", "MB/s", "GB/s"];

fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![];
    for word in text.split_whitespace() {
        let bare = word.trim_end_matches([',', ';', ':', '.', ')']);
        match words.last_mut() {
            Some(number) if UNITS.contains(&bare) && number.ends_with(|c: char| c.is_ascii_digit()) => {
                number.push(' ');
                number.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_hangs_beside_its_label() {
        let mut layout = Layout::new(20);
        layout.hang("next", 6, "confirm the keys, then cache");
        assert_eq!(layout.finish(), "next  confirm the\n      keys, then\n      cache\n");
    }

    #[test]
    fn a_number_keeps_its_unit() {
        let mut layout = Layout::new(20);
        layout.hang("", 0, "answers in 41 ms, peers 0.7 ms");
        assert_eq!(layout.finish(), "answers in 41 ms,\npeers 0.7 ms\n");
    }

    proptest! {
        #[test]
        fn lines_fit_and_no_word_is_lost(words in proptest::collection::vec("[a-z]{1,12}", 0..30), indent in 0_usize..8) {
            let mut layout = Layout::new(24);
            layout.hang("", indent, &words.join(" "));
            let text = layout.finish();
            prop_assert!(text.lines().all(|line| line.chars().count() <= 24));
            prop_assert_eq!(text.split_whitespace().collect::<Vec<_>>(), words);
        }
    }
}
