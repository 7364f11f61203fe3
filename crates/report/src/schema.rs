//! The JSON Schema of `report.json`, for `gabfest schema report`.

use record::Summary;

#[must_use]
pub fn report() -> serde_json::Value {
    schemars::schema_for!(Summary).to_value()
}
