//! One conversation of a battery as a table: a row per turn, a column per test, totals below.
//!
//! The columns and their order are those of the original's workbook, which inserted each test before the earlier ones.

use record::{
    Finding, Turn,
    battery::{Cell, Examined, Head, Histogram, Total, count},
};
use scenario::battery::{Compat, LEVELS, Part, Requirement};
use serde_json::{Value, json};

#[derive(Debug, Clone, PartialEq)]
pub struct Sheet {
    /// Reproduce the original's bugs.
    pub compat: bool,
    /// Exchanges.
    pub rows: usize,
    pub columns: Vec<Column>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    pub head: String,
    /// One per row; `None` is an empty cell.
    pub cells: Vec<Option<Value>>,
    /// The total below, and its name in a summary.
    pub total: Option<(String, Sum)>,
}

/// The total of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Sum {
    Passed(Total),
    ByLevel(Box<Histogram>),
    /// The original's sum of histograms over runs.
    Strung(Vec<Vec<u64>>),
}

impl Sum {
    #[must_use]
    pub fn value(&self) -> Value {
        match self {
            Self::Passed(total) => json!(total),
            Self::ByLevel(levels) => json!(levels.as_slice()),
            Self::Strung(lists) => json!(lists),
        }
    }

    /// The sum of both; of different kinds the first.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Passed(a), Self::Passed(b)) => Self::Passed([a[0] + b[0], a[1] + b[1]]),
            (Self::ByLevel(a), Self::ByLevel(b)) => {
                let mut levels = a.clone();
                for (level, more) in levels.iter_mut().zip(b.iter()) {
                    *level = [level[0] + more[0], level[1] + more[1]];
                }
                Self::ByLevel(levels)
            }
            _ => self.clone(),
        }
    }
}

impl Sheet {
    /// The table of a conversation.
    #[must_use]
    pub fn of(examined: &Examined, turns: &[Turn]) -> Self {
        let Examined { head, replies } = examined;
        let turns = &turns[..turns.len().min(head.examination.turns.len().max(1))];
        let compat = head.compat == Some(Compat::Emely9043c93);
        let rows = replies.iter().filter_map(|reply| {
            let turn = turns.iter().position(|turn| turn.number == reply.turn)?;
            Some(Row { turn, finding: reply.finding, cell: &reply.cell })
        });
        let table = Table { head, turns, rows: rows.collect(), compat };
        Self { compat, rows: turns.len(), columns: table.columns() }
    }
}

/// A finding at its row.
struct Row<'a> {
    turn: usize,
    finding: Finding,
    cell: &'a Cell,
}

struct Table<'a> {
    head: &'a Head,
    turns: &'a [Turn],
    rows: Vec<Row<'a>>,
    compat: bool,
}

