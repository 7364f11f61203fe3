//! What checks can read and call: the trial's files and programs, and custom checks.

use std::{
    fmt,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use async_trait::async_trait;
use evaluate::{
    Workspace,
    subject::{
        CommandError, CommandOutput, CustomAnswered, CustomAsked, CustomError, EndState, StateError, Surroundings,
    },
};
use record::{
    Scope, Turn,
    published::{self, End, GoalPart, Message, PublishedTurn, Transcript},
};
use scenario::{Action, conversation::Simulator, ids::seed_of, message::Speaker, user::Part};
use serde_json::Value;

use super::{
    database_state::{self, Tables},
    stage::Stage,
    ticket::Ticket,
    toolbox::Toolbox,
};
use crate::{
    compiled::CompiledScenario,
    custom_check::Answered,
    environment::{Environment as _, Local},
    resources::Resources,
};

/// One in this many calls of a deterministic check is made twice.
const ASKED_TWICE: u64 = 100;
/// The kind of the notes that keep what checks read.
pub(super) const END_STATE: &str = "end_state";
/// The size limit of one stored state.
const MOST_STATE_BYTES: usize = 64 << 10;

pub(super) struct TrialWorkspace<'a> {
    environment: &'a Local,
    resources: &'a Resources,
    script: &'a CompiledScenario,
    ticket: &'a Ticket,
    /// The whole trial, not only the turns in scope.
    turns: &'a [Turn],
    stop: Option<&'a str>,
    toolbox: &'a Toolbox,
    tables: &'a Tables,
    /// Names this attempt towards services.
    attempt: &'a str,
    /// Numbers the calls of checks in the attempt.
    call: AtomicU32,
    /// What checks found at the end: kept with the trial, so that it can be judged again without its environment.
    states: Mutex<Vec<EndState>>,
}

impl<'a> TrialWorkspace<'a> {
    /// `judged`: how many judgments the trial has.
    pub(super) fn of(stage: &'a Stage, judged: usize) -> Self {
        Self {
            environment: &stage.environment,
            resources: &stage.resources,
            script: &stage.script,
            ticket: &stage.ticket,
            turns: stage.transcript.turns(),
            stop: stage.progress.stop.as_ref().map(|stop| stop.signal.as_str()),
            toolbox: &stage.line.toolbox,
            tables: &stage.tables,
            attempt: &stage.calling.context.idempotency_key,
            states: Mutex::default(),
            call: AtomicU32::new(u32::try_from(judged).unwrap_or(u32::MAX)),
        }
    }

    /// Keeps a state that a check has read, the latest of each.
    fn read(&self, state: EndState) {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        states.retain(|earlier| earlier.of != state.of);
        states.push(state);
    }

    /// The states that checks have read since this was made, as notes.
    pub(super) fn into_notes(self) -> Vec<String> {
        let states = self.states.into_inner().unwrap_or_else(PoisonError::into_inner);
        states.iter().map(note_of).collect()
    }

    /// The goal of the user of this step, as the user sees it.
    fn goal(&self, step: u32) -> Vec<GoalPart> {
        let action = self.script.scenario.steps.get((step as usize).saturating_sub(1)).map(|step| &step.action);
        let Some(Action::Converse(conversation)) = action else { return Vec::new() };
        let turns = || self.turns.iter().filter(|turn| turn.step == step).filter_map(|turn| turn.simulated.as_ref());
        let believes = |id: &String| turns().any(|simulated| simulated.parts_done.contains(id));
        let part =
            |part: &Part| GoalPart { id: part.id.clone(), text: part.text.clone(), believed_done: believes(&part.id) };
        conversation.simulator.extras.goal.iter().map(part).collect()
    }

