//! The shape of a battery file, which is decoded and which the JSON Schema describes.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{data::SetDocument, requirements::RequirementDocument, tester::TesterDocument};
use scenario::battery::{Augmentation, Compat, Replacement, Shown, Thresholds};
use yaml::bounded::{Repeats, Words};

yaml::bounded! {
    /// The number of exchanges of a conversation.
    pub(crate) Length: u32, "integer", 1.0 to Some(1_000.0);
    /// Messages that somebody remembers.
    pub(crate) Messages: u32, "integer", 1.0 to Some(1_000.0);
    /// A share of a whole.
    pub(crate) Part: f64, "number", 0.0 to Some(1.0);
    /// A cosine.
    pub(crate) Cosine: f64, "number", -1.0 to Some(1.0);
    /// How much something counts.
    pub(crate) Weight: f64, "number", 0.0 to Some(1_000_000.0);
    /// The time for one turn, in milliseconds.
    pub(crate) TurnMillis: u64, "integer", 1.0 to Some(86_400_000.0);
    /// Copies of a sentence.
    pub(crate) Copies: u32, "integer", 0.0 to Some(20.0);
}

/// A quality battery: which requirements a chatter is examined for, and how.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(title = "Battery")]
pub(crate) struct BatteryDocument {
    /// The battery's name.
    pub(super) name: Words,
    /// A description for people.
    #[serde(default)]
    pub(super) description: String,
    /// The number of conversations. The default is 1.
    pub(super) runs: Option<Repeats>,
    /// The number of exchanges. The default is the number of the tester's lines, or 10.
    pub(super) conversation_length: Option<Length>,
    /// The tester, who speaks between the tests.
    #[serde(default, rename = "tester")]
    #[schemars(with = "Option<TesterDocument>")]
    _tester: Option<Value>,
    /// The requirements. Each value is `true`, `false`, a probability, or a mapping.
    #[serde(rename = "requirements")]
    #[schemars(with = "std::collections::BTreeMap<String, RequirementDocument>")]
    _requirements: Value,
    /// The data for the tests. The default is the built-in data sets.
    #[serde(default, rename = "data")]
    #[schemars(with = "Option<Vec<SetDocument>>")]
    _data: Option<Value>,
    /// Messages before the first turn. The last one is the agent's.
    #[serde(default, rename = "opening")]
    _opening: Vec<String>,
    /// Begin with "Hey" and a random sentence, drawn for each run.
    #[serde(default)]
    pub(super) random_start: bool,
    /// The number of recent messages that each side gets.
    #[serde(default)]
    pub(super) memory: MemoryDocument,
    /// The thresholds of scores.
    #[serde(default)]
    pub(super) thresholds: ThresholdsDocument,
    /// The source of words for the test with replaced words.
    pub(super) replacement: Option<Replacement>,
    /// Adds copies of the data with synonyms.
    #[serde(default)]
    pub(super) augmentation: AugmentationDocument,
    /// The columns of the workbook.
    #[serde(default)]
    pub(super) show: ShowDocument,
    /// Reproduces the results of a revision of the original, including its faults.
    pub(super) compat: Option<Compat>,
    /// A saved conversation in Emely's text format. gabfest judges it again without calling the agent.
    #[serde(default, rename = "conversation")]
    #[schemars(with = "Option<SavedDocument>")]
    _conversation: Option<Value>,
    /// The time limit for one reply of the agent, in milliseconds.
    #[serde(default = "turn_timeout")]
    #[schemars(extend("default" = 90_000))]
    pub(super) timeout_per_turn_ms: TurnMillis,
    /// Names of library personas, for a tester that is a model.
    #[serde(default)]
    pub(super) personas: Vec<String>,
    /// Tags for `--tag`.
    #[serde(default)]
    pub(super) tags: Vec<String>,
    /// The battery's weight in the weighted success rate of a run. The default is 1.
    pub(super) weight: Option<Weight>,
    /// The minimum success rate of each case. The default comes from `gates` in `gabfest.yaml`.
    pub(super) required_pass_rate: Option<Part>,
    /// Makes this a negative control: swaps PASS and FAIL.
    #[serde(default)]
    pub(super) expect_failure: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Memory")]
#[serde(default)]
pub(crate) struct MemoryDocument {
    /// Messages that the tester is shown; 2 unless written.
    pub(super) tester: Messages,
    /// How many messages the chatter gets with each turn; by default all, or the history that it keeps itself.
    pub(super) agent: Option<Messages>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Thresholds")]
#[serde(default)]
pub(crate) struct ThresholdsDocument {
    /// The least similarity of an answer to the right one; 0.6 unless written.
    similarity: Cosine,
    /// The highest stutter score; 0.33 unless written.
    stutter: f64,
    /// The highest score of each kind of toxicity; 0.1 unless written.
    toxicity: Part,
    /// The least coherence, about -12 to 12; -6 unless written.
    coherence: f64,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Augmentation")]
#[serde(default)]
pub(crate) struct AugmentationDocument {
    /// Reworded copies of each sentence; none unless written.
    copies: Copies,
    /// That a word with a synonym is exchanged; 1 unless written.
    probability: Part,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Show")]
#[serde(default)]
pub(crate) struct ShowDocument {
    /// The interpretation of a reply.
    interpretation: bool,
    /// Scores.
    detail: bool,
    /// Pass or Fail.
    verdict: bool,
}

/// A conversation with the name of its file, which is how a plan carries it.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "SavedConversation")]
pub(crate) struct SavedText {
    /// What the conversation is called.
    pub(super) path: String,
    /// Its lines.
    pub(super) text: String,
}

/// A path, relative to the battery file, or the conversation itself.
#[derive(Debug)]
pub(crate) struct SavedDocument;

impl JsonSchema for SavedDocument {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ConversationFile".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let text = generator.subschema_for::<SavedText>();
        schemars::json_schema!({ "oneOf": [{ "type": "string", "minLength": 1 }, text] })
    }
}

impl Default for MemoryDocument {
    fn default() -> Self {
        Self { tester: Messages(2), agent: None }
    }
}

impl Default for ThresholdsDocument {
    fn default() -> Self {
        let usual = Thresholds::default();
        Self {
            similarity: Cosine(usual.similarity),
            stutter: usual.stutter,
            toxicity: Part(usual.toxicity),
            coherence: usual.coherence,
        }
    }
}

impl ThresholdsDocument {
    pub(super) fn into_thresholds(self) -> Thresholds {
        Thresholds {
            similarity: self.similarity.0,
            stutter: self.stutter,
            toxicity: self.toxicity.0,
            coherence: self.coherence,
        }
    }
}

impl Default for AugmentationDocument {
    fn default() -> Self {
        let usual = Augmentation::default();
        Self { copies: Copies(usual.copies), probability: Part(usual.probability) }
    }
}

impl AugmentationDocument {
    pub(super) fn into_augmentation(self) -> Augmentation {
        Augmentation { copies: self.copies.0, probability: self.probability.0 }
    }
}

impl Default for ShowDocument {
    fn default() -> Self {
        let usual = Shown::default();
        Self { interpretation: usual.interpretation, detail: usual.detail, verdict: usual.verdict }
    }
}

impl ShowDocument {
    pub(super) fn into_shown(self) -> Shown {
        Shown { interpretation: self.interpretation, detail: self.detail, verdict: self.verdict }
    }
}

fn turn_timeout() -> TurnMillis {
    TurnMillis(90_000)
}
