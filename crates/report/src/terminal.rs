//! The summary on a terminal. Nothing here prints.

mod failures;
mod lines;
mod matrix;
mod paint;
mod table;

use record::{Summary, summary::Gate};

use self::{lines::Lines, table::Table};
use crate::{
    Found,
    clean::{clean, fit},
    document::{Block, Cell, Document, Fault, Headline, LineKind, Look, Room, Section, model},
    figures::count,
    form::{Form, Make},
    marks::Mark,
};

pub const FORM: Form = Form {
    name: "text",
    about: "The summary as on a terminal",
    file: None,
    make: Make::Page(|summary, selection, screen| {
        Ok(summary_text(summary, selection.found(), screen.color, screen.width))
    }),
};

const NARROWEST: usize = 48;
const GATE_NAME_COLUMNS: usize = 46;
const GATE_LINES: usize = 6;
const WARNING_LINES: usize = 6;
const NOTE_LINES: usize = 4;
const ITEM_LINES: usize = 2;
const ROOM: Room = Room {
    narrow: true,
    scenarios: 40,
    changes: 10,
    breakdowns: 4,
    breakdown_rows: 12,
    checks: 0,
    batteries: 5,
    failures: 10,
    informing: 12,
    unreadable: 5,
    agent_failures: false,
};

/// Lines with their line ends; `width` in columns. The caller adds paths of files.
#[must_use]
pub fn summary_text(summary: &Summary, found: &Found, color: bool, width: usize) -> String {
    draw(&Document::of(summary, found, ROOM), &summary.gates, color, width)
}

pub(crate) fn draw(document: &Document, of_run: &[Gate], color: bool, width: usize) -> String {
    let mut lines = Lines::new(color, width.max(NARROWEST));
    headline(&mut lines, &document.headline);
    gates(&mut lines, of_run);
    for of in &document.sections {
        section(&mut lines, of);
    }
    lines.text
}

fn headline(lines: &mut Lines, headline: &Headline) {
    let Headline { mark, name, note, facts } = headline;
    let verdict = lines.paint.headline(mark.verdict, &format!("{} {}", mark.icon, mark.word));
    let name = fit(&clean(name), lines.width.saturating_sub(18));
    let name = lines.paint.bold(&name);
    lines.line(&format!("{verdict}  {name}"));
    if let Some(note) = note {
        for line in textwrap::wrap(note, lines.width.saturating_sub(2)) {
            let line = lines.paint.yellow(&line);
            lines.line(&format!("  {line}"));
        }
    }
    for fact in facts {
        let words = fact.words.iter().map(|words| match words.verdict {
            Some(verdict) => lines.paint.verdict(verdict, &words.text),
            None => words.text.clone(),
        });
        let text = words.collect::<Vec<_>>().join(", ");
        lines.fact(fact.name, &text);
    }
}

fn gates(lines: &mut Lines, gates: &[Gate]) {
    if gates.is_empty() {
        return;
    }
    lines.heading("Gates");
    let names = gates.iter().map(|gate| gate.name.chars().count()).max().unwrap_or(0).min(GATE_NAME_COLUMNS);
    for gate in gates {
        let Mark { icon, verdict, .. } = Mark::of_run(gate.verdict);
        let first = format!("  {icon}  {:<names$}  ", fit(&clean(&gate.name), names));
        let rest = " ".repeat(names + 7);
        let options = textwrap::Options::new(lines.width).initial_indent(&first).subsequent_indent(&rest);
        let reason = clean(&gate.reason);
        for (index, line) in textwrap::wrap(&reason, options).iter().take(GATE_LINES).enumerate() {
            let painted = lines.paint.headline(verdict, icon);
            lines.line(&if index == 0 { line.replacen(icon, &painted, 1) } else { line.to_string() });
        }
    }
}

fn section(lines: &mut Lines, section: &Section) {
    let is_captioned =
        section.blocks.iter().any(|block| matches!(block, Block::Table(table) if table.caption.is_some()));
    if !is_captioned {
        let of = section.of.as_ref().map_or_else(String::new, |of| {
            let room = lines.width.saturating_sub(section.title.len() + 1);
            format!(" {}", fit(&clean(of), room))
        });
        lines.heading(&format!("{}{of}", section.title));
    }
    for block in &section.blocks {
        match block {
            Block::Matrix { matrix, rows } => matrix::draw(lines, matrix, *rows),
            Block::Table(of) => table(lines, of),
            Block::Failures(of) => failures::draw(lines, of),
            Block::Faults(faults) => draw_faults(lines, faults),
            Block::Lines { kind, lines: texts } => texts.iter().for_each(|text| line(lines, *kind, text)),
            Block::Warning(text) => {
                let text = lines.paint.yellow(&clean(text));
                lines.wrapped(2, NOTE_LINES, &text);
            }
            Block::Note(text) => lines.wrapped(2, NOTE_LINES, &clean(text)),
        }
    }
}

fn line(lines: &mut Lines, kind: LineKind, text: &str) {
    let text = clean(text);
    match kind {
        LineKind::Item => lines.wrapped(2, ITEM_LINES, &text),
        LineKind::Remark => lines.wrapped(4, ITEM_LINES, &text),
        LineKind::Warning => {
            let text = lines.paint.yellow(&text);
            lines.wrapped(2, WARNING_LINES, &text);
        }
    }
}

fn table(lines: &mut Lines, of: &model::Table) {
    if let Some(caption) = &of.caption {
        let room = lines.width.saturating_sub(caption.words.len() + 1);
        lines.heading(&format!("{} {}", caption.words, fit(&clean(&caption.name), room)));
    }
    let align: String =
        of.columns.iter().map(|column| if column.align == model::Align::Left { 'l' } else { 'r' }).collect();
    let columns = || of.columns.iter().enumerate();
    let cut: Vec<usize> = columns().filter(|(_, column)| column.may_cut).map(|(index, _)| index).collect();
    let mut ranked: Vec<(u8, usize)> = columns().filter_map(|(index, column)| Some((column.rank?, index))).collect();
    ranked.sort_unstable();
    let dropping: Vec<usize> = ranked.into_iter().map(|(_, index)| index).collect();
    let mut drawn = Table::new(&align, &cut).dropping(&dropping);
    let paint = lines.paint;
    if of.columns.iter().any(|column| !column.head.text.is_empty()) {
        drawn.row(of.columns.iter().map(|column| paint.dim(&clean(&column.head.text))));
    }
    for row in &of.rows {
        drawn.row(row.iter().map(|cell| match cell {
            Cell { text, look: Look::Unknown } => paint.dim(text),
            Cell { text, .. } => clean(text),
        }));
    }
    if let Some(total) = &of.total {
        drawn.row(total.iter().map(|cell| paint.bold(&clean(&cell.text))));
    }
    lines.table(&drawn);
    if let Some(left_out) = &of.left_out {
        lines.more(left_out);
    }
}

fn draw_faults(lines: &mut Lines, faults: &[Fault]) {
    let mut table = Table::new("rll", &[]);
    for Fault { trials, kind, blame } in faults {
        let blame = lines.paint.dim(&format!("blame: {blame}"));
        table.row([count(*trials), (*kind).to_owned(), blame]);
    }
    lines.table(&table);
}
