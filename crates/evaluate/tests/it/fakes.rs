//! A scripted judge, a workspace of a few files, and the shortest ways to a turn and a check.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use evaluate::{
    Evaluator, JudgePool, Scorer, Subject, Workspace,
    scorer::ByJudge,
    subject::{
        CommandError, CommandOutput, CustomAnswered, CustomAsked, CustomError, EndState, StateError, Surroundings,
    },
};
use record::{Finding, Judgment, Scope, Turn, turn::Origin};
use scenario::{
    Check, Message, Step,
    check::{self, Expected, JudgeRule, Rule},
    plan::JudgeGate,
};
use serde_json::Value;

pub(crate) const SCOPE: Scope = Scope::Turn { step: 1, turn: 1 };

/// Answers with its script in order; a script that has run out is a test's mistake.
#[derive(Debug, Default)]
pub(crate) struct Script {
    replies: Mutex<VecDeque<Result<llm::chat::Reply, llm::Error>>>,
    requests: Mutex<Vec<llm::chat::Request>>,
    /// Of its context.
    room: Option<u64>,
}

impl llm::Named for Script {
    fn endpoint(&self) -> &str {
        "script"
    }

    fn most_input_bytes(&self, _: Option<u32>) -> Option<u64> {
        self.room
    }
}

#[async_trait]
impl llm::Call<llm::chat::Request> for Script {
    async fn ask(&self, request: &llm::chat::Request) -> Result<llm::chat::Reply, llm::Error> {
        self.requests.lock().unwrap().push(request.clone());
        self.replies.lock().unwrap().pop_front().expect("the script has run out")
    }
}

#[derive(Debug, Default)]
pub(crate) struct Judges {
    model: Arc<Script>,
    model_types: Mutex<Vec<Option<String>>>,
    calls: Mutex<u32>,
    gate: Option<JudgeGate>,
}

impl Judges {
    pub(crate) fn saying<S: Into<String>>(replies: impl IntoIterator<Item = S>) -> Self {
        Self::answering(replies.into_iter().map(|reply| Ok(reply.into())))
    }

    pub(crate) fn answering(replies: impl IntoIterator<Item = Result<String, llm::Error>>) -> Self {
        let replies =
            replies.into_iter().map(|reply| reply.map(|text| llm::chat::Reply { text, ..llm::chat::Reply::default() }));
        Self::replying(replies)
    }

    /// Replies, and whether a limit cut each.
    pub(crate) fn finishing(replies: impl IntoIterator<Item = (String, bool)>) -> Self {
        Self::replying(replies.into_iter().map(|(text, is_cut)| {
            let finish = if is_cut { llm::chat::Finish::Length } else { llm::chat::Finish::Stop };
            Ok(llm::chat::Reply { text, finish, ..llm::chat::Reply::default() })
        }))
    }

    pub(crate) fn replying(replies: impl IntoIterator<Item = Result<llm::chat::Reply, llm::Error>>) -> Self {
        let replies = Mutex::new(replies.into_iter().collect());
        Self { model: Arc::new(Script { replies, ..Script::default() }), ..Self::default() }
    }

    /// With a context of this many bytes.
    pub(crate) fn with_room(self, bytes: u64) -> Self {
        let replies = std::mem::take(&mut *self.model.replies.lock().unwrap());
        let script = Script { replies: Mutex::new(replies), room: Some(bytes), ..Script::default() };
        Self { model: Arc::new(script), ..self }
    }

    pub(crate) fn with_gate(self, gate: Option<JudgeGate>) -> Self {
        Self { gate, ..self }
    }

    pub(crate) fn requests(&self) -> Vec<llm::chat::Request> {
        self.model.requests.lock().unwrap().clone()
    }

    pub(crate) fn model_types(&self) -> Vec<Option<String>> {
        self.model_types.lock().unwrap().clone()
    }
}

impl JudgePool for Judges {
    fn judge(&self, model_type: Option<&str>) -> Arc<dyn llm::Chat> {
        self.model_types.lock().unwrap().push(model_type.map(str::to_owned));
        self.model.clone()
    }

