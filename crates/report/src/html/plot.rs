//! A chart over a linear scale: axes with units, lines that a legend names, and marks.
//!
//! Lines differ by their dashes, so the chart reads in grey.

use serde::Serialize;

use super::chart::{Tick, step};

pub(super) const LEFT: f64 = 84.0;
/// Half of a label finds room to the right of it.
pub(super) const RIGHT: f64 = 604.0;
const TOP: f64 = 22.0;
const BOTTOM: f64 = 170.0;

#[derive(Serialize)]
pub(super) struct Plot {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    /// What the chart shows, for readers who do not see it.
    pub(super) about: String,
    rows: Vec<Tick>,
    pub(super) columns: Vec<Tick>,
    /// What the columns count, if their labels do not say it.
    pub(super) below: Option<&'static str>,
    lines: Vec<Line>,
    pub(super) marks: Vec<Mark>,
    pub(super) bands: Vec<Band>,
}

#[derive(Serialize)]
struct Line {
    class: &'static str,
    name: String,
    /// SVG polylines, one between two gaps.
    pieces: Vec<String>,
    points: Vec<Point>,
}

#[derive(Serialize)]
struct Point {
    x: String,
    y: String,
    label: String,
    /// The ends of its interval.
    interval: Option<(String, String)>,
}

/// A moment, or a load.
#[derive(Serialize)]
pub(super) struct Mark {
    pub(super) x: String,
    /// Empty: one beside it says it.
    pub(super) name: String,
    /// All of it, for who points at it.
    pub(super) title: String,
}

/// A stretch of the horizontal axis.
#[derive(Serialize)]
pub(super) struct Band {
    pub(super) x: String,
    pub(super) width: String,
}

/// A line before it is drawn.
pub(super) struct Drawn {
    pub(super) class: &'static str,
    pub(super) name: String,
    pub(super) values: Vec<Value>,
}

/// A place on a line.
pub(super) struct Value {
    pub(super) x: f64,
    /// `None`: the line has a gap.
    pub(super) y: Option<f64>,
    pub(super) interval: Option<(f64, f64)>,
    pub(super) label: String,
}

impl Plot {
    /// `None` if no line has a value. `top`: the highest value of the vertical axis, if it is fixed.
    pub(super) fn of(
        (id, title): (&'static str, &'static str),
        drawn: Vec<Drawn>,
        top: Option<f64>,
        label: fn(f64) -> String,
    ) -> Option<Self> {
        let drawn: Vec<Drawn> =
            drawn.into_iter().filter(|line| line.values.iter().any(|value| value.y.is_some())).collect();
        let highest = drawn.iter().flat_map(|line| &line.values).filter_map(|value| value.y).fold(0.0, f64::max);
        let step = step(top.unwrap_or(highest));
        let top = top.unwrap_or_else(|| (highest / step).ceil().max(1.0) * step);
        let rows = (0..=(top / step).round() as u64).map(|index| {
            let value = index as f64 * step;
            Tick { at: shown(y(value, top)), label: if index == 0 { "0".to_owned() } else { label(value) } }
        });
        let lines: Vec<Line> = drawn.iter().map(|of| line(of, top)).collect();
        let names: Vec<&str> = drawn.iter().map(|line| line.name.as_str()).collect();
        (!lines.is_empty()).then(|| Self {
            id,
            title,
            about: format!("{title}: {}", names.join(", ")),
            rows: rows.collect(),
            columns: Vec::new(),
            below: None,
            lines,
            marks: Vec::new(),
            bands: Vec::new(),
        })
    }
}

fn line(of: &Drawn, top: f64) -> Line {
    let (mut pieces, mut points) = (vec![Vec::new()], Vec::new());
    for value in &of.values {
        let Some(height) = value.y else {
            pieces.push(Vec::new());
            continue;
        };
        let (x, y_of) = (shown(value.x), shown(y(height, top)));
        if let Some(piece) = pieces.last_mut() {
            piece.push(format!("{x},{y_of}"));
        }
        let interval = value.interval.map(|(low, high)| (shown(y(low, top)), shown(y(high, top))));
        points.push(Point { x, y: y_of, label: value.label.clone(), interval });
    }
    let pieces = pieces.into_iter().filter(|piece| !piece.is_empty()).map(|piece| piece.join(" ")).collect();
    Line { class: of.class, name: of.name.clone(), pieces, points }
}

fn y(value: f64, top: f64) -> f64 {
    BOTTOM - value / top * (BOTTOM - TOP)
}

pub(super) fn shown(place: f64) -> String {
    format!("{place:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(name: &str, values: &[Option<f64>]) -> Drawn {
        let value = |(x, y): (usize, &Option<f64>)| Value {
            x: LEFT + x as f64,
            y: *y,
            interval: None,
            label: format!("{name} {x}"),
        };
        Drawn { class: "one", name: name.to_owned(), values: values.iter().enumerate().map(value).collect() }
    }

    #[test]
    fn a_line_has_gaps_and_one_without_values_is_left_out() {
        let lines = vec![
            drawn("a", &[Some(1.0), None, Some(4.0)]),
            drawn("b", &[Some(4.0)]),
            drawn("c", &[Some(0.0)]),
            drawn("nothing", &[None, None]),
        ];
        let plot = Plot::of(("id", "Title"), lines, None, |value| format!("{value} ms")).expect("a chart");
        assert_eq!(plot.lines.iter().map(|line| line.pieces.len()).collect::<Vec<_>>(), [2, 1, 1]);
        assert_eq!(plot.lines[0].points[1].label, "a 2");
        assert_eq!(plot.about, "Title: a, b, c");
        let rows: Vec<&str> = plot.rows.iter().map(|row| row.label.as_str()).collect();
        assert_eq!(rows, ["0", "1 ms", "2 ms", "3 ms", "4 ms"]);
        assert!(Plot::of(("id", "Title"), vec![drawn("a", &[None])], None, |_| String::new()).is_none());
    }
}
