//! What checks can look at and ask: the trial's files and programs, and the checks of users.

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
    subject::{CommandError, CommandOutput, CustomAnswered, CustomAsked, CustomError, StateError},
};
use record::{
    Turn,
    published::{self, End, GoalPart, Message, PublishedTurn, Transcript},
};
use scenario::{Action, ids::seed_of, user::Part};
use serde::Serialize;
use serde_json::Value;

use super::{
    database_state::{self, Tables},
    stage::Stage,
    ticket::Ticket,
    toolbox::Toolbox,
};
use crate::{
    compiled::CompiledScenario,
    environment::{Environment as _, Local},
    resources::Resources,
};

/// One in so many calls of a deterministic check is made twice.
const ASKED_TWICE: u64 = 100;
/// Of one state that is kept.
const MOST_STATE_BYTES: usize = 64 << 10;

pub(super) struct TrialWorkspace<'a> {
    environment: &'a Local,
    resources: &'a Resources,
    script: &'a CompiledScenario,
    ticket: &'a Ticket,
    /// All of the trial, not only those that the scope covers.
    turns: &'a [Turn],
    stop: Option<&'a str>,
    toolbox: &'a Toolbox,
    tables: &'a Tables,
    /// Names this attempt towards services.
    attempt: &'a str,
    /// Numbers the calls of checks in the attempt.
    call: AtomicU32,
    states: Mutex<Vec<EndState>>,
}

/// What a check found at the end: kept with the trial, so that it can be judged again without its environment.
#[derive(Debug, Serialize)]
struct EndState {
    /// `mocks`, `http HOST PATH`, `sql DATABASE QUERY` or `table DATABASE NAME`.
    of: String,
    state: Value,
}

impl EndState {
    fn note(&self) -> String {
        let mut text = serde_json::to_string(self).unwrap_or_default();
        record::bounds::cut(&mut text, MOST_STATE_BYTES);
        text
    }
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
        states.iter().map(EndState::note).collect()
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
                vars: case.parameters.iter().cloned().collect(),
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
        let text = check.ask(&id, &transcript).await?;
        let again = match check.deterministic && is_asked_twice(self.ticket.trial.seed, asked) {
            true => Some(check.ask(&format!("{id}/again"), &transcript).await?),
            false => None,
        };
        Ok(CustomAnswered { text, again })
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

    fn mock_state(&self) -> Result<Value, String> {
        if self.script.scenario.environment.state.is_null() {
            return Err("the scenario has no `gabfest.state`".to_owned());
        }
        let state = self.toolbox.state().ok_or("the mocks are not applied to the agent's tool calls")?;
        self.read(EndState { of: "mocks".to_owned(), state: state.clone() });
        Ok(state)
    }
}

impl fmt::Debug for TrialWorkspace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrialWorkspace").field("trial", &self.ticket.trial.id).finish_non_exhaustive()
    }
}

/// Drawn from the trial's seed and from what is judged, so that each run of a plan asks the same checks twice.
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
    use record::Scope;

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