impl Table<'_> {
    fn columns(&self) -> Vec<Column> {
        let mut columns = vec![
            self.text("Input", |turn| Some(json!(turn.user))),
            self.text("Response", |turn| turn.agent.as_ref().map(|words| json!(words))),
        ];
        let tested = Requirement::ALL.into_iter().filter(|requirement| requirement.data().is_some());
        for requirement in tested.rev() {
            self.tests(requirement, &mut columns);
        }
        for requirement in [Requirement::Stutter, Requirement::RepeatedQuestions] {
            self.observed(requirement, requirement.test_case(), &mut columns);
        }
        self.observed(Requirement::ReplyCoherence, "MLI3TC1 - coherent wrt last answer", &mut columns);
        self.observed(Requirement::ContextCoherence, "Coherence wrt context", &mut columns);
        self.toxicity(&mut columns);
        let saved = self.head.saved;
        columns.push(
            self.text("Response times", |turn| (!saved).then(|| json!(turn.duration_micros as f64 / 1_000_000.0))),
        );
        columns
    }

    fn text(&self, head: &str, cell: impl Fn(&Turn) -> Option<Value>) -> Column {
        Column { head: head.to_owned(), cells: self.turns.iter().map(cell).collect(), total: None }
    }

    fn column<'r, 'c: 'r>(
        &self,
        head: impl Into<String>,
        mut rows: impl Iterator<Item = &'r Row<'c>>,
        cell: impl Fn(&Row<'_>) -> Option<Value>,
    ) -> Column {
        let mut cells = vec![None; self.turns.len()];
        rows.by_ref().for_each(|row| cells[row.turn] = cell(row));
        Column { head: head.into(), cells, total: None }
    }

    /// The columns of one requirement's data sets, the last one first.
    fn tests(&self, requirement: Requirement, columns: &mut Vec<Column>) {
        let shown = self.head.shown;
        let of_requirement = || self.rows.iter().filter(move |row| row.cell.requirement == requirement);
        let name = requirement.test_case();
        if requirement.garbles() && of_requirement().next().is_some() {
            columns.push(self.column(format!("Values used for {name}"), of_requirement(), |row| {
                row.cell.values.map(|values| json!(values.shown()))
            }));
        }
        let asked = |id: u32| {
            let tests = self.head.examination.turns.iter().flatten();
            tests
                .filter(|test| test.part == Part::Question)
                .any(|test| (test.requirement, test.set) == (requirement, id))
        };
        let sets = self.head.examination.sets.iter().filter(|(other, _)| *other == requirement);
        let ids: Vec<u32> = sets.flat_map(|(_, sets)| sets).map(|set| set.id).filter(|id| asked(*id)).collect();
        for id in ids.into_iter().rev() {
            let of_set = || of_requirement().filter(move |row| row.cell.set == Some(id));
            if shown.verdict {
                let mut column = self.column(format!("{name} - {id}"), of_set(), |row| Some(verdict(row)));
                column.total = Some((name.to_owned(), sum(requirement, of_set())));
                columns.push(column);
            }
            if shown.detail {
                let head = format!("{name} (detailed) - {id}");
                columns.push(self.column(head, of_set(), |row| row.cell.detail.clone()));
            }
            if shown.interpretation {
                let head = format!("{name} (interpret) - {id}");
                columns.push(self.column(head, of_set(), |row| row.cell.interpretation.clone()));
            }
        }
    }

    /// The columns of a requirement that every reply is examined for.
    fn observed(&self, requirement: Requirement, head: &str, columns: &mut Vec<Column>) {
        if !self.head.requirements.contains(&requirement) {
            return;
        }
        let rows = || self.rows.iter().filter(move |row| row.cell.requirement == requirement);
        let coherence = matches!(requirement, Requirement::ContextCoherence | Requirement::ReplyCoherence);
        if self.head.shown.verdict {
            let mut column = self.column(head, rows(), |row| Some(verdict(row)));
            column.total = Some((head.to_owned(), sum(requirement, rows())));
            columns.push(column);
        }
        let has_detail = rows().any(|row| row.cell.detail.is_some()) && !(self.compat && coherence);
        if self.head.shown.detail && has_detail {
            columns.push(self.column(format!("{head} (detailed)"), rows(), |row| row.cell.detail.clone()));
        }
    }

    /// The seven kinds: verdicts, then scores.
    fn toxicity(&self, columns: &mut Vec<Column>) {
        if !self.head.requirements.contains(&Requirement::Toxicity) {
            return;
        }
        let rows = || self.rows.iter().filter(|row| row.cell.requirement == Requirement::Toxicity);
        let score = |row: &Row<'_>, name: &str| {
            row.cell.scores.iter().find(|(other, _)| other == name).map(|(_, score)| *score)
        };
        let names: Vec<String> = rows()
            .find(|row| !row.cell.scores.is_empty())
            .map_or_else(Vec::new, |row| row.cell.scores.iter().map(|(name, _)| name.clone()).collect());
        let threshold = self.head.thresholds.toxicity;
        let finding = |score: f64| if score > threshold { Finding::Fail } else { Finding::Pass };
        for name in names.iter().filter(|_| self.head.shown.verdict) {
            let mut total: Total = [0, 0];
            rows().filter_map(|row| score(row, name)).for_each(|score| count(&mut total, finding(score)));
            let mut column = self.column(name, rows(), |row| score(row, name).map(|it| word(finding(it))));
            column.total = Some((name.clone(), Sum::Passed(total)));
            columns.push(column);
        }
        for name in names.iter().filter(|_| self.head.shown.detail) {
            columns.push(self.column(format!("{name} (detailed)"), rows(), |row| {
                score(row, name).map(|score| json!((score * 100_000.0).round() / 100_000.0))
            }));
        }
    }
}

fn verdict(row: &Row<'_>) -> Value {
    row.cell.word.as_ref().map_or_else(|| word(row.finding), |word| json!(word))
}

fn word(finding: Finding) -> Value {
    json!(match finding {
        Finding::Pass => "Pass",
        Finding::Fail => "Fail",
        Finding::Inconclusive => "Inconclusive",
        Finding::Error => "Error",
        Finding::NotApplicable => "Not applicable",
    })
}

fn sum<'r, 'c: 'r>(requirement: Requirement, rows: impl Iterator<Item = &'r Row<'c>>) -> Sum {
    let mut total: Total = [0, 0];
    let mut levels: Histogram = [[0, 0]; LEVELS];
    let mut known = true;
    for row in rows.filter(|row| row.cell.counted) {
        count(&mut total, row.finding);
        match row.cell.values {
            Some(values) => count(&mut levels[values.level()], row.finding),
            None => known = false,
        }
    }
    // A conversation that was saved elsewhere does not record how strongly its questions were garbled.
    if requirement.garbles() && known { Sum::ByLevel(Box::new(levels)) } else { Sum::Passed(total) }
}
