//! The JSON Schemas of `report.json` and of what commands print with `--json`, for `gabfest schema`.

use record::Summary;
use statistics::{compare::found::Comparison, noise::found::Noise, planning::Planning, trends::Trends};

#[must_use]
pub fn report() -> serde_json::Value {
    schemars::schema_for!(Summary).to_value()
}

/// Also that of `compare.json`.
#[must_use]
pub fn compare() -> serde_json::Value {
    schemars::schema_for!(Comparison).to_value()
}

/// Of `gabfest history --json` and `gabfest trends --json`.
#[must_use]
pub fn trends() -> serde_json::Value {
    schemars::schema_for!(Trends).to_value()
}

#[must_use]
pub fn plan() -> serde_json::Value {
    schemars::schema_for!(Planning).to_value()
}

#[must_use]
pub fn noise() -> serde_json::Value {
    schemars::schema_for!(Noise).to_value()
}