    /// The transcript as JSON, without keys.
    fn transcript(&self, asked: &CustomAsked<'_>) -> Result<String, CustomError> {
        let CompiledScenario { case, scenario, .. } = self.script;
        let group = self.ticket.scripts.plan().groups.get(case.group);
        let transcript = Transcript {
            schema: published::SCHEMA.to_owned(),
            check: asked.check.to_owned(),
            config: asked.config.clone(),
            // JavaScript reads larger numbers as others.
            seed: self.ticket.trial.seed >> 11,
            scenario: published::Scenario {
                id: group.map_or_else(String::new, |group| group.key.clone()),
                name: scenario.name.clone(),
                tags: scenario.tags.clone(),
                vars: scenario.vars.clone().into_iter().chain(case.parameters.iter().cloned()).collect(),
            },
            case: case.id.as_str().to_owned(),
            repeat: self.ticket.trial.repeat,
            step: asked.scope.step(),
            turn: published::turn_of(asked.scope),
            opening: scenario.opening.iter().map(message).collect(),
            turns: self.turns.iter().map(|turn| PublishedTurn::of(turn, asked.times)).collect(),
            end: End {
                stop: self.stop.map(str::to_owned),
                goal: self.goal(asked.scope.step()),
                state: self.toolbox.state().unwrap_or_default(),
            },
        };
        let mut json = serde_json::to_value(&transcript).map_err(|error| CustomError::Failed(error.to_string()))?;
        redact_texts(&mut json);
        let text = json.to_string();
        if text.len() > published::MOST_BYTES {
            let message =
                format!("the transcript has more than {} MiB, so it was not asked", published::MOST_BYTES >> 20);
            return Err(CustomError::Failed(message));
        }
        Ok(text)
    }
}

#[async_trait]
impl Workspace for TrialWorkspace<'_> {
    async fn file(&self, path: &str) -> Result<Option<String>, String> {
        self.environment.file(path).await
    }

    async fn command(&self, command: &str) -> Result<CommandOutput, CommandError> {
        self.environment.command(command).await
    }

    async fn custom(&self, asked: &CustomAsked<'_>) -> Result<CustomAnswered, CustomError> {
        let check = self.resources.checks.get(asked.check).ok_or(CustomError::Unknown)?;
        let transcript = self.transcript(asked)?;
        let id = format!("{}/check/{}", self.attempt, self.call.fetch_add(1, Ordering::Relaxed));
        let Answered { text, program } = check.ask(&id, &transcript).await?;
        let again = match check.deterministic && is_asked_twice(self.ticket.trial.seed, asked) {
            true => Some(check.ask(&format!("{id}/again"), &transcript).await?.text),
            false => None,
        };
        let transcript = scenario::Digest::of(transcript.as_bytes()).short().to_owned();
        Ok(CustomAnswered { text, again, program, transcript })
    }

    async fn http_state(&self, host: &str, path: &str) -> Result<Option<Value>, StateError> {
        let service = self.resources.state_hosts.get(host).ok_or(StateError::Unknown)?;
        let state = service.read(path).await.map_err(StateError::Failed)?;
        self.read(EndState { of: format!("http {host} {path}"), state: state.clone().unwrap_or_default() });
        Ok(state)
    }

    async fn sql_state(
        &self,
        database: &str,
        query: &str,
        parameters: &[Value],
    ) -> Result<Vec<Vec<Value>>, StateError> {
        let rows = database_state::rows(self.resources, database, query, parameters).await?;
        self.read(EndState { of: format!("sql {database} {query}"), state: Value::from(rows.clone()) });
        Ok(rows)
    }

    async fn has_changed(&self, database: &str, table: &str) -> Result<bool, StateError> {
        let changed = self.tables.has_changed(self.resources, database, table).await?;
        self.read(EndState {
            of: format!("table {database} {table}"),
            state: serde_json::json!({ "changed": changed }),
        });
        Ok(changed)
    }

    fn surroundings(&self, scope: Scope) -> Surroundings<'_> {
        let CompiledScenario { case, scenario, .. } = self.script;
        let agent = self.resources.agents.get(&case.agent);
        let of_settings = agent.and_then(|agent| agent.system()).map(str::to_owned);
        let of_opening = scenario.opening.iter().filter(|message| message.speaker == Speaker::System);
        let system: Vec<String> = of_settings.into_iter().chain(of_opening.map(scenario::Message::text)).collect();
        let step = (scope.step() as usize).saturating_sub(1);
        let goal = match scenario.steps.get(step).map(|step| &step.action) {
            Some(Action::Converse(conversation)) => {
                let Simulator { objective, extras, .. } = &conversation.simulator;
                let parts = extras.goal.iter().map(|part| part.text.clone());
                Some(objective.clone()).filter(|text| !text.trim().is_empty()).into_iter().chain(parts).collect()
            }
            _ => Vec::new(),
        };
        let system = (!system.is_empty()).then(|| redact::redact(&system.join("\n\n")).into_owned());
        Surroundings { system, goal, opening: &scenario.opening }
    }

    fn end_states(&self) -> Vec<EndState> {
        // Reads it, so that it is kept with the trial too. Without mocks that have a state, there is none.
        let _ = self.mock_state();
        let earlier = self.turns.iter().flat_map(|turn| &turn.notes).filter(|note| note.kind == END_STATE);
        // A cut note is no longer JSON.
        let cut = |text: &str| EndState { of: "an earlier step".to_owned(), state: text.into() };
        let mut found: Vec<EndState> = Vec::new();
        let now = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        for state in earlier
            .map(|note| serde_json::from_str(&note.text).unwrap_or_else(|_| cut(&note.text)))
            .chain(now.iter().cloned())
        {
            found.retain(|known| known.of != state.of);
            found.push(state);
        }
        drop(now);
        found.iter_mut().for_each(|state| redact_texts(&mut state.state));
        found
    }

    fn mock_state(&self) -> Result<Value, String> {
        if self.script.scenario.environment.state.is_null() {
            return Err("the scenario has no `gabfest.state`".to_owned());
        }
        let state = self.toolbox.state().ok_or("the mocks are not applied to the agent's tool calls")?;
        self.read(EndState { of: "mocks".to_owned(), state: state.clone() });
        Ok(state)
    }
}

