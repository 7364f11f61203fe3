//! The lines of a page on a terminal: wrapped, indented and cut to its width.

use super::{paint::Paint, table::Table};
use crate::clean::fit;

pub(super) struct Lines {
    pub(super) text: String,
    pub(super) paint: Paint,
    pub(super) width: usize,
}

impl Lines {
    pub(super) fn new(color: bool, width: usize) -> Self {
        Self { text: String::new(), paint: Paint { color }, width }
    }

    pub(super) fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// At most `most` lines; the last is cut if there are more.
    pub(super) fn wrapped(&mut self, indent: usize, most: usize, text: &str) {
        let room = self.width - indent;
        let lines = textwrap::wrap(text, room);
        for (index, line) in lines.iter().take(most).enumerate() {
            let line = if index + 1 == most { fit(&lines[index..].join(" "), room) } else { line.to_string() };
            self.line(&format!("{}{line}", " ".repeat(indent)));
        }
    }

    /// A name, and a text in the second column that may wrap.
    pub(super) fn fact(&mut self, name: &str, text: &str) {
        let first = format!("  {name:<11}");
        let rest = " ".repeat(first.len());
        let options = textwrap::Options::new(self.width).initial_indent(&first).subsequent_indent(&rest);
        for line in textwrap::wrap(text, options) {
            self.line(&line);
        }
    }

    pub(super) fn heading(&mut self, words: &str) {
        let words = self.paint.bold(words);
        self.line("");
        self.line(&words);
    }

    pub(super) fn table(&mut self, table: &Table) {
        for line in table.lines(self.width) {
            self.line(&line);
        }
    }

    /// What this page has no room for.
    pub(super) fn more(&mut self, left_out: &str) {
        let more = self.paint.dim(&format!("  … and {left_out} in the report"));
        self.line(&more);
    }
}
