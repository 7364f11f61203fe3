//! What checks read from databases: rows, and whether tables have changed since the trial began.

use std::collections::{BTreeMap, btree_map::Entry};

use evaluate::subject::StateError;
use record::{Failure, FailureKind};
use scenario::{Rule, Scenario, check};
use serde_json::Value;

#[cfg(feature = "databases")]
use crate::environment::database::query;
use crate::{environment::Execution, resources::Resources};

/// Digests of tables by database and name.
#[derive(Debug, Default)]
pub(crate) struct Tables(BTreeMap<(String, String), String>);

impl Tables {
    /// The current state of the tables that a check wants unchanged.
    pub(super) async fn read(scenario: &Scenario, resources: &Resources) -> Result<Self, Failure> {
        let mut tables = Self::default();
        for check in scenario.checks() {
            let Rule::SqlState(check::SqlState { database, unchanged, .. }) = &check.rule else { continue };
            for table in unchanged {
                let Entry::Vacant(place) = tables.0.entry((database.clone(), table.clone())) else { continue };
                let digest = digest(resources, database, table).await.map_err(|error| {
                    let kind = match &error {
                        StateError::Unknown => FailureKind::Misconfigured,
                        StateError::Failed(_) => FailureKind::EnvironmentFailed,
                    };
                    Failure::new(kind, format!("the table {table} of database {database:?} cannot be read: {error}"))
                })?;
                place.insert(digest);
            }
        }
        Ok(tables)
    }

    pub(super) async fn has_changed(
        &self,
        resources: &Resources,
        database: &str,
        table: &str,
    ) -> Result<bool, StateError> {
        let Some(before) = self.0.get(&(database.to_owned(), table.to_owned())) else {
            return Err(StateError::Failed(format!("the table {table} was not read when the trial began")));
        };
        Ok(*before != digest(resources, database, table).await?)
    }
}

pub(super) async fn rows(
    resources: &Resources,
    database: &str,
    sql: &str,
    parameters: &[Value],
) -> Result<Vec<Vec<Value>>, StateError> {
    let address = resources.databases.get(database).ok_or(StateError::Unknown)?;
    let trusted = matches!(resources.execution, Execution::Host(_));
    query::rows(address, sql, parameters, trusted).await.map_err(|error| failed(&error))
}

async fn digest(resources: &Resources, database: &str, table: &str) -> Result<String, StateError> {
    let address = resources.databases.get(database).ok_or(StateError::Unknown)?;
    query::digest(address, table).await.map_err(|error| failed(&error))
}

fn failed(error: &dyn std::fmt::Display) -> StateError {
    StateError::Failed(redact::redact(&format!("failed to {error}")).into_owned())
}

#[cfg(not(feature = "databases"))]
mod query {
    use serde_json::Value;

    const NONE: &str = "read it: this gabfest was built without databases";

    pub(super) async fn rows(_: &str, _: &str, _: &[Value], _: bool) -> Result<Vec<Vec<Value>>, &'static str> {
        Err(NONE)
    }

    pub(super) async fn digest(_: &str, _: &str) -> Result<String, &'static str> {
        Err(NONE)
    }
}
