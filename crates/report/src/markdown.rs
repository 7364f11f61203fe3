//! `report.md`: the report as a comment on a pull request.

mod escape;
mod failures;

use record::{Summary, summary::Gate};

pub(crate) use self::escape::{code, escape};
use crate::{
    Ending, Selection,
    document::{
        Block, Cell, Document, Fault, Headline, LineKind, Look, Room, Section,
        model::{Align, Column, Row, Table},
    },
    figures::{self, count, percent, plural},
    form::{Form, Make},
    marks::Mark,
    matrix::{self, Matrix},
};

pub const FORM: Form = Form {
    name: "markdown",
    about: "The report as a comment on a pull request",
    file: Some("report.md"),
    make: Make::Page(|summary, selection, _| Ok(render(summary, selection))),
};

/// GitHub takes comments of up to 65,536 characters.
const ROOM: Room = Room {
    narrow: false,
    scenarios: 60,
    changes: 20,
    breakdowns: usize::MAX,
    breakdown_rows: 30,
    checks: 30,
    batteries: 10,
    failures: 20,
    informing: 60,
    unreadable: 20,
    agent_failures: false,
};

#[must_use]
pub fn render(summary: &Summary, selection: &Selection) -> String {
    let document = Document::of(summary, selection.found(), ROOM);
    let mut page = String::new();
    headline(&mut page, &document.headline);
    gates(&mut page, &summary.gates);
    for of in &document.sections {
        section(&mut page, of, selection);
    }
    footer(&mut page, summary);
    page
}

/// A document without gates and conversations.
pub(crate) fn draw(document: &Document) -> String {
    let mut page = String::new();
    headline(&mut page, &document.headline);
    let selection = Selection::default();
    document.sections.iter().for_each(|of| section(&mut page, of, &selection));
    page
}

fn headline(page: &mut String, headline: &Headline) {
    let Headline { mark, name, note, facts } = headline;
    page.push_str(&format!("# {} {}: {}\n\n", mark.emoji, mark.word, escape(name)));
    if let Some(note) = note {
        page.push_str(&format!("> **{}**\n\n", escape(note)));
    }
    for fact in facts {
        let text = fact.text();
        // `judged pass rate …` names itself.
        let label = if text.starts_with(fact.name) { String::new() } else { format!("**{}** ", fact.name) };
        page.push_str(&format!("- {label}{}\n", escape(&text)));
    }
    page.push('\n');
}

fn gates(page: &mut String, gates: &[Gate]) {
    if gates.is_empty() {
        return;
    }
    page.push_str("| gate | | |\n|---|---|---|\n");
    for gate in gates {
        let Mark { emoji, word, .. } = Mark::of_run(gate.verdict);
        page.push_str(&format!("| {} | {emoji} {word} | {} |\n", escape(&gate.name), escape(&gate.reason)));
    }
    page.push('\n');
}

fn section(page: &mut String, section: &Section, selection: &Selection) {
    let of = section.of.as_ref().map_or_else(String::new, |of| format!(" {}", code(of)));
    page.push_str(&format!("## {}{of}\n\n", section.title));
    for block in &section.blocks {
        match block {
            Block::Matrix { matrix, rows } => draw_matrix(page, matrix, *rows),
            Block::Table(of) => table(page, of),
            Block::Failures(of) => failures::list(page, of, selection),
            Block::Faults(faults) => faults.iter().for_each(|of| fault(page, of)),
            Block::Lines { kind, lines: texts } => lines(page, *kind, texts),
            Block::Warning(text) => page.push_str(&format!("**{}.**\n\n", escape(text))),
            Block::Note(text) => page.push_str(&format!("{}.\n\n", escape(text))),
        }
    }
    if let Some(legend) = section.legend {
        page.push_str(&format!("{legend}\n\n"));
    }
}

fn lines(page: &mut String, kind: LineKind, texts: &[String]) {
    // A column of this page already shows what a remark says about a row.
    if kind != LineKind::Remark {
        texts.iter().for_each(|text| page.push_str(&format!("- {}\n", escape(text))));
        page.push('\n');
    }
}

