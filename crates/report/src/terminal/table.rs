//! Columns that line up, whatever the colours and the width of the characters.

use unicode_width::UnicodeWidthChar as _;

use super::fit;

const INDENT: usize = 2;
const GAP: usize = 2;
const NARROWEST_COLUMN: usize = 12;

pub(super) struct Table {
    /// A letter a column: `l` or `r`.
    align: &'static str,
    /// The column that gives way where the terminal is narrow.
    stretch: Option<usize>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(align: &'static str) -> Self {
        Self { align, stretch: None, rows: Vec::new() }
    }

    /// The cells of this column carry no colours.
    pub(super) fn stretch(&mut self, column: usize) {
        self.stretch = Some(column);
    }

    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    pub(super) fn lines(&self, width: usize) -> Vec<String> {
        let mut widths: Vec<usize> = (0..self.align.len())
            .map(|column| self.rows.iter().map(|row| columns(&row[column])).max().unwrap_or(0))
            .collect();
        let whole = INDENT + widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
        if let Some(column) = self.stretch {
            let spare = widths[column].saturating_sub(NARROWEST_COLUMN);
            widths[column] -= whole.saturating_sub(width).min(spare);
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
