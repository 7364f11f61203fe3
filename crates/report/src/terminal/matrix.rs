//! Scenarios and personas on a terminal: one row for each pair.

use record::Verdict;

use super::{lines::Lines, paint::Paint, table::Table};
use crate::{
    clean::clean,
    figures::{self, count, plural},
    matrix::{Cell, Matrix},
};

pub(super) fn draw(lines: &mut Lines, matrix: &Matrix, most_rows: usize) {
    let paint = lines.paint;
    let (rows, left_out) = matrix.shown(most_rows);
    let mut table = Table::new("llrrrl", &[0, 1]);
    table.row(["scenario", "persona", "passed", "rate", "95%", ""].map(|word| paint.dim(word)));
    // If names would have to be cut, a scenario is on a line above its personas.
    let mut stacked = Table::new("lrrrl", &[0]).dropping(&[3]);
    let heads = ["passed", "rate", "95%", ""].map(|word| paint.dim(word));
    stacked.row(["  persona".to_owned()].into_iter().chain(heads));
    for (_, row) in rows {
        let agent = row.agent.as_ref().map_or_else(String::new, |agent| format!(" @ {}", clean(agent)));
        let name = format!("{}{agent}", clean(&row.scenario));
        let cells =
            row.cells.iter().zip(&matrix.personas).filter_map(|(cell, persona)| Some((cell.as_ref()?, persona)));
        for (index, (of, persona)) in cells.enumerate() {
            // A scenario is named once, above its personas.
            let name = if index == 0 { name.clone() } else { String::new() };
            let [persona, figures @ ..] = cell(paint, clean(persona), of);
            if index == 0 {
                stacked.heading(name.clone());
            }
            stacked.row([format!("  {persona}")].into_iter().chain(figures.clone()));
            table.row([name, persona].into_iter().chain(figures));
        }
    }
    lines.table(if table.natural() > lines.width { &stacked } else { &table });
    if left_out > 0 {
        lines.more(&plural(left_out as u64, "more scenario", "more scenarios"));
    }
}

fn cell(paint: Paint, persona: String, cell: &Cell) -> [String; 5] {
    let rate = cell.rate();
    let mut marks = Vec::new();
    if cell.flaky_cases > 0 {
        marks.push(paint.yellow("~ flaky"));
    }
    let open = cell.unjudged();
    if open.len() > 2 {
        // All of them would not fit into a narrow terminal.
        let words = format!("{} without a verdict", count(open.iter().map(|(_, number, _)| number).sum()));
        marks.push(paint.verdict(Verdict::Inconclusive, &words));
    } else {
        let words =
            |(verdict, number, word): (_, u64, &str)| paint.verdict(verdict, &format!("{} {word}", count(number)));
        marks.extend(open.into_iter().map(words));
    }
    [
        persona,
        cell.passed(),
        paint.verdict(cell.verdict(), &figures::estimate(&rate)),
        figures::interval(&rate),
        marks.join(" "),
    ]
}