fn fault(page: &mut String, fault: &Fault) {
    let trials = plural(fault.trials, "trial", "trials");
    page.push_str(&format!("- {trials}: `{}` (blame: {})\n", fault.kind, fault.blame));
}

fn table(page: &mut String, table: &Table) {
    if let Some(caption) = &table.caption {
        page.push_str(&format!("### {}\n\n", escape(&caption.name)));
    }
    let heads: Row = table.columns.iter().map(|column| column.head.clone()).collect();
    page.push_str(&row(&heads));
    let rule = |column: &Column| if column.align == Align::Left { "---|" } else { "---:|" };
    page.push_str(&format!("|{}\n", table.columns.iter().map(rule).collect::<String>()));
    table.rows.iter().for_each(|of| page.push_str(&row(of)));
    if let Some(total) = &table.total {
        let strong = |cell: &Cell| Cell { text: strong(&cell.text), look: cell.look };
        page.push_str(&row(&total.iter().map(strong).collect::<Row>()));
    }
    page.push('\n');
    if let Some(left_out) = &table.left_out {
        page.push_str(&format!("… and {left_out} in `report.html`.\n\n"));
    }
}

fn row(cells: &[Cell]) -> String {
    let cells = cells.iter().map(|cell| match cell.look {
        Look::Text => format!(" {} |", escape(&cell.text)),
        Look::Code => format!(" {} |", code(&cell.text)),
        Look::Figure | Look::Unknown if cell.text.is_empty() => " |".to_owned(),
        Look::Figure | Look::Unknown => format!(" {} |", cell.text),
    });
    format!("|{}\n", cells.collect::<String>())
}

fn strong(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("**{text}**") }
}

fn draw_matrix(page: &mut String, matrix: &Matrix, most_rows: usize) {
    page.push_str("| scenario |");
    for persona in &matrix.personas {
        page.push_str(&format!(" {} |", escape(persona)));
    }
    page.push_str(" all | 95% interval |\n|---|");
    page.push_str(&"---:|".repeat(matrix.personas.len() + 2));
    page.push('\n');
    let (rows, left_out) = matrix.shown(most_rows);
    for (_, row) in rows {
        let agent = row.agent.as_ref().map_or_else(String::new, |agent| format!(" @ {}", escape(agent)));
        page.push_str(&format!("| {}{agent} |", escape(&row.scenario)));
        for cell in &row.cells {
            page.push_str(&format!(" {} |", cell.as_ref().map_or_else(String::new, cell_text)));
        }
        page.push_str(&format!(" {} | {} |\n", cell_text(&row.total), figures::interval(&row.total.rate())));
    }
    if left_out > 0 {
        let more = plural(left_out as u64, "more scenario", "more scenarios");
        page.push_str(&format!("\n… and {more} in `report.html`.\n"));
    }
    page.push_str("\nSuccess rate, passed of passed, failed and errors of the agent; 〰️ marks flaky cases, `!` trials without a verdict.\n\n");
}

fn cell_text(cell: &matrix::Cell) -> String {
    let mut text = match cell.rate().estimate {
        Some(share) => format!("{} ({})", percent(share), cell.passed()),
        None => "–".to_owned(),
    };
    if cell.flaky_cases > 0 {
        text.push_str(" 〰️");
    }
    let unjudged: u64 = cell.unjudged().iter().map(|(_, number, _)| number).sum();
    if unjudged > 0 {
        text.push_str(&format!(" {}!", count(unjudged)));
    }
    text
}

fn footer(page: &mut String, summary: &Summary) {
    let run = &summary.run;
    page.push_str(&format!(
        "---\nRun {}, seed {}, {}, gabfest {}. Exit code {}.\n",
        code(run.id.as_str()),
        run.seed,
        escape(&figures::span(&run.started_at, run.ended_at.as_deref())),
        escape(&run.gabfest_version),
        Ending::of(summary).words(),
    ));
}
