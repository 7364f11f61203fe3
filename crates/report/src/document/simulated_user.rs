//! Faults of the simulated user: drafts that were refused, faults that the agent got, and what they do to the success rate.

use record::{
    Summary,
    summary::{FaultFigures, NamedUser, Rate, SimulatedUser, UserFigures},
};

use super::{
    model::{Block, Cell, Column, Kind, LineKind, Section, Table},
    room::Room,
};
use crate::figures::{self, count, plural};

pub(super) fn section(summary: &Summary, room: Room) -> Section {
    let blocks = summary.simulated_user.as_ref().filter(|user| has_faults(&user.total)).map(|user| {
        let mut blocks = vec![Block::Table(table(user, room))];
        blocks.push(Block::Lines { kind: LineKind::Item, lines: lines(user) });
        blocks
    });
    Section::new(Kind::SimulatedUser, "Faults of the simulated user", blocks.unwrap_or_default())
}

fn has_faults(figures: &UserFigures) -> bool {
    !figures.faults.is_empty() || figures.unknown > 0
}

/// One row for each kind: of all lines, then of each model and persona where there are several.
fn table(user: &SimulatedUser, room: Room) -> Table {
    let mut columns = vec![Column::left("").may_cut(), Column::left("fault")];
    columns.extend([Column::right("lines").rank(0), Column::right("refused per 1,000"), Column::right("95%").rank(1)]);
    columns.extend([Column::right("sent per 1,000"), Column::right("95%").rank(2)]);
    let mut table = Table::new(columns);
    let several = |users: &'_ [NamedUser]| users.len() > 1 && !room.narrow;
    let models = user.by_model.iter().filter(|_| several(&user.by_model)).map(|model| (&*model.name, &model.figures));
    let personas = user.by_persona.iter().filter(|_| several(&user.by_persona)).map(|it| (&*it.name, &it.figures));
    let all = std::iter::once(("all", &user.total)).chain(models).chain(personas);
    let rows: Vec<Vec<Cell>> =
        all.flat_map(|(name, figures)| figures.faults.iter().map(move |fault| row(name, figures, fault))).collect();
    let left_out = rows.len().saturating_sub(room.breakdown_rows) as u64;
    table.left_out = (left_out > 0).then(|| format!("{} more", count(left_out)));
    table.rows = rows.into_iter().take(room.breakdown_rows).collect();
    table
}

fn row(name: &str, figures: &UserFigures, fault: &FaultFigures) -> Vec<Cell> {
    let rates = [&fault.refused_rate, &fault.sent_rate].into_iter().flat_map(|rate| [per_thousand(rate), bounds(rate)]);
    let figures = std::iter::once(count(figures.lines)).chain(rates).map(Cell::figure);
    [Cell::text(name), Cell::text(fault.kind.name())].into_iter().chain(figures).collect()
}

/// `12.5`
fn per_thousand(rate: &Rate) -> String {
    rate.estimate.map_or_else(|| "–".to_owned(), |share| format!("{:.1}", share * 1_000.0))
}

/// `4.3–36.0`
fn bounds(rate: &Rate) -> String {
    format!("{:.1}–{:.1}", rate.low * 1_000.0, rate.high * 1_000.0)
}

fn lines(user: &SimulatedUser) -> Vec<String> {
    let total = &user.total;
    let mut lines = Vec::new();
    if total.unknown > 0 {
        let share = figures::estimate(&total.unknown_rate);
        lines.push(format!(
            "{} of {} could not be judged ({share})",
            count(total.unknown),
            plural(total.lines, "line", "lines")
        ));
    }
    if total.faulty_trials > 0 {
        let trials = plural(total.trials, "trial", "trials");
        lines.push(format!(
            "the agent got a critical fault in {} of {trials} ({}): these are INCONCLUSIVE",
            count(total.faulty_trials),
            figures::estimate(&total.faulty_rate)
        ));
        lines.push(format!(
            "success rate: {} without these trials, {} with them; {:.1}–{:.1}% whatever they would have shown",
            figures::estimate(&user.success_rate_without_faults),
            figures::estimate(&user.success_rate_with_faults),
            user.low * 100.0,
            user.high * 100.0
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use record::user_fault::FaultKind;

    use super::*;

    fn rate(pass: u64, n: u64) -> Rate {
        Rate { estimate: Some(pass as f64 / n as f64), low: 0.001, high: 0.25, method: String::new(), n }
    }

    fn user() -> SimulatedUser {
        let leak = FaultFigures {
            kind: FaultKind::Leak,
            refused: 5,
            refused_rate: rate(5, 400),
            sent: 0,
            sent_rate: rate(0, 400),
        };
        let total = UserFigures {
            trials: 20,
            faulty_trials: 2,
            faulty_rate: rate(2, 20),
            lines: 400,
            unknown: 40,
            unknown_rate: rate(40, 400),
            faults: vec![leak],
        };
        let named = |name: &str| NamedUser { name: name.to_owned(), figures: total.clone() };
        SimulatedUser {
            by_model: vec![named("small"), named("large")],
            by_persona: vec![named("shy")],
            success_rate_with_faults: rate(15, 20),
            success_rate_without_faults: rate(14, 18),
            low: 0.7,
            high: 0.8,
            total,
        }
    }

    fn room(narrow: bool) -> Room {
        let most = usize::MAX;
        Room {
            narrow,
            scenarios: most,
            changes: most,
            breakdowns: most,
            breakdown_rows: 2,
            checks: most,
            batteries: most,
            failures: most,
            informing: most,
            unreadable: most,
            agent_failures: false,
        }
    }

    #[test]
    fn each_kind_of_each_model_has_its_rates_and_the_success_rate_its_bounds() {
        let user = user();
        let wide = table(&user, room(false));
        assert_eq!((wide.rows.len(), wide.left_out.as_deref()), (2, Some("1 more")), "a single persona has no rows");
        assert_eq!(table(&user, room(true)).rows.len(), 1, "a narrow page has only all lines");
        let fault = &user.total.faults[0];
        assert_eq!(
            (per_thousand(&fault.refused_rate), bounds(&fault.refused_rate)),
            ("12.5".to_owned(), "1.0–250.0".to_owned())
        );
        assert_eq!(
            lines(&user),
            [
                "40 of 400 lines could not be judged (10%)",
                "the agent got a critical fault in 2 of 20 trials (10%): these are INCONCLUSIVE",
                "success rate: 77.8% without these trials, 75% with them; 70.0–80.0% whatever they would have shown",
            ]
        );
        assert!(!has_faults(&UserFigures { faults: Vec::new(), unknown: 0, ..user.total.clone() }));
    }
}