    fn gate(&self) -> Option<&JudgeGate> {
        self.gate.as_ref()
    }

    fn scorer(&self, scope: Scope) -> Box<dyn Scorer + '_> {
        Box::new(ByJudge::new(self, scope))
    }

    fn context(&self, _: Scope) -> (llm::Context, u64) {
        let mut calls = self.calls.lock().unwrap();
        let call = *calls;
        *calls += 1;
        (llm::Context { role: "judge".to_owned(), call, ..llm::Context::default() }, seed_of_call(call))
    }
}

pub(crate) fn seed_of_call(call: u32) -> u64 {
    1_000 + u64::from(call)
}

#[derive(Debug, Default)]
pub(crate) struct Folder {
    pub(crate) files: BTreeMap<String, String>,
    /// `None`: not allowed.
    pub(crate) command: Option<Result<CommandOutput, String>>,
    /// Of the mocks.
    pub(crate) state: Value,
    /// The answers of custom checks, by name: the first and the second time. Without one, the check ends.
    pub(crate) custom: BTreeMap<&'static str, &'static [&'static str]>,
    /// The agent's system prompt.
    pub(crate) system: Option<&'static str>,
    /// Of the simulated user.
    pub(crate) goal: Option<&'static str>,
    pub(crate) opening: Vec<Message>,
}

#[async_trait]
impl Workspace for Folder {
    async fn file(&self, path: &str) -> Result<Option<String>, String> {
        if path.split('/').any(|part| part == "..") || path.starts_with('/') {
            return Err("the path leaves the root".to_owned());
        }
        Ok(self.files.get(path).cloned())
    }

    async fn command(&self, _: &str) -> Result<CommandOutput, CommandError> {
        match &self.command {
            None => Err(CommandError::NotAllowed),
            Some(outcome) => outcome.clone().map_err(CommandError::Failed),
        }
    }

    async fn custom(&self, asked: &CustomAsked<'_>) -> Result<CustomAnswered, CustomError> {
        let answers = self.custom.get(asked.check).ok_or(CustomError::Unknown)?;
        let mut answers = answers.iter().map(|text| (*text).to_owned());
        let text = answers.next().ok_or_else(|| CustomError::Failed("it ended".to_owned()))?;
        Ok(CustomAnswered { text, again: answers.next(), program: "p".repeat(16), transcript: "t".repeat(16) })
    }

    async fn http_state(&self, host: &str, path: &str) -> Result<Option<Value>, StateError> {
        match host {
            "shop" => Ok(self.state.get(path.trim_start_matches('/')).cloned()),
            "down" => Err(StateError::Failed("it cannot be reached".to_owned())),
            _ => Err(StateError::Unknown),
        }
    }

    async fn sql_state(&self, database: &str, _: &str, _: &[Value]) -> Result<Vec<Vec<Value>>, StateError> {
        let rows = self.state.get(database).ok_or(StateError::Unknown)?;
        serde_json::from_value(rows.clone()).map_err(|error| StateError::Failed(error.to_string()))
    }

    async fn has_changed(&self, _: &str, table: &str) -> Result<bool, StateError> {
        Ok(table == "orders")
    }

    fn surroundings(&self, _: Scope) -> Surroundings<'_> {
        let goal = self.goal.map(str::to_owned).into_iter().collect();
        Surroundings { system: self.system.map(str::to_owned), goal, opening: &self.opening }
    }

    fn end_states(&self) -> Vec<EndState> {
        let states = self.state.as_object().into_iter().flatten();
        states.map(|(of, state)| EndState { of: of.clone(), state: state.clone() }).collect()
    }

    fn mock_state(&self) -> Result<Value, String> {
        if self.state.is_null() {
            Err("the scenario has no `gabfest.state`".to_owned())
        } else {
            Ok(self.state.clone())
        }
    }
}

