//! `mock_state`: the final state of the scenario's mocks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use yaml::bounded::Words;

use super::{kind::Kind, place::Place};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MockState {
    pub path: String,
    /// `None`: any value is enough.
    pub equals: Option<Value>,
}

/// The state of the mocks (`gabfest.state`) has a value at a path.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "MockState")]
pub struct Written {
    /// A path in the state, such as `$.orders.7.status` or `orders.7.status`.
    path: Words,
    /// The expected value. The default is any value.
    equals: Option<Value>,
}

impl Kind for MockState {
    type Written = Written;

    fn read(written: Written, _: &mut Place<'_, '_>) -> Option<Self> {
        Some(Self { path: written.path.0, equals: written.equals })
    }
}
