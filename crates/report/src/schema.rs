//! The JSON Schemas of `report.json` and of `gabfest compare --json`, for `gabfest schema`.

use record::Summary;
use statistics::compare::found::Comparison;

#[must_use]
pub fn report() -> serde_json::Value {
    schemars::schema_for!(Summary).to_value()
}

/// Also that of `compare.json`.
#[must_use]
pub fn compare() -> serde_json::Value {
    schemars::schema_for!(Comparison).to_value()
}