fn note_of(state: &EndState) -> String {
    let mut text = serde_json::to_string(state).unwrap_or_default();
    record::bounds::cut(&mut text, MOST_STATE_BYTES);
    text
}

impl fmt::Debug for TrialWorkspace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrialWorkspace").field("trial", &self.ticket.trial.id).finish_non_exhaustive()
    }
}

/// Drawn from the trial's seed and the judged text, so that each run of a plan asks the same checks twice.
fn is_asked_twice(seed: u64, asked: &CustomAsked<'_>) -> bool {
    let turn = published::turn_of(asked.scope).unwrap_or(0);
    let step = asked.scope.step();
    let parts: [&[u8]; 5] =
        [b"asked twice", &seed.to_le_bytes(), asked.check.as_bytes(), &step.to_le_bytes(), &turn.to_le_bytes()];
    seed_of(&parts).is_multiple_of(ASKED_TWICE)
}

fn message(message: &scenario::Message) -> Message {
    Message { role: message.speaker.name().to_owned(), text: message.text() }
}

/// Keys of objects stay: they are ours, or names of arguments.
fn redact_texts(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let std::borrow::Cow::Owned(clean) = redact::redact(text) {
                *text = clean;
            }
        }
        Value::Array(list) => list.iter_mut().for_each(redact_texts),
        Value::Object(map) => map.values_mut().for_each(redact_texts),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_call_in_a_hundred_is_made_twice_and_always_the_same() {
        let config = Value::Null;
        let scope = Scope::Turn { step: 1, turn: 2 };
        let asked = CustomAsked { check: "totals", config: &config, times: false, scope };
        let drawn = || (0..10_000).filter(|seed| is_asked_twice(*seed, &asked)).count();
        assert!((70..130).contains(&drawn()), "{}", drawn());
        assert_eq!(drawn(), drawn());
    }
}
