//! A curve over time in block characters, for 80 columns.

use std::{fmt::Write as _, time::Duration};

use crate::load::units::Span;

/// Columns of the plot, beside its labels.
pub(super) const WIDTH: u32 = 64;
const ROWS: usize = 5;
const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Draws values over equal parts of a time, from 0 at the bottom to the largest at the top.
pub(super) fn draw(title: &str, values: &[f64], whole: Duration) -> String {
    let top = values.iter().copied().fold(0.0, f64::max);
    let mut text = format!("{}\n", report::clean(title));
    let column = |column: usize| values.get(column * values.len() / WIDTH as usize).copied().unwrap_or(0.0);
    for row in (0..ROWS).rev() {
        let label = match row {
            row if row == ROWS - 1 => number(top),
            _ => String::new(),
        };
        let line: String = (0..WIDTH as usize)
            .map(|place| {
                let eighths = if top > 0.0 { column(place) / top * (ROWS * 8) as f64 } else { 0.0 };
                let mut filled = (eighths.round() as usize).saturating_sub(row * 8).min(8);
                // A little is not nothing.
                if row == 0 && filled == 0 && column(place) > 0.0 {
                    filled = 1;
                }
                EIGHTHS[filled]
            })
            .collect();
        let tick = if label.is_empty() { '│' } else { '┤' };
        let _ = writeln!(text, "{label:>8} {tick}{}", line.trim_end());
    }
    let quarter = WIDTH as usize / 4;
    let axis = format!("{}┬", "─".repeat(quarter - 1)).repeat(4);
    let _ = writeln!(text, "{:>8} ┼{axis}", "0");
    let mut times = String::new();
    for part in 0..=4_u32 {
        let micros = u64::try_from((whole * part / 4).as_micros()).unwrap_or(u64::MAX);
        // Minutes are enough behind an hour, and milliseconds behind a second.
        let fine = [(3_600_000_000, 60_000_000), (60_000_000, 1_000_000), (1_000_000, 1_000)];
        let unit = fine.into_iter().find(|(from, _)| micros >= *from).map_or(1, |(_, unit)| unit);
        let label = Span { micros: (micros + unit / 2) / unit * unit };
        let place = 9 + part as usize * quarter;
        while times.chars().count() < place {
            times.push(' ');
        }
        times.push_str(&label.to_string());
        times.push(' ');
    }
    let _ = writeln!(text, "{}\n", times.trim_end());
    text
}

/// Three digits that count: `0.5`, `5`, `12.5`, `1200`.
pub(super) fn number(value: f64) -> String {
    let decimals = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ramp_fits_into_80_columns() {
        let values: Vec<f64> = (0..WIDTH).map(|column| f64::from(column) * 0.5).collect();
        let text = draw("all: starts a second", &values, Duration::from_secs(7200));
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{text}");
        assert_eq!(lines[0], "all: starts a second");
        assert!(lines[1].starts_with("    31.5 ┤") && lines[1].ends_with('█'), "{text}");
        assert_eq!(lines[6], format!("       0 ┼{}", format!("{}┬", "─".repeat(15)).repeat(4)), "{text}");
        assert_eq!(lines[7].split_whitespace().collect::<Vec<_>>(), ["0s", "30m", "1h", "1h30m", "2h"], "{text}");
    }

    #[test]
    fn numbers_have_three_digits() {
        let shown = [0.0, 0.5, 5.0, 12.54, 999.6, 1234.0].map(number);
        assert_eq!(shown, ["0", "0.5", "5", "12.5", "1000", "1234"]);
    }
}
