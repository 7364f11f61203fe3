//! `http_state`: the state of a service at the end, read over HTTP.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use yaml::bounded::{Millis, Words};

use super::{kind::Kind, place::Place};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HttpState {
    /// Its name below `state_hosts` of the worker's settings.
    pub host: String,
    /// With the `/` it begins with.
    pub path: String,
    pub json_path: Option<String>,
    /// `None`: any value is enough.
    pub equals: Option<Value>,
    pub within_ms: u64,
}

/// A service that `state_hosts` of `gabfest.yaml` names has a state. gabfest reads it with GET. A status 404 or 410 means that
/// there is nothing.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "HttpState")]
pub struct Written {
    /// The name of the host in `gabfest.yaml`.
    host: Words,
    /// The path at the host, such as `/orders/7`. It may have a query.
    path: Words,
    /// A path in the JSON of the answer, such as `$.status`. The default is the whole answer.
    json_path: Option<Words>,
    /// The expected value. The default is any value.
    equals: Option<Value>,
    /// How long the state may take to become so, in milliseconds.
    #[serde(default = "at_once")]
    #[schemars(extend("default" = 0))]
    within_ms: Millis,
}

impl Kind for HttpState {
    type Written = Written;

    fn read(written: Written, place: &mut Place<'_, '_>) -> Option<Self> {
        let Written { host, path, json_path, equals, within_ms } = written;
        if !path.0.starts_with('/') || path.0.starts_with("//") || path.0.contains('#') {
            place.error("path", format!("expected a path that begins with one `/`, found `{}`", path.0));
            place.help("the address of the host is in `state_hosts` of gabfest.yaml");
        }
        let json_path = json_path.map(|path| path.0);
        Some(Self { host: host.0, path: path.0, json_path, equals, within_ms: within_ms.0 })
    }
}

fn at_once() -> Millis {
    Millis(0)
}
