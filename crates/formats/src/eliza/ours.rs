//! The key `gabfest`: the part of a scenario that does not exist in ElizaOS.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::said::{self, MessageDocument};
use crate::{data::DataDocument, simulated_user};
use scenario::{
    History, Message, OnFailure, Seeding,
    user::{Pauses, ThinkTime, TypingSpeed},
};
use yaml::bounded::{Repeats, Share, Weight, Words};
use yaml::{Findings, Part};

/// Keys that only gabfest knows.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "ScenarioExtras")]
pub(crate) struct OursDocument {
    /// Names of library personas. gabfest plays the scenario with each of them.
    personas: Vec<String>,
    /// Tags for `--tag`.
    tags: Vec<String>,
    /// The scenario's weight in the weighted success rate of a run. The default is 1.
    weight: Option<Weight>,
    /// The minimum success rate of each case. The default comes from `gates` in `gabfest.yaml`.
    required_pass_rate: Option<Share>,
    /// The share of the weight of all required evaluations that must pass in a trial. Without it, the `strategy` of
    /// `judgment` decides.
    required_score: Option<Share>,
    /// The number of repeats of each case. The default is 1.
    repeats: Option<Repeats>,
    /// Messages before the first step.
    #[schemars(with = "Vec<MessageDocument>")]
    opening: Vec<Value>,
    /// What happens to the next steps after a failed check.
    on_failure: OnFailure,
    /// The answer that the next turn builds on.
    history: History,
    /// Makes this a negative control: swaps PASS and FAIL.
    expect_failure: bool,
    /// Values for `${vars.NAME}`, by name. Requests to agents have them as `{{ vars.NAME }}`.
    vars: Map<String, Value>,
    /// Files that this file takes keys from. Mappings merge; a value of this file takes precedence.
    #[serde(rename = "include")]
    _include: Vec<Words>,
    /// A file with rows. gabfest plays the scenario once with each row.
    #[serde(rename = "data")]
    _data: Option<DataDocument>,
    /// SQL to run before the first step.
    #[schemars(with = "Vec<SeedingDocument>")]
    database: Vec<Value>,
    /// How long the user thinks before each line but the first. Played in a load, and with `--think-time`. A simulated user or
    /// persona with its own uses that instead.
    think_time: Option<ThinkTime>,
    /// How fast the user types, which is a wait before each line but the first. Played in a load, and with `--think-time`.
    typing_speed: Option<TypingSpeed>,
    /// The state that mocks read as `{{state.…}}` and change with `set`. Each trial starts with it.
    state: Option<Map<String, Value>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Seeding")]
pub(crate) struct SeedingDocument {
    /// The name of a database in `gabfest.yaml`.
    connection: Words,
    /// SQL files to run, in this order. Paths are relative to the scenario file.
    #[serde(rename = "files")]
    #[schemars(with = "Vec<SqlDocument>")]
    _files: Vec<Value>,
}

/// SQL with the name of its file.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "SqlText")]
pub(crate) struct SqlText {
    /// The name of the SQL file.
    path: String,
    /// The SQL.
    text: String,
}

/// A path, or the SQL itself.
#[derive(Debug)]
pub(crate) struct SqlDocument;

impl JsonSchema for SqlDocument {
    fn schema_name() -> Cow<'static, str> {
        "SqlFile".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let text = generator.subschema_for::<SqlText>();
        json_schema!({ "oneOf": [{ "type": "string", "minLength": 1 }, text] })
    }
}

/// The key's content, translated.
#[derive(Debug)]
pub(super) struct Ours {
    pub(super) personas: Vec<String>,
    pub(super) tags: Vec<String>,
    pub(super) weight: f64,
    pub(super) required_pass_rate: Option<f64>,
    pub(super) required_score: Option<f64>,
    pub(super) repeats: Option<u32>,
    pub(super) opening: Vec<Message>,
    pub(super) on_failure: OnFailure,
    pub(super) history: History,
    pub(super) expect_failure: bool,
    pub(super) databases: Vec<Seeding>,
    pub(super) state: Value,
    pub(super) pauses: Pauses,
    pub(super) vars: Map<String, Value>,
}

pub(super) fn read(part: Option<&Part<'_>>, findings: &mut Findings) -> Option<Ours> {
    let written = match part {
        // A misspelt requirement would silently not apply.
        Some(part) => part.decode_guarded::<OursDocument>(|_, _| true, findings),
        None => Some(OursDocument::default()),
    };
    for key in ["include", "data"] {
        if let Some(ours) = part.filter(|part| part.get(key).is_some()) {
            // The reader of files has removed both; what is left comes from an axis.
            findings.error(ours.key_spot(key), format!("`{key}` was not read together with the scenario"));
            findings.help(format!("write `{key}` in the scenario file itself"));
        }
    }
    let list = |key: &str| part.map_or_else(Vec::new, |part| part.items_of(key));
    let opening = said::read_all(&list("opening"), findings);
    let databases = list("database").iter().filter_map(|seeding| read_seeding(seeding, findings)).collect();
    let written = written?;
    if let Some(part) = part {
        simulated_user::check_think_time(part, written.think_time, findings);
    }
    Some(Ours {
        personas: written.personas,
        tags: written.tags,
        weight: written.weight.map_or(1.0, |weight| weight.0),
        required_pass_rate: written.required_pass_rate.map(|share| share.0),
        required_score: written.required_score.map(|share| share.0),
        repeats: written.repeats.map(|repeats| repeats.0),
        opening,
        on_failure: written.on_failure,
        history: written.history,
        expect_failure: written.expect_failure,
        databases,
        state: written.state.map_or(Value::Null, Value::Object),
        pauses: Pauses { think_time: written.think_time, typing_speed: written.typing_speed },
        vars: written.vars,
    })
}

fn read_seeding(part: &Part<'_>, findings: &mut Findings) -> Option<Seeding> {
    let written = part.decode_guarded::<SeedingDocument>(|_, _| true, findings)?;
    let mut files = Vec::new();
    for file in part.items_of("files") {
        if let Value::String(path) = file.value() {
            // The reader of files has inserted the text already; what is left comes from an axis.
            findings.error(file.spot(), format!("the SQL file `{path}` was not read together with the scenario"));
            findings.help("name the file in the scenario itself, or write `{path: NAME, text: SQL}`");
            continue;
        }
        if let Some(sql) = file.decode::<SqlText>(findings) {
            files.push((sql.path, sql.text));
        }
    }
    Some(Seeding { connection: written.connection.0, files })
}
