//! Rate limits that providers named, and that held from then on.

use record::{
    Summary,
    named_limits::{LearnedLimit, LimitOf},
};

use super::model::{Block, Cell, Column, Kind, Section, Table};
use crate::figures::count;

/// What the table says, and how to be rid of it.
const LEGEND: &str = "A provider's answers named these limits of a minute. Calls waited for them as if `limits` of the endpoint named them. `limits: {learn: false}` turns this off.";

pub(super) fn section(summary: &Summary) -> Section {
    let mut table = Table::new([
        Column::left("role"),
        Column::left("model").may_cut(),
        Column::left("limit of"),
        Column::right("in a minute"),
        Column::right("from trial").rank(0),
    ]);
    for model in &summary.summary.models {
        table.rows.extend(model.throttling.limits.iter().map(|limit| {
            vec![
                Cell::figure(model.role.name()),
                Cell::text(&model.model),
                Cell::figure(name(limit.of)),
                Cell::figure(range(limit)),
                Cell::figure(count(limit.first_trial)),
            ]
        }));
    }
    let block = (!table.rows.is_empty()).then_some(Block::Table(table));
    Section { legend: Some(LEGEND), ..Section::new(Kind::NamedLimits, "Rate limits that providers named", block) }
}

fn name(of: LimitOf) -> &'static str {
    match of {
        LimitOf::Requests => "requests",
        LimitOf::Tokens => "tokens",
        LimitOf::InputTokens => "uncached input tokens",
        LimitOf::OutputTokens => "output tokens",
    }
}

fn range(limit: &LearnedLimit) -> String {
    let LearnedLimit { lowest, highest, .. } = limit;
    if lowest == highest { count(*lowest) } else { format!("{}–{}", count(*lowest), count(*highest)) }
}
