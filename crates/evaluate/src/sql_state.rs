//! `sql_state`: a query returns the expected rows, and tables are unchanged.

use scenario::{check, mock::expression::is_equal};
use serde_json::Value;

use crate::{
    evaluator::{Behaviour, Found},
    excerpt::{SHORT_BYTES, excerpt},
    judge_pool::JudgePool,
    outcome::Outcome,
    subject::{StateError, Subject},
    within::within,
};

#[derive(Debug)]
pub(crate) struct SqlState {
    rule: check::SqlState,
}

impl SqlState {
    pub(crate) fn new(rule: &check::SqlState) -> Self {
        Self { rule: rule.clone() }
    }

    async fn look(&self, subject: &Subject<'_>) -> Outcome {
        let rows = match self.rows(subject).await {
            Ok(outcome) => outcome,
            Err(error) => return self.unreadable(&error),
        };
        for table in &self.rule.unchanged {
            match subject.workspace.has_changed(&self.rule.database, table).await {
                Ok(false) => {}
                Ok(true) if rows.as_ref().is_none_or(|rows| rows.finding == record::Finding::Pass) => {
                    return Outcome::fail(format!("the table {table} is not as it was when the trial began"));
                }
                Ok(true) => {}
                Err(error) => return self.unreadable(&error),
            }
        }
        rows.unwrap_or_else(|| Outcome::pass(format!("as it was: {}", self.rule.unchanged.join(", "))))
    }

    /// `None`: there is no query.
    async fn rows(&self, subject: &Subject<'_>) -> Result<Option<Outcome>, StateError> {
        let check::SqlState { database, query, parameters, rows: expected, ordered, .. } = &self.rule;
        let Some(query) = query else { return Ok(None) };
        let found = subject.workspace.sql_state(database, query, parameters).await?;
        let holds = if *ordered { is_same_list(&found, expected) } else { is_same_bag(&found, expected) };
        let shown = |rows: &[Vec<Value>]| excerpt(&Value::from(rows.to_vec()).to_string(), SHORT_BYTES).into_owned();
        let mut reason = format!("the query returns {}", shown(&found));
        if !holds {
            reason.push_str(&format!(", expected {}", shown(expected)));
        }
        Ok(Some(Outcome::decided(holds, reason).with_evidence(&Value::from(found).to_string())))
    }

    fn unreadable(&self, error: &StateError) -> Outcome {
        Outcome::error(error.kind(), format!("the state of database {:?} cannot be read: {error}", self.rule.database))
    }
}

impl Behaviour for SqlState {
    fn find<'a>(&'a self, subject: &'a Subject<'a>, _: &'a dyn JudgePool) -> Found<'a> {
        Found::asking(within(self.rule.within_ms, || Box::pin(self.look(subject))))
    }
}

fn is_same_row(a: &[Value], b: &[Value]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_equal(a, b))
}

fn is_same_list(found: &[Vec<Value>], expected: &[Vec<Value>]) -> bool {
    found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| is_same_row(a, b))
}

/// The same rows, each as often, in any order.
fn is_same_bag(found: &[Vec<Value>], expected: &[Vec<Value>]) -> bool {
    let mut left: Vec<&Vec<Value>> = expected.iter().collect();
    found.len() == expected.len()
        && found.iter().all(|row| match left.iter().position(|other| is_same_row(row, other)) {
            Some(place) => {
                left.swap_remove(place);
                true
            }
            None => false,
        })
}
