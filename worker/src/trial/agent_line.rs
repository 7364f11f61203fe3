//! The line to the agent: the open session, the trial's tools, and the history of the next conversation.

use std::{sync::Arc, time::Duration};

use agent::{Agent, Exchange, Session, Spent, Start};
use record::{Call, Failure, FailureKind, Role, call::ErrorKind};
use scenario::Message;
use tokio::time::Instant;

use super::{agent_calls::model_of, toolbox::Toolbox};
use crate::recorder::{CallLog, GIVEN_UP, Took, failed_call};

#[derive(Default)]
pub(crate) struct AgentLine {
    pub(super) toolbox: Toolbox,
    session: Option<Box<dyn Session>>,
    /// The number of the first turn of each conversation with the agent.
    opened: Vec<u32>,
    /// The history of the agent's next conversation; `None`: the scenario's own opening.
    history: Option<Vec<Message>>,
    /// The call that the agent has not answered yet.
    asked: Option<Asked>,
}

/// A call to the agent.
pub(super) struct Asked {
    pub(super) agent: Arc<dyn Agent>,
    pub(super) started_micros: u64,
    /// How long admission withheld the call.
    pub(super) held: Duration,
    pub(super) at: Instant,
}

impl AgentLine {
    pub(super) fn is_open(&self) -> bool {
        self.session.is_some()
    }

    /// Counts another conversation, which starts at turn `first_turn`. Returns its number, from 1.
    pub(super) fn count_conversation(&mut self, first_turn: u32) -> usize {
        self.opened.push(first_turn);
        self.opened.len()
    }

    /// The number of the first turn of each conversation.
    pub(super) fn opened(&self) -> &[u32] {
        &self.opened
    }

    pub(super) fn take_history(&mut self) -> Option<Vec<Message>> {
        self.history.take()
    }

    pub(super) async fn open(&mut self, agent: &dyn Agent, start: Start) -> Result<(), Failure> {
        let session = agent.open(start).await.map_err(|error| Failure::new(error.kind, error.message))?;
        self.session = Some(session);
        Ok(())
    }

    /// Sends one exchange. If the trial is dropped meanwhile, [`Self::give_up`] records the call.
    pub(super) async fn ask(&mut self, asked: Asked, exchange: Exchange<'_>) -> Result<agent::Reply, agent::Error> {
        let Some(session) = self.session.as_mut() else {
            let message = "no conversation with the agent is open";
            return Err(agent::Error::new(FailureKind::Misconfigured, message, Spent::Nothing));
        };
        self.asked = Some(asked);
        let answer = session.say(exchange).await;
        self.asked = None;
        answer
    }

    /// Replaces the agent's last answer in its memory with the expected one.
    pub(super) fn replace_last_answer(&mut self, answer: &Message) {
        if let Some(session) = self.session.as_mut() {
            session.replace_last_answer(answer);
        }
    }

    /// The next turn opens a new conversation, in which the agent has only these messages.
    pub(super) fn restart_with(&mut self, messages: Vec<Message>) {
        self.session = None;
        self.history = Some(messages);
    }

    /// Records an abandoned call, which may be charged nevertheless.
    pub(super) fn give_up(&mut self, log: &CallLog) {
        let Some(Asked { agent, started_micros, held, at }) = self.asked.take() else { return };
        let took = Took::given_up(held, at.elapsed());
        let call = failed_call(Role::Agent, agent.name(), started_micros, took, &GIVEN_UP, ErrorKind::Other);
        log.push(Call { model: model_of(&*agent), ..call });
    }
}
