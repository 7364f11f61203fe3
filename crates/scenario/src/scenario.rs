//! One conversation test as written: its speakers, messages and checks.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Battery, Check, Conversation, Message, battery::Tester, mock::Mock, user::Pauses};

/// The one shape into which every format is read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    pub name: String,
    pub description: String,
    /// The name of the [`Format`](crate::Format) that it was read from.
    pub format: String,
    pub source: Source,
    /// Tags for `--tag`.
    pub tags: Vec<String>,
    /// The weight of this scenario in the weighted success rate of a run (1.0 unless written).
    pub weight: f64,
    /// The least success rate of each of its cases; `None`: that of the gates.
    pub required_pass_rate: Option<f64>,
    /// Handed to agents that understand them, noted otherwise.
    pub plugins: Vec<Plugin>,
    pub environment: Environment,
    /// Answers to the agent's tool calls.
    pub mocks: Vec<Mock>,
    /// The history before the first step (system messages, an agent's greeting).
    pub opening: Vec<Message>,
    pub steps: Vec<Step>,
    pub strategy: Strategy,
    /// The share of the weight of its required checks (0 to 1) that must pass in a trial; `None`: `strategy` decides.
    #[serde(default)]
    pub required_score: Option<f64>,
    pub history: History,
    pub on_failure: OnFailure,
    /// A negative control: the verdicts PASS and FAIL are exchanged.
    pub expect_failure: bool,
    /// Before each line but the first, unless the simulated user has its own.
    #[serde(default, skip_serializing_if = "Pauses::is_empty")]
    pub pauses: Pauses,
    /// Its variables, for requests to agents and for custom checks. In its own texts they are replaced already.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub vars: Map<String, Value>,
}

impl Scenario {
    /// All checks, step by step; those of a conversation before those of its step.
    pub fn checks(&self) -> impl Iterator<Item = &Check> {
        self.steps.iter().flat_map(|step| {
            let conversation = match &step.action {
                Action::Converse(conversation) => Some(conversation),
                _ => None,
            };
            let inner = conversation.into_iter().flat_map(|one| one.turn_checks.iter().chain(&one.final_checks));
            inner.chain(&step.checks)
        })
    }

    /// The names of the tools that simulated users have, over all steps.
    #[must_use]
    pub fn user_tools(&self) -> Vec<String> {
        let tools = self.steps.iter().filter_map(|step| match &step.action {
            Action::Converse(conversation) => Some(&conversation.simulator.extras.tools),
            _ => None,
        });
        tools.flatten().cloned().collect()
    }

    /// The pauses before the lines of a step.
    #[must_use]
    pub fn pauses_of(&self, step: &Step) -> Pauses {
        match &step.action {
            Action::Converse(conversation) => conversation.simulator.extras.pauses().or(self.pauses),
            Action::Examine(battery) => match &battery.tester {
                Tester::Model(simulator) => simulator.extras.pauses().or(self.pauses),
                Tester::Lines(_) | Tester::Agent(_) => self.pauses,
            },
            Action::Say { .. } | Action::Execute { .. } => self.pauses,
        }
    }

    /// Whether something in it can pass or fail.
    #[must_use]
    pub fn judges_something(&self) -> bool {
        // A battery is judged by its own oracles.
        self.checks().next().is_some() || self.steps.iter().any(|step| matches!(step.action, Action::Examine(_)))
    }
}

/// The position of a scenario in its file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Source {
    /// As the user named it, with `/` between parts.
    pub path: String,
    /// 1-based; 1 for formats with one scenario a file.
    pub line: u32,
}

/// One written element: an exchange, a simulated conversation, or code to run; then its checks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    pub name: Option<String>,
    pub action: Action,
    /// Judged when the step is over, on its last reply or output.
    pub checks: Vec<Check>,
    /// 1-based line in the source.
    pub line: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Messages to the agent and its reply.
    Say {
        /// The messages between the last reply and this one, in order. If empty, the agent is asked again.
        messages: Vec<Message>,
        /// The agent's expected answer; formats that keep it put it into the history.
        expected: Option<Message>,
        timeout_ms: u64,
    },
    /// A conversation with a simulated user.
    Converse(Box<Conversation>),
    /// A long conversation in which every reply is examined.
    Examine(Box<Battery>),
    /// A program in the trial's environment; off unless the worker's operator allows it.
    Execute { language: String, code: String },
}

/// The environment of the trial: mocks, files, databases.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Environment {
    /// Files written below the trial's root before the first step: path to text.
    pub files: BTreeMap<String, String>,
    pub databases: Vec<Seeding>,
    /// The mocks' state at the start of each trial; null if they keep none.
    #[serde(default)]
    pub state: serde_json::Value,
}

/// SQL to run against a connection that `gabfest.yaml` names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seeding {
    pub connection: String,
    /// (path as written, text), in order.
    pub files: Vec<(String, String)>,
}

/// A capability with which an agent may be started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plugin {
    pub name: String,
    pub version: Option<String>,
    pub enabled: bool,
    pub config: serde_json::Value,
}

/// How the judgments of a trial become its verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    #[default]
    AllPass,
    AnyPass,
}

/// The answer that the next turn builds on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum History {
    /// The agent's actual answer.
    #[default]
    Actual,
    /// The expected answer of the file.
    Expected,
}

/// What happens to the next steps after a failed check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    #[default]
    Continue,
    Stop,
}
