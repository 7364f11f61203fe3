//! `sql_state`: the result of a query in a database at the end, and unchanged tables.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use yaml::bounded::{Millis, Words};

use super::{kind::Kind, place::Place};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SqlState {
    /// Its name below `databases` of the worker's settings.
    pub database: String,
    pub query: Option<String>,
    pub parameters: Vec<Value>,
    pub rows: Vec<Vec<Value>>,
    pub ordered: bool,
    /// Tables that must be unchanged since the trial began.
    pub unchanged: Vec<String>,
    pub within_ms: u64,
}

/// A database that `databases` of `gabfest.yaml` names has a state: a query returns these rows, and tables are as they were
/// when the trial began. The query is one statement that only reads.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "SqlState")]
pub struct Written {
    /// The name of the database in `gabfest.yaml`.
    database: Words,
    /// One statement that only reads. Its parameters are `?` in SQLite, and `$1`, `$2` in PostgreSQL.
    query: Option<Words>,
    /// The values of the parameters: texts, numbers, true, false.
    #[serde(default)]
    parameters: Vec<Value>,
    /// The expected rows, each a list of values. `null` in a row is SQL's NULL.
    rows: Option<Vec<Vec<Value>>>,
    /// Whether the rows must come in this order.
    #[serde(default)]
    ordered: bool,
    /// Tables that must be as they were after the trial's database was filled, such as `customers` or `shop.customers`.
    #[serde(default)]
    unchanged: Vec<String>,
    /// How long the rows may take to become so, in milliseconds.
    #[serde(default = "at_once")]
    #[schemars(extend("default" = 0))]
    within_ms: Millis,
}

impl Kind for SqlState {
    type Written = Written;

    fn read(written: Written, place: &mut Place<'_, '_>) -> Option<Self> {
        let Written { database, query, parameters, rows, ordered, unchanged, within_ms } = written;
        match (&query, &rows) {
            (Some(_), None) => {
                place.error("query", "`query` has no `rows`, so there is nothing to judge");
                place.help("write the rows that the query returns; `rows: []` for none");
            }
            (None, Some(_)) => place.error("rows", "`rows` has no `query`"),
            (None, None) if unchanged.is_empty() => place.check_one_of(&["query", "unchanged"]),
            _ => {}
        }
        if parameters.iter().any(|value| value.is_array() || value.is_object()) {
            place.error("parameters", "expected texts, numbers, true or false as parameters");
        }
        place_values(&rows, place);
        if unchanged.iter().any(|table| table.split('.').any(|part| part.trim().is_empty())) {
            place.error("unchanged", "expected the names of tables, such as `customers` or `shop.customers`");
        }
        Some(Self {
            database: database.0,
            query: query.map(|query| query.0),
            parameters,
            rows: rows.unwrap_or_default(),
            ordered,
            unchanged,
            within_ms: within_ms.0,
        })
    }
}

fn place_values(rows: &Option<Vec<Vec<Value>>>, place: &mut Place<'_, '_>) {
    let values = || rows.iter().flatten().flatten();
    if values().any(|value| value.is_array() || value.is_object()) {
        place.error("rows", "expected texts, numbers, true, false or null in `rows`");
    }
}

fn at_once() -> Millis {
    Millis(0)
}
