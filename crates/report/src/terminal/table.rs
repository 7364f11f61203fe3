//! Columns that line up, whatever the colours and the width of the characters.

use unicode_width::UnicodeWidthChar as _;

use super::fit;

const INDENT: usize = 2;
const GAP: usize = 2;
const NARROWEST_COLUMN: usize = 10;

pub(super) struct Table {
    /// A letter a column: `l` or `r`.
    align: &'static str,
    /// The columns that give way where the terminal is narrow, the widest first.
    yielding: &'static [usize],
    rows: Vec<Vec<String>>,
}

impl Table {
    /// The cells of the yielding columns carry no colours.
    pub(super) fn new(align: &'static str, yielding: &'static [usize]) -> Self {
        Self { align, yielding, rows: Vec::new() }
    }

    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    pub(super) fn lines(&self, width: usize) -> Vec<String> {
        let mut widths: Vec<usize> = (0..self.align.len())
            .map(|column| self.rows.iter().map(|row| columns(&row[column])).max().unwrap_or(0))
            .collect();
        let gaps = INDENT + GAP * widths.len().saturating_sub(1);
        let mut excess = (gaps + widths.iter().sum::<usize>()).saturating_sub(width);
        while excess > 0 {
            let widest = self.yielding.iter().copied().max_by_key(|column| widths[*column]);
            match widest {
                Some(column) if widths[column] > NARROWEST_COLUMN => widths[column] -= 1,
                _ => break,
            }
            excess -= 1;
        }
        self.rows.iter().map(|row| self.line(row, &widths)).collect()
    }

    fn line(&self, row: &[String], widths: &[usize]) -> String {
        let mut line = " ".repeat(INDENT);
        for (index, ((cell, align), width)) in row.iter().zip(self.align.chars()).zip(widths).enumerate() {
            if index > 0 {
                line.push_str(&" ".repeat(GAP));
            }
            let cell = if columns(cell) > *width { fit(cell, *width) } else { cell.clone() };
            let padding = " ".repeat(width.saturating_sub(columns(&cell)));
            match align {
                'r' => line.extend([padding.as_str(), cell.as_str()]),
                _ => line.extend([cell.as_str(), padding.as_str()]),
            }
        }
        line
    }
}

/// How many columns a text takes; colours take none.
fn columns(text: &str) -> usize {
    let mut inside_color = false;
    let mut sum = 0;
    for character in text.chars() {
        match character {
            '\u{1b}' => inside_color = true,
            'm' if inside_color => inside_color = false,
            _ if inside_color => {}
            other => sum += other.width().unwrap_or(0),
        }
    }
    sum
}
