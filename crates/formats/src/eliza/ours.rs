//! The key `gabfest`: what ElizaOS does not know of a scenario.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::Value;

use super::said::{self, MessageDocument};
use scenario::{History, Message, OnFailure, Seeding};
use yaml::bounded::{Repeats, Share, Weight, Words};
use yaml::{Findings, Part};

/// What only gabfest knows of a scenario.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "ScenarioExtras")]
pub(crate) struct OursDocument {
    /// Personas of the library, by name; the scenario is played with each.
    personas: Vec<String>,
    /// Words that `--tag` selects by.
    tags: Vec<String>,
    /// How much the scenario counts in the weighted success rate of a run; 1 unless written.
    weight: Option<Weight>,
    /// The least success rate of each case; unless written, what `gates` in `gabfest.yaml` asks for.
    required_pass_rate: Option<Share>,
    /// The share of the weight of its required evaluations that must pass in a trial; unless written, the `strategy`
    /// of `judgment` decides.
    required_score: Option<Share>,
    /// How often each case is played; once unless written.
    repeats: Option<Repeats>,
    /// What has been said before the first step.
    #[schemars(with = "Vec<MessageDocument>")]
    opening: Vec<Value>,
    /// What a failing check does to the steps after it.
    on_failure: OnFailure,
    /// Which answer the next turn builds on.
    history: History,
    /// A negative control: PASS and FAIL are exchanged.
    expect_failure: bool,
    /// SQL that is run before the first step.
    #[schemars(with = "Vec<SeedingDocument>")]
    database: Vec<Value>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Seeding")]
pub(crate) struct SeedingDocument {
    /// A database that `gabfest.yaml` names.
    connection: Words,
    /// SQL files, run in this order; their paths are relative to the scenario file.
    #[serde(rename = "files")]
    #[schemars(with = "Vec<SqlDocument>")]
    _files: Vec<Value>,
}

/// SQL with the name of its file, which is how a plan carries it.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "SqlText")]
pub(crate) struct SqlText {
    /// What the SQL is called.
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
}

pub(super) fn read(part: Option<&Part<'_>>, findings: &mut Findings) -> Option<Ours> {
    let written = match part {
        // A misspelt requirement is one that does not exist.
        Some(part) => part.decode_guarded::<OursDocument>(|_, _| true, findings),
        None => Some(OursDocument::default()),
    };
    let list = |key: &str| part.map_or_else(Vec::new, |part| part.items_of(key));
    let opening = said::read_all(&list("opening"), findings);
    let databases = list("database").iter().filter_map(|seeding| read_seeding(seeding, findings)).collect();
    let written = written?;
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
    })
}

fn read_seeding(part: &Part<'_>, findings: &mut Findings) -> Option<Seeding> {
    let written = part.decode_guarded::<SeedingDocument>(|_, _| true, findings)?;
    let mut files = Vec::new();
    for file in part.items_of("files") {
        if let Value::String(path) = file.value() {
            // The reader of files has put the text in already; what is left was put here by an axis.
            findings.error(file.spot(), format!("the SQL file `{path}` was not read with the scenario"));
            findings.help("name the file in the scenario itself, or write `{path: NAME, text: SQL}`");
            continue;
        }
        if let Some(sql) = file.decode::<SqlText>(findings) {
            files.push((sql.path, sql.text));
        }
    }
    Some(Seeding { connection: written.connection.0, files })
}
