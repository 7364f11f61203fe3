//! A small plan that needs no scenario file.

use std::collections::BTreeMap;

use scenario::{
    Plan, Source,
    plan::{Gates, Group, Transcripts, VERSION},
};

/// Two scenarios with four repeats each.
pub(super) fn plan() -> Plan {
    let group = |name: &str| Group {
        key: format!("file/{name}"),
        name: name.to_owned(),
        format: "eliza".to_owned(),
        source: Source { path: "scenarios/file.scenario.yaml".to_owned(), line: 1 },
        document: serde_json::Value::Null,
        lines: BTreeMap::new(),
        tags: Vec::new(),
        weight: 1.0,
        required_pass_rate: None,
        axes: Vec::new(),
        personas: vec![None],
        repeats: 4,
        selection: None,
        extra: Vec::new(),
        exclude: Vec::new(),
        excluded: 0,
        cover: None,
        environment: BTreeMap::new(),
        rows: None,
    };
    Plan {
        version: VERSION,
        name: "fuzzed".to_owned(),
        seed: 7,
        groups: ["s0", "s1"].map(group).into(),
        personas: BTreeMap::new(),
        agents: vec!["mock".to_owned()],
        live: false,
        plays_on: false,
        gates: Gates::default(),
        replays: 1,
        pass_k: None,
        endpoints: BTreeMap::new(),
        transcripts: Transcripts::All,
        think_time: false,
        load: None,
        decide: None,
        origin: None,
        goodput: None,
    }
}
