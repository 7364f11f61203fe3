//! The state of a running trial. The files in this folder change it.

use std::{
    sync::{Arc, atomic::AtomicU32},
    time::Duration,
};

use agent::Agent;
use record::{Failure, FailureKind, Judgment, Stop, battery::Examined};
use tokio::time::Instant;

use super::{
    agent_line::AgentLine, calling::Calling, database_state::Tables, judge_pool::JudgePool,
    recorded_lines::RecordedLines, ticket::Ticket, transcript::Transcript, user_conduct::UserLine,
};
use crate::{
    admission::Admission, compiled::CompiledScenario, environment::Local, outbox::Outbox, recorder::CallLog,
    resources::Resources,
};

pub(crate) struct Stage {
    pub(super) ticket: Ticket,
    pub(super) script: Arc<CompiledScenario>,
    pub(super) resources: Arc<Resources>,
    pub(super) environment: Local,
    pub(super) calling: Calling,
    pub(super) transcript: Transcript,
    pub(super) line: AgentLine,
    pub(super) judgments: Vec<Judgment>,
    /// The tables that checks want unchanged, as they were when the trial started.
    pub(super) tables: Tables,
    /// What a quality battery examined.
    pub(super) examined: Option<Box<Examined>>,
    /// Questions to judges so far. A question's number is part of its seed, so that the mock model answers the same
    /// each time.
    pub(super) questions: AtomicU32,
    /// What the user says instead of its own lines.
    pub(super) recorded_lines: Option<Box<RecordedLines>>,
    pub(super) progress: Progress,
}

/// How far the trial is.
pub(super) struct Progress {
    pub(super) began: Instant,
    /// The same moment in Unix milliseconds, for traces.
    pub(super) began_millis: i64,
    /// How far it is behind its schedule; zero if nothing is scheduled.
    pub(super) late: Duration,
    /// The step that is played, from 1.
    pub(super) step: Option<u32>,
    /// Conversations so far, without scripted steps.
    pub(super) conversations: u32,
    /// How the last conversation with a simulated user ended.
    pub(super) stop: Option<Stop>,
    /// Lines of simulated users that were examined.
    pub(super) user_lines: Vec<UserLine>,
}

impl Stage {
    pub(super) fn new(
        ticket: Ticket,
        script: Arc<CompiledScenario>,
        resources: Arc<Resources>,
        outbox: Outbox,
        admission: Admission,
    ) -> Self {
        let began = Instant::now();
        let attempt = ticket.attempt.clone();
        let head = resources.traces.head(&attempt.run, attempt.trial, attempt.epoch);
        let place =
            resources.metrics.place(&ticket.scripts.plan().name, &script.case.scenario, script.case.persona.as_deref());
        let log = CallLog::new(began, outbox.owed().clone(), resources.traces.content());
        let context = ticket.context(&script);
        let calling = Calling { log: Arc::clone(&log), admission, context, seed: ticket.trial.seed, head };
        Self {
            environment: Local::new(Arc::clone(&script.environment), resources.execution.clone()),
            calling,
            transcript: Transcript::new(attempt, outbox, place, log),
            line: AgentLine::default(),
            judgments: Vec::new(),
            tables: Tables::default(),
            examined: None,
            questions: AtomicU32::new(0),
            recorded_lines: None,
            progress: Progress {
                began,
                began_millis: (resources.now_millis)(),
                late: Duration::ZERO,
                step: None,
                conversations: 0,
                stop: None,
                user_lines: Vec::new(),
            },
            ticket,
            script,
            resources,
        }
    }

    /// The agent with this name, as the worker's operator has set it up.
    pub(super) fn agent(&self, name: &str, purpose: &str) -> Result<Arc<dyn Agent>, Failure> {
        self.resources.agents.get(name).cloned().ok_or_else(|| {
            let message = format!("this worker's settings have no agent {name:?}{purpose}");
            Failure::new(FailureKind::Misconfigured, message)
        })
    }

    pub(super) fn judges(&self) -> JudgePool<'_> {
        JudgePool::new(&self.resources.models, &self.calling, &self.questions, self.transcript.number())
    }

    /// Adds the calls since the last turn, tool calls included, to that turn.
    pub(super) fn settle(&mut self) {
        self.line.toolbox.catch_up(self.transcript.last_mut());
        self.transcript.settle();
    }

    /// Adds the calls since the last turn to the trial, and tool calls to the last turn.
    pub(super) fn settle_trial(&mut self) {
        self.line.toolbox.catch_up(self.transcript.last_mut());
        self.transcript.settle_trial();
    }
}

/// An aborted attempt has costs too: its last turn is sent as far as it got.
impl Drop for Stage {
    fn drop(&mut self) {
        self.line.give_up(&self.calling.log);
        self.settle_trial();
        self.transcript.emit();
    }
}
