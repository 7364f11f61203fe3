//! A battery file as it is written: the shape that is decoded and that the JSON Schema describes.

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
    /// What people call the battery.
    pub(super) name: Words,
    /// What it is for.
    #[serde(default)]
    pub(super) description: String,
    /// How many conversations are held with each chatter; 1 unless written.
    pub(super) runs: Option<Repeats>,
    /// Exchanges of a conversation; as many as the tester has lines, else 10, unless written.
    pub(super) conversation_length: Option<Length>,
    /// Who speaks between the tests.
    #[serde(default, rename = "tester")]
    #[schemars(with = "Option<TesterDocument>")]
    _tester: Option<Value>,
    /// What is examined, by requirement; each is `true`, `false`, a probability, or a mapping.
    #[serde(rename = "requirements")]
    #[schemars(with = "std::collections::BTreeMap<String, RequirementDocument>")]
    _requirements: Value,
    /// The data that tests are made of; the sets that come with gabfest unless written.
    #[serde(default, rename = "data")]
    #[schemars(with = "Option<Vec<SetDocument>>")]
    _data: Option<Value>,
    /// Messages before the first turn; the last is the chatter's.
    #[serde(default, rename = "opening")]
    _opening: Vec<String>,
    /// Begin with "Hey" and a sentence that is drawn anew for each run.
    #[serde(default)]
    pub(super) random_start: bool,
    /// How many of the last messages each side is given.
    #[serde(default)]
    pub(super) memory: MemoryDocument,
    /// Where a score passes.
    #[serde(default)]
    pub(super) thresholds: ThresholdsDocument,
    /// What takes the place of words in the test of replaced words.
    pub(super) replacement: Option<Replacement>,
    /// Data made larger by synonyms.
    #[serde(default)]
    pub(super) augmentation: AugmentationDocument,
    /// Which columns the workbook has.
    #[serde(default)]
    pub(super) show: ShowDocument,
    /// Reproduce the findings of a revision of the original, faults included.
    pub(super) compat: Option<Compat>,
    /// A conversation that was held before, in Emely's text format: it is judged again, and nobody is talked to.
    #[serde(default, rename = "conversation")]
    #[schemars(with = "Option<SavedDocument>")]
    _conversation: Option<Value>,
    /// How long the chatter may take for one reply, in milliseconds.
    #[serde(default = "turn_timeout")]
    #[schemars(extend("default" = 90_000))]
    pub(super) timeout_per_turn_ms: TurnMillis,
    /// Personas of the library for a model that is the tester.
    #[serde(default)]
    pub(super) personas: Vec<String>,
    /// Words that `--tag` selects by.
    #[serde(default)]
    pub(super) tags: Vec<String>,
    /// How much the battery counts in the weighted success rate of a run; 1 unless written.
    pub(super) weight: Option<Weight>,
    /// The least success rate of each case; unless written, what `gates` in `gabfest.yaml` asks for.
    pub(super) required_pass_rate: Option<Part>,
    /// A negative control: PASS and FAIL are exchanged.
    #[serde(default)]
    pub(super) expect_failure: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Memory")]
#[serde(default)]
pub(crate) struct MemoryDocument {
    /// Messages that the tester is shown; 2 unless written.
    pub(super) tester: Messages,
    /// Messages that the chatter is given anew with each turn; all, or what it keeps itself, unless written.
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
    /// What was understood of a reply.
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
