//! The named checks of a comparison: what is worse first.

use statistics::compare::found::{CheckFound, CheckOutcome, Comparison, SideFound};

use super::words;
use crate::{
    document::model::{Block, Cell, Column, Kind, Section, Table},
    figures::{count, plural},
};

const LEGEND: &str = "Trials in which each check passes wherever it applies. Points are the mean over the cases that both runs have. At most 1 in 20 of the entries worse and better is expected to be there by chance.";

pub(super) fn section(comparison: &Comparison, room: usize) -> Section {
    let mut checks: Vec<&CheckFound> = comparison.checks.iter().collect();
    let chance = |check: &CheckFound| check.chance.unwrap_or(1.0);
    checks.sort_by(|a, b| a.outcome.cmp(&b.outcome).then(chance(a).total_cmp(&chance(b))));
    let more = checks.len().saturating_sub(room);
    checks.truncate(room);
    let mut table = Table::new([
        Column::left("").may_cut(),
        Column::right("cases").rank(1),
        Column::right("BASE"),
        Column::right("NEW"),
        Column::right("points"),
        Column::right("interval").rank(0),
        Column::right("by chance").rank(1),
        Column::left("changed"),
    ]);
    table.rows = checks.into_iter().map(row).collect();
    let more =
        (more > 0).then(|| Block::Note(format!("{} in `--json`", plural(more as u64, "more check", "more checks"))));
    let table = (!table.rows.is_empty()).then_some(Block::Table(table));
    let blocks: Vec<Block> = table.into_iter().chain(more).collect();
    Section { legend: Some(LEGEND), ..Section::new(Kind::Metrics, "Named checks", blocks) }
}

fn row(of: &CheckFound) -> Vec<Cell> {
    let side = |side: Option<SideFound>| side.map_or_else(|| "–".to_owned(), words::passed);
    let interval = of.low.zip(of.high).map(|(low, high)| format!("{} to {}", words::signed(low), words::signed(high)));
    let word = match of.outcome {
        CheckOutcome::Worse => "worse",
        CheckOutcome::Better => "better",
        CheckOutcome::Same => "not shown",
        CheckOutcome::Undecided => "undecided",
        CheckOutcome::New => "only in NEW",
        CheckOutcome::Gone => "only in BASE",
    };
    let odds = |chance| words::one_in(chance).unwrap_or_else(|| "below 1 in a million".to_owned());
    let chance = of.chance.filter(|chance| *chance <= words::USUAL).map_or_else(|| "–".to_owned(), odds);
    vec![
        Cell::text(&of.name),
        Cell::figure(count(of.cells)),
        Cell::figure(side(of.base)),
        Cell::figure(side(of.new)),
        Cell::known(of.difference.map(words::signed)),
        Cell::known(interval),
        Cell::figure(chance),
        Cell::figure(word),
    ]
}
