//! Tokens and cost by role and model.

use record::{Summary, Tokens, summary::Totals};

use super::model::{Block, Cell, Column, Kind, Section, Table};
use crate::{figures::count, spending};

pub(super) fn section(summary: &Summary) -> Section {
    let totals = &summary.summary;
    let mut blocks = Vec::new();
    if !totals.models.is_empty() {
        blocks.push(Block::Table(table(totals)));
        blocks.extend(
            spending::incomplete(totals).map(|reasons| Block::Warning(format!("cost is incomplete: {reasons}"))),
        );
        blocks.extend(spending::cut(totals).map(Block::Warning));
        blocks.extend(spending::notes(totals).map(Block::Note));
    }
    let budget = spending::budget(totals).into_iter();
    blocks.extend(
        budget.enumerate().map(|(line, text)| if line == 0 { Block::Note(text) } else { Block::Warning(text) }),
    );
    Section::new(Kind::Spend, "Tokens and cost", blocks)
}

fn table(totals: &Totals) -> Table {
    let mut table = Table::new([
        Column::left("role"),
        Column::left("model").may_cut(),
        Column::right("calls").rank(0),
        Column::right("tokens in"),
        Column::right("tokens out"),
        Column::right("cost"),
    ]);
    for line in &totals.models {
        table.rows.push(vec![
            Cell::figure(line.role.name()),
            Cell::text(&line.model),
            Cell::figure(count(line.calls)),
            Cell::figure(spending::tokens(line, line.tokens.input)),
            Cell::figure(spending::tokens(line, line.tokens.output)),
            Cell::known(spending::cost(line)),
        ]);
    }
    let tokens = |of: fn(&Tokens) -> u64| {
        let sum = count(totals.models.iter().map(|line| of(&line.tokens)).sum());
        spending::marked(totals.cost.estimated_calls, sum)
    };
    let total = [
        "total".to_owned(),
        String::new(),
        count(totals.models.iter().map(|line| line.calls).sum()),
        tokens(|tokens| tokens.input),
        tokens(|tokens| tokens.output),
        spending::total(totals),
    ];
    table.total = Some(total.map(Cell::figure).into());
    table
}
