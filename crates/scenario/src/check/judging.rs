//! How a judge is asked: votes, panel, form, evidence. Every kind that asks a judge takes these keys. Some kinds also take
//! the keys that say what the judge sees.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use yaml::{
    Findings, Part,
    bounded::{Votes, Words},
};

use super::question::{Asked, Question};

/// More ballots than this is a mistake: each is a call to a model.
const MOST_BALLOTS: u64 = 100;

/// How a judge is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Judging {
    /// How often each judge votes, at least 1.
    #[serde(skip_serializing_if = "is_one")]
    pub votes: u32,
    /// The model types of several judges; empty: the check's own judge.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub panel: Vec<String>,
    #[serde(skip_serializing_if = "is_usual")]
    pub form: JudgeForm,
    #[serde(skip_serializing_if = "is_usual")]
    pub evidence: Evidence,
    /// The language of reasons, as people name it or as a code; `None`: English.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// What the judge sees besides the turns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sees: Vec<JudgeSees>,
    /// What a good answer says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
}

/// What a judge can see besides the turns and their tool calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JudgeSees {
    /// The messages before the first turn.
    Opening,
    /// The agent's system prompt: that of its settings, and the system messages of the opening.
    System,
    /// What the simulated user wants: its objective and the parts of its goal.
    Goal,
    /// What `http_state`, `sql_state` and `mock_state` have read, and the state of the mocks.
    EndState,
}

/// A file with the rules that the agent must follow. The reader of files puts its text in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// As the scenario names it.
    pub path: String,
    pub text: String,
}

/// A longer policy is refused.
pub const MOST_POLICY_BYTES: usize = 64 << 10;

/// The default way to ask a judge.
pub static USUAL_JUDGING: Judging = Judging::USUAL;

/// The order of a judge's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JudgeForm {
    /// Reasoning and quotes, then the verdict.
    #[default]
    ReasonFirst,
    /// The verdict, then the reasoning: for tiny models, whose reasoning leads them astray.
    VerdictFirst,
}

/// Which verdicts need a quote from the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// Quotes are optional, but those that a judge gives must be true.
    #[default]
    Given,
    /// Met and partly met.
    Met,
    /// Not met and partly met.
    NotMet,
    Both,
    /// The judge is not asked for quotes.
    None,
}

impl Judging {
    pub const USUAL: Self = Self {
        votes: 1,
        panel: Vec::new(),
        form: JudgeForm::ReasonFirst,
        evidence: Evidence::Given,
        language: None,
        sees: Vec::new(),
        reference: None,
        policy: None,
    };

    #[must_use]
    pub fn is_usual(&self) -> bool {
        *self == Self::USUAL
    }

    #[must_use]
    pub fn sees(&self, what: JudgeSees) -> bool {
        self.sees.contains(&what)
    }

    /// The author's texts in each question: the policy and the reference.
    pub fn given(&self) -> impl Iterator<Item = &str> {
        let policy = self.policy.as_ref().map(|policy| policy.text.as_str());
        policy.into_iter().chain(self.reference.as_deref())
    }

    /// The judge of each ballot, for a check with its own judge `own`.
    pub fn voters<'a>(&'a self, own: Option<&'a str>) -> impl Iterator<Item = Option<&'a str>> {
        let panel = self.panel.iter().map(|judge| Some(judge.as_str()));
        let alone = self.panel.is_empty().then_some(own);
        panel.chain(alone).flat_map(|judge| (0..self.votes).map(move |_| judge))
    }

    /// The number of ballots: votes times judges.
    #[must_use]
    pub fn ballots(&self) -> u64 {
        u64::from(self.votes).saturating_mul(self.panel.len().max(1) as u64)
    }

    /// The questions of a check, put to each voter.
    pub(super) fn multiplied<'a>(&'a self, questions: Vec<Question<'a>>) -> Vec<Question<'a>> {
        if self.ballots() == 1 && self.panel.is_empty() {
            return questions;
        }
        let votes = u64::from(self.votes);
        let each = |question: Question<'a>| -> Vec<Question<'a>> {
            let Asked::Judge(own) = question.to else { return vec![question] };
            let times = question.times.saturating_mul(votes);
            let judges = self.panel.iter().map(|judge| Some(judge.as_str()));
            let judges = judges.chain(self.panel.is_empty().then_some(own));
            judges.map(|judge| Question { to: Asked::Judge(judge), times }).collect()
        };
        questions.into_iter().flat_map(each).collect()
    }
}

impl Default for Judging {
    fn default() -> Self {
        Self::USUAL
    }
}

