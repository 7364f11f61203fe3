//! Values of SciPy and statsmodels for the tests of several modules, made by `reference/rates.py`.

use serde_json::Value;

/// The rows of one list.
pub(crate) fn rows(name: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("../reference/rates.json")).unwrap();
    all[name].as_array().unwrap().clone()
}

pub(crate) fn number(of: &Value) -> f64 {
    of.as_f64().unwrap()
}

pub(crate) fn whole(of: &Value) -> u64 {
    of.as_u64().unwrap()
}