/// The subject of an evaluator; the default is a plain single exchange.
#[derive(Debug, Default)]
pub(crate) struct Scene {
    pub(crate) reply: String,
    pub(crate) turns: Vec<Turn>,
    pub(crate) steps: Vec<Step>,
    pub(crate) conversation: bool,
    pub(crate) duration_ms: Option<u64>,
    pub folder: Folder,
}

impl Scene {
    pub(crate) fn replied(reply: &str) -> Self {
        Self { reply: reply.to_owned(), turns: vec![turn("Hello", reply)], ..Self::default() }
    }

    pub(crate) fn talked(turns: Vec<Turn>) -> Self {
        let reply = turns.last().and_then(|turn| turn.agent.clone()).unwrap_or_default();
        Self { reply, turns, conversation: true, ..Self::default() }
    }

    pub(crate) async fn judge(&self, rule: Rule, judges: &Judges) -> Judgment {
        self.judge_by(&compiled(rule), judges).await
    }

    pub(crate) async fn judge_by(&self, evaluator: &Evaluator, judges: &Judges) -> Judgment {
        let last = self.turns.last().filter(|turn| turn.agent.as_deref() == Some(&self.reply));
        let said = last.and_then(Turn::said).unwrap_or(self.reply.as_str().into());
        let subject = Subject {
            scope: SCOPE,
            reply: &self.reply,
            said: &said,
            turns: &self.turns,
            steps: &self.steps,
            conversation: self.conversation,
            duration_ms: self.duration_ms,
            judging: &check::USUAL_JUDGING,
            workspace: &self.folder,
        };
        evaluator.judge(&subject, judges).await
    }

    /// For checks that may not ask a model.
    pub(crate) async fn finding(&self, rule: Rule) -> Finding {
        self.judge(rule, &Judges::default()).await.finding
    }
}

pub(crate) fn compiled(rule: Rule) -> Evaluator {
    evaluate::compile(&check(rule)).unwrap()
}

pub(crate) fn check(rule: Rule) -> Check {
    Check { description: Some("as written".to_owned()), ..Check::new(rule, 7) }
}

pub(crate) fn turn(user: &str, agent: &str) -> Turn {
    Turn {
        number: 1,
        step: 1,
        speaker: Origin::Simulated,
        user: user.to_owned(),
        agent: Some(agent.to_owned()),
        messages: Vec::new(),
        exit_code: None,
        tool_calls: Vec::new(),
        actions: Vec::new(),
        started_micros: 0,
        duration_micros: 0,
        response_micros: None,
        calls: Vec::new(),
        notes: Vec::new(),
        simulated: None,
    }
}

pub(crate) fn contains(value: &str) -> Rule {
    Rule::StringContains(check::StringContains { value: value.to_owned(), case_sensitive: false })
}

pub(crate) fn matches(pattern: &str) -> Rule {
    Rule::RegexMatch(check::RegexMatch { pattern: pattern.to_owned(), case_sensitive: false, captures: Vec::new() })
}

pub(crate) fn asks(prompt: &str, expected: Expected) -> JudgeRule {
    JudgeRule {
        prompt: prompt.to_owned(),
        expected,
        model_type: None,
        temperature: None,
        json_schema: None,
        capabilities: Vec::new(),
        batch: false,
    }
}

/// A judge's answer to a question, without a quote. `probability` is that of a yes.
pub(crate) fn judged(judgment: &str, probability: f64) -> String {
    let confidence = if judgment == "no" { 1.0 - probability } else { probability };
    ballot("judgment", judgment, confidence)
}

/// One answer in the form with quotes, without any.
pub(crate) fn ballot(field: &str, verdict: impl Into<serde_json::Value>, confidence: f64) -> String {
    serde_json::json!({ "reasoning": "because", "quotes": [], field: verdict.into(), "confidence": confidence })
        .to_string()
}

pub(crate) fn score(score: f64) -> String {
    ballot("verdict", score, 0.9)
}

pub(crate) fn unreachable() -> llm::Error {
    llm::Error::Unreachable {
        endpoint: "script".to_owned(),
        status: None,
        message: "connection refused".to_owned(),
        sent: false,
    }
}