/// How a judge is asked.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "describes the keys; each is read by itself, so that its finding has its line")]
struct Written {
    /// How often each judge votes. An even number of votes can tie, and a tie is inconclusive.
    votes: Votes,
    /// The model types of several judges.
    panel: Vec<Words>,
    /// The order of a judge's answer.
    form: JudgeForm,
    /// Which verdicts need a quote from the conversation.
    evidence: Evidence,
    /// The language of the judge's reasons, such as `German`. Quotes keep their own.
    language: Words,
}

/// What a judge sees.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "describes the keys; each is read by itself, so that its finding has its line")]
struct WrittenMaterial {
    /// What the judge sees besides the turns and their tool calls.
    sees: Vec<JudgeSees>,
    /// What a good answer says. The judge compares with it.
    reference: Words,
    /// A text file with the rules that the agent must follow, relative to the scenario, of at most 64 KiB.
    policy: Words,
}

/// Reads the keys of a check that asks a judge. `has_judge`: the check names its own judge. `has_own_form`: its author
/// gives the schema of the answer.
pub(super) fn read(part: &Part<'_>, has_judge: bool, has_own_form: bool, findings: &mut Findings) -> Judging {
    let usual = Judging::USUAL;
    let panel: Option<Vec<Words>> = value("panel", part, findings);
    let judging = Judging {
        votes: value::<Votes>("votes", part, findings).map_or(usual.votes, |votes| votes.0),
        panel: panel.unwrap_or_default().into_iter().map(|judge| judge.0).collect(),
        form: value("form", part, findings).unwrap_or_default(),
        evidence: value("evidence", part, findings).unwrap_or_default(),
        language: value::<Words>("language", part, findings).map(|language| language.0),
        sees: value("sees", part, findings).unwrap_or_default(),
        reference: value::<Words>("reference", part, findings).map(|reference| reference.0),
        policy: policy(part, findings),
    };
    let ballots = judging.ballots();
    let key = if part.get("panel").is_some() { "panel" } else { "votes" };
    if ballots > MOST_BALLOTS {
        findings.error(part.spot_of(key), format!("{ballots} votes are too many; the maximum is {MOST_BALLOTS}"));
        findings.help("`votes` applies to each judge of the `panel`");
    } else if ballots > 1 && ballots.is_multiple_of(2) {
        let message = format!("{ballots} votes can tie, and a tie is inconclusive");
        findings.warning(part.spot_of(key), message);
        findings.help("ask an odd number of times");
    }
    if has_judge && !judging.panel.is_empty() {
        findings.warning(part.key_spot("model_type"), "`model_type` has no effect: `panel` names the judges");
    }
    for key in ["form", "evidence"].into_iter().filter(|key| has_own_form && part.get(key).is_some()) {
        findings.warning(part.key_spot(key), format!("`{key}` has no effect: `json_schema` is the form of the answer"));
        findings.help("remove one of the two");
    }
    judging
}

/// Where the text of the file has been put in.
fn policy(part: &Part<'_>, findings: &mut Findings) -> Option<Policy> {
    let written = part.get("policy").filter(|written| !written.value().is_null())?;
    let policy = Policy::deserialize(written.value()).ok();
    if policy.is_none() {
        let message = format!("expected the name of a text file for `policy`, found {}", written.value());
        findings.error(part.spot_of("policy"), message);
        findings.help("as in `policy: policies/refunds.md` of a scenario's file; a parameter cannot set it");
    }
    policy
}

/// Adds the keys to the JSON Schema of a kind that asks a judge.
pub(super) fn describe(shows_material: bool, properties: &mut Map<String, Value>) {
    let mut generator = SchemaSettings::default().with(|settings| settings.inline_subschemas = true).into_generator();
    let mut written = vec![Written::json_schema(&mut generator)];
    written.extend(shows_material.then(|| WrittenMaterial::json_schema(&mut generator)));
    for schema in written {
        let schema = schema.to_value();
        let keys = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        properties.extend(keys.map(|(key, schema)| (key.clone(), schema.clone())));
    }
}

fn value<T: DeserializeOwned>(key: &str, part: &Part<'_>, findings: &mut Findings) -> Option<T> {
    let written = part.get(key)?;
    // A key without a value was found with the whole document.
    if written.value().is_null() {
        return None;
    }
    match T::deserialize(written.value()) {
        Ok(value) => Some(value),
        Err(error) => {
            findings.error(part.spot_of(key), format!("`{key}`: {error}"));
            findings.help("docs/evaluators.md lists the keys of judges");
            None
        }
    }
}

fn is_one(votes: &u32) -> bool {
    *votes == 1
}

fn is_usual<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
