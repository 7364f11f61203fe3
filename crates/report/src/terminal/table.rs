//! Aligned columns, whatever the colours and the width of the characters.

use unicode_width::UnicodeWidthChar as _;

use crate::clean::fit;

const INDENT: usize = 2;
const GAP: usize = 2;
const NARROWEST_COLUMN: usize = 10;

pub(super) struct Table {
    /// A letter for each column: `l` or `r`.
    align: String,
    /// On a narrow terminal, these columns are dropped one after the other.
    dropping: Vec<usize>,
    /// If that is not enough, these columns are cut, the widest first.
    yielding: Vec<usize>,
    rows: Vec<Row>,
}

enum Row {
    Cells(Vec<String>),
    /// Across all columns, above the rows that belong to it.
    Heading(String),
}

impl Table {
    /// The cells of the yielding columns carry no colours.
    pub(super) fn new(align: &str, yielding: &[usize]) -> Self {
        Self { align: align.to_owned(), yielding: yielding.to_vec(), dropping: Vec::new(), rows: Vec::new() }
    }

    pub(super) fn dropping(self, dropping: &[usize]) -> Self {
        Self { dropping: dropping.to_vec(), ..self }
    }

    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(Row::Cells(cells.into_iter().collect()));
    }

    pub(super) fn heading(&mut self, text: String) {
        self.rows.push(Row::Heading(text));
    }

    /// The number of columns that it needs without dropping or cutting.
    pub(super) fn natural(&self) -> usize {
        let all: Vec<usize> = (0..self.align.len()).collect();
        sum(&self.widths(), &all)
    }

    pub(super) fn lines(&self, width: usize) -> Vec<String> {
        let mut widths = self.widths();
        let mut shown: Vec<usize> = (0..widths.len()).collect();
        for column in &self.dropping {
            if sum(&widths, &shown) > width {
                shown.retain(|one| one != column);
            }
        }
        while sum(&widths, &shown) > width {
            let widest = self.yielding.iter().copied().max_by_key(|column| widths[*column]);
            match widest {
                Some(column) if widths[column] > NARROWEST_COLUMN => widths[column] -= 1,
                _ => break,
            }
        }
        self.rows
            .iter()
            .map(|row| match row {
                Row::Cells(cells) => self.line(cells, &widths, &shown),
                Row::Heading(text) => format!("{}{}", " ".repeat(INDENT), fit(text, width - INDENT)),
            })
            .collect()
    }

    fn widths(&self) -> Vec<usize> {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| match row {
                Row::Cells(cells) => cells.get(column),
                Row::Heading(_) => None,
            });
            cells.map(|cell| columns(cell)).max().unwrap_or(0)
        };
        (0..self.align.len()).map(width).collect()
    }

    fn line(&self, row: &[String], widths: &[usize], shown: &[usize]) -> String {
        let mut line = " ".repeat(INDENT);
        for (index, ((cell, align), width)) in row.iter().zip(self.align.chars()).zip(widths).enumerate() {
            if !shown.contains(&index) {
                continue;
            }
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

fn sum(widths: &[usize], shown: &[usize]) -> usize {
    INDENT + GAP * shown.len().saturating_sub(1) + shown.iter().map(|column| widths[*column]).sum::<usize>()
}

/// The number of columns of a text; colours take none.
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
