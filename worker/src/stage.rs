//! A trial being played: what was said so far, what was found, and what it cost.

mod bytes;

use std::{
    iter::{once, repeat},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use agent::{Agent, Exchange, Session, Spent};
use evaluate::{Evaluator, Subject};
use record::{
    Call, Failure, FailureKind, Judgment, Role, Scope, Tokens, Turn, Usd,
    call::{ErrorKind, Spend},
    few,
    pace::Pace,
    session::{conversation_id, session_id},
    trial::TurnLatency,
    turn::{Note, Speaker},
};
use scenario::Message;
use telemetry::{
    metrics::Place,
    trace::{Head, Played, ids},
};
use tokio::time::Instant;

use self::bytes::Bytes;
use crate::{
    bench::Bench,
    environment::Local,
    gate::Gate,
    outbox::{Attempt, Outbox},
    recorder::{CallLog, GIVEN_UP, Took, failed_call, micros},
    resources::Resources,
    script::Script,
    toolbox::Toolbox,
    trial::Ticket,
};

/// Everything that one trial needs, and everything that came of it.
pub(crate) struct Stage {
    pub(crate) ticket: Ticket,
    pub(crate) script: Arc<Script>,
    pub(crate) resources: Arc<Resources>,
    pub(crate) environment: Local,
    pub(crate) bench: Bench,
    pub(crate) began: Instant,
    /// The same moment in Unix milliseconds, for those who tell of it elsewhere.
    began_millis: i64,
    pub(crate) head: Head,
    /// Where its turns and its end are counted.
    pub(crate) place: Place,
    pub(crate) turns: Vec<Turn>,
    /// What was asked before there was a turn, where none ever came.
    turnless: Vec<Call>,
    pub(crate) judgments: Vec<Judgment>,
    pub(crate) latencies: Vec<TurnLatency>,
    /// Turns in which the agent was asked and gave no answer.
    pub(crate) unanswered: u32,
    pub(crate) conversations: u32,
    /// The step that is played, from 1.
    pub(crate) step: Option<u32>,
    pub(crate) termination_reason: Option<String>,
    /// For the next turn.
    pub(crate) notes: Vec<Note>,
    outbox: Outbox,
    gate: Gate,
    log: Arc<CallLog>,
    session: Option<Box<dyn Session>>,
    toolbox: Toolbox,
    /// The first turn of each conversation with the agent.
    opened: Vec<u32>,
    /// What the agent's next conversation begins with; `None`: what the scenario says.
    opening: Option<Vec<Message>>,
    /// Of all turns, as they are recorded.
    bytes: Bytes,
    /// Turns that the outbox has.
    emitted: usize,
    /// A call to the agent that is not over.
    asking: Option<Asking>,
}

struct Asking {
    agent: Arc<dyn Agent>,
    started_micros: u64,
    held: Duration,
    asked: Instant,
}

impl Stage {
    pub(crate) fn new(
        ticket: Ticket,
        script: Arc<Script>,
        resources: Arc<Resources>,
        outbox: Outbox,
        gate: Gate,
    ) -> Self {
        let began = Instant::now();
        let began_millis = (resources.now_millis)();
        let Attempt { run, trial, epoch } = &ticket.attempt;
        let head = resources.traces.head(run, *trial, *epoch);
        let (plan, case) = (ticket.scripts.plan(), &script.case);
        let place = resources.metrics.place(&plan.name, &case.scenario, case.persona.as_deref());
        let log = CallLog::new(began, outbox.owed().clone());
        let bench = Bench {
            models: resources.models.clone(),
            log: Arc::clone(&log),
            gate: gate.clone(),
            template: template(&ticket, &script),
            seed: ticket.trial.seed,
            head,
            questions: AtomicU32::new(0),
            turn: AtomicU32::new(0),
        };
        let environment = Local::new(script.scenario.environment.clone(), resources.execution.clone());
        Self {
            ticket,
            script,
            resources,
            environment,
            bench,
            began,
            began_millis,
            head,
            place,
            turns: Vec::new(),
            turnless: Vec::new(),
            judgments: Vec::new(),
            latencies: Vec::new(),
            unanswered: 0,
            conversations: 0,
            step: None,
            termination_reason: None,
            notes: Vec::new(),
            outbox,
            gate,
            log,
            session: None,
            toolbox: Toolbox::default(),
            opened: Vec::new(),
            opening: None,
            bytes: Bytes::default(),
            emitted: 0,
            asking: None,
        }
    }

    /// Says one thing to the agent and keeps the turn, also when no answer came.
    pub(crate) async fn say(
        &mut self,
        step: u32,
        messages: &[Message],
        speaker: Speaker,
        timeout: Duration,
        cue: Option<&Arc<llm::Cue>>,
    ) -> Result<(), Failure> {
        let number = self.next_number();
        let agent = self.agent()?;
        if self.session.is_none() {
            // Boxed, as it happens once and thousands of trials wait at once.
            Box::pin(self.open(&*agent)).await?;
        }
        let came = Instant::now();
        let held = self.gate.pass().await;
        // What the agent calls from now on belongs to this turn.
        self.toolbox.begin_turn(self.turns.last_mut());
        let Some(session) = self.session.as_mut() else {
            return Err(Failure::new(FailureKind::Misconfigured, "no conversation with the agent is open"));
        };
        let asked = Instant::now();
        let trace = Some(trace_of(self.head, ids::agent_span(self.head.trace, number)));
        let started_micros = self.log.micros_since_start(came);
        self.asking = Some(Asking { agent: Arc::clone(&agent), started_micros, held, asked });
        let answer = session.say(Exchange { messages, turn: number, timeout, trace, cue }).await;
        self.asking = None;
        let mut turn = Turn {
            number,
            step,
            speaker,
            user: scenario::message::said(messages),
            agent: None,
            messages: Vec::new(),
            exit_code: None,
            tool_calls: Vec::new(),
            actions: Vec::new(),
            started_micros,
            duration_micros: 0,
            calls: self.log.take(),
            notes: std::mem::take(&mut self.notes),
        };
        let failure = match answer {
            Ok(reply) => {
                turn.duration_micros = micros(reply.took());
                let calls = answered_calls(agent.name(), &reply, started_micros, held);
                calls.iter().for_each(|call| self.outbox.owed().add(call));
                turn.calls.reserve_exact(calls.len());
                turn.calls.extend(calls);
                self.latencies
                    .push(TurnLatency { total_micros: turn.duration_micros, ttft_micros: turn.first_token_micros() });
                turn.agent = Some(reply.text);
                turn.messages = reply.messages;
                turn.notes.extend(reply.notes);
                turn.tool_calls = reply.tool_calls;
                turn.actions = reply.actions;
                None
            }
            Err(error) => {
                self.unanswered += 1;
                let broken = Broken::new(&*agent, &error, asked.elapsed(), timeout);
                turn.duration_micros = micros(broken.took);
                let calls = broken.calls(started_micros, held);
                calls.iter().for_each(|call| self.outbox.owed().add(call));
                turn.calls.extend(calls);
                if let Some(reply) = broken.reply() {
                    // What it said and did before it failed.
                    turn.messages.clone_from(&reply.messages);
                    turn.tool_calls.clone_from(&reply.tool_calls);
                    turn.actions.clone_from(&reply.actions);
                }
                Some(Failure::new(error.kind, error.message))
            }
        };
        self.toolbox.hand_over(&mut turn);
        self.bytes.add(&turn);
        self.push(turn);
        failure.or_else(|| self.bytes.failure(speaker)).map_or(Ok(()), |failure| Err(failure.in_turn(number)))
    }

    /// Keeps a turn. The one before it is complete now and goes to the coordinator.
    pub(crate) fn push(&mut self, turn: Turn) {
        self.emit_all();
        self.bench.turn.store(turn.number, Ordering::Relaxed);
        self.turns.push(turn);
    }

    /// Gives what was asked since the last turn to that turn.
    pub(crate) fn settle(&mut self) {
        let calls = self.log.take();
        self.keep(calls);
    }

    /// Gives what was asked since the last turn to the trial: it was not for that turn, or there was none.
    pub(crate) fn settle_trial(&mut self) {
        let mut calls = self.log.take();
        calls.iter_mut().for_each(|call| call.of_trial = true);
        self.keep(calls);
    }

    /// Sends every turn that the coordinator does not have.
    pub(crate) fn emit_all(&mut self) {
        for turn in &mut self.turns[self.emitted..] {
            // Kept until the trial ends.
            turn.calls.shrink_to_fit();
            self.place.turn(turn);
            self.outbox.turn(&self.ticket.attempt, turn.clone());
        }
        self.emitted = self.turns.len();
    }

    /// Calls stand with the last turn. Where there is none yet, they cost all the same.
    fn keep(&mut self, calls: Vec<Call>) {
        self.toolbox.catch_up(self.turns.last_mut());
        if let Some(turn) = self.turns.last_mut() {
            turn.calls.extend(calls);
            turn.notes.append(&mut self.notes);
            return;
        }
        for call in &calls {
            self.place.call(call);
        }
        self.outbox.spent(&self.ticket.attempt.run, calls.clone());
        self.turnless.extend(calls);
    }

    /// Every call of the trial.
    fn calls(&self) -> impl Iterator<Item = &Call> {
        self.turnless.iter().chain(self.turns.iter().flat_map(|turn| &turn.calls))
    }

    pub(crate) fn spend(&self) -> Spend {
        let mut spend = Spend::default();
        self.calls().for_each(|call| spend.add_call(call));
        spend
    }

    pub(crate) fn pace(&self) -> Pace {
        let mut pace = Pace::default();
        self.calls().for_each(|call| pace.add_call(call));
        pace
    }

    /// Whether a provider said that its quota or credit is used up, whatever becomes of the trial.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.calls().any(|call| call.error_kind == Some(ErrorKind::Exhausted))
    }

    /// Tells whoever follows traces what became of it all.
    pub(crate) fn tell(&self, trial: &record::Trial) {
        self.resources.traces.trial(
            self.head,
            &Played {
                run: &self.ticket.attempt.run,
                suite: &self.ticket.scripts.plan().name,
                case: &self.script.case,
                began_micros: u64::try_from(self.began_millis).unwrap_or(0).saturating_mul(1_000),
                trial,
                turns: &self.turns,
                calls: &self.turnless,
                conversations: &self.opened,
            },
        );
    }

    /// Applies checks, one after the other, and keeps what they find.
    pub(crate) async fn judge(&mut self, checks: &[Evaluator], what: Judged<'_>) {
        if checks.is_empty() {
            return;
        }
        let subject = Subject {
            scope: what.scope,
            reply: what.reply,
            said: what.said,
            turns: &self.turns[what.first_turn..],
            conversation: what.conversation,
            duration_ms: what.duration_ms,
            workspace: &self.environment,
        };
        for check in checks {
            let judgment = check.judge(&subject, &self.bench).await;
            self.judgments.push(judgment);
        }
        match what.scope {
            Scope::Turn { .. } => self.settle(),
            Scope::Step { .. } | Scope::Conversation { .. } => self.settle_trial(),
        }
    }

    /// Puts the expected answer where the agent's own stood, for formats that keep it.
    pub(crate) fn replace_last_answer(&mut self, answer: &Message) {
        if let Some(session) = self.session.as_mut() {
            session.replace_last_answer(answer);
        }
    }

    /// From the next turn on the agent knows these messages and no others: a new conversation with it is opened.
    pub(crate) fn remember(&mut self, messages: Vec<Message>) {
        self.session = None;
        self.opening = Some(messages);
    }

    /// For calls that are made before their turn: should they fail, it never comes.
    pub(crate) fn trace_of_trial(&self) -> llm::Trace {
        trace_of(self.head, ids::trial_span(self.head.trace))
    }

    pub(crate) fn note(&mut self, kind: &str, text: impl Into<String>) {
        self.notes.push(Note { kind: kind.to_owned(), text: text.into() });
    }

    pub(crate) fn next_number(&self) -> u32 {
        u32::try_from(self.turns.len()).unwrap_or(u32::MAX - 1) + 1
    }

    pub(crate) fn log(&self) -> &Arc<CallLog> {
        &self.log
    }

    pub(crate) fn gate(&self) -> &Gate {
        &self.gate
    }

    /// How long the agent and its tools, or programs, were at work in the turns from this index on.
    pub(crate) fn agents_time(&self, first_turn: usize) -> Duration {
        Duration::from_micros(self.turns[first_turn..].iter().map(|turn| turn.duration_micros).sum())
    }

    pub(crate) fn last_reply(&self) -> &str {
        self.turns.last().and_then(|turn| turn.agent.as_deref()).unwrap_or("")
    }

    /// All that the agent said in the last turn.
    pub(crate) fn last_said(&self) -> String {
        self.turns.last().and_then(Turn::said).unwrap_or_default().into_owned()
    }

    fn agent(&self) -> Result<Arc<dyn Agent>, Failure> {
        let name = &self.script.case.agent;
        self.resources.agents.get(name).cloned().ok_or_else(|| {
            Failure::new(FailureKind::Misconfigured, format!("this worker's settings have no agent {name:?}"))
        })
    }

    async fn open(&mut self, agent: &dyn Agent) -> Result<(), Failure> {
        let script = Arc::clone(&self.script);
        let scenario = &script.scenario;
        let plugins: Vec<_> = scenario.plugins.iter().filter(|plugin| plugin.enabled).cloned().collect();
        if !plugins.is_empty() && !agent.understands_plugins() {
            let names: Vec<&str> = plugins.iter().map(|plugin| plugin.name.as_str()).collect();
            let text =
                format!("agent {} does not understand plugins; not handed over: {}", agent.name(), names.join(", "));
            self.notes.push(Note { kind: "plugins".to_owned(), text });
        }
        self.opened.push(self.next_number());
        // Whoever judges this conversation or speaks in it is sent its id too.
        self.bench.template.conversation = conversation_of(&self.ticket, self.opened.len());
        let mut context = llm::Context { role: Role::Agent.name().to_owned(), ..self.bench.template.clone() };
        let mut tools = None;
        if !scenario.mocks.is_empty() && !self.ticket.scripts.plan().live {
            tools = Some(self.toolbox.tools(scenario, &self.bench, self.resources.now_millis));
            if agent.calls_tools_itself() {
                let seat = self.toolbox.seat(&self.resources.tool_server).await?;
                (context.tools_url, context.mcp_url) = (seat.tools_url(), seat.mcp_url());
            } else if !agent.uses_tools() {
                let text = format!(
                    "agent {} answers its tool calls itself; {} mocks of the scenario are not applied",
                    agent.name(),
                    scenario.mocks.len()
                );
                self.notes.push(Note { kind: "mocks".to_owned(), text });
            }
        }
        let start = agent::Start {
            conversation: context.conversation.clone(),
            context,
            seed: self.ticket.trial.seed,
            opening: self.opening.take().unwrap_or_else(|| scenario.opening.clone()),
            plugins,
            tools,
        };
        let session = agent.open(start).await.map_err(|error| Failure::new(error.kind, error.message))?;
        self.session = Some(session);
        Ok(())
    }
}

/// An attempt that is given up has cost what it has cost: its last turn is sent as far as it came.
impl Drop for Stage {
    fn drop(&mut self) {
        if let Some(Asking { agent, started_micros, held, asked }) = self.asking.take() {
            let took = Took::given_up(held, asked.elapsed());
            let call = failed_call(Role::Agent, agent.name(), started_micros, took, &GIVEN_UP, ErrorKind::Other);
            self.log.push(Call { model: model_of(&*agent), ..call });
        }
        self.settle_trial();
        self.emit_all();
    }
}

/// What a list of checks is applied to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Judged<'a> {
    pub(crate) scope: Scope,
    pub(crate) reply: &'a str,
    /// All that the agent said.
    pub(crate) said: &'a str,
    /// Index of the first turn that the scope covers.
    pub(crate) first_turn: usize,
    pub(crate) conversation: bool,
    pub(crate) duration_ms: Option<u64>,
}

/// Every request of a turn that was answered, if only with nothing. `held` is how long the first one was held back.
pub(crate) fn answered_calls(agent: &str, reply: &agent::Reply, started_micros: u64, held: Duration) -> Vec<Call> {
    let requests = reply.requests().zip(once(held).chain(repeat(Duration::ZERO)));
    requests
        .map(|(request, held_back)| {
            let after = if request.started.is_zero() { 0 } else { micros(held + request.started) };
            answered_call(agent, request, started_micros + after, held_back + request.timing.wait)
        })
        .collect()
}

fn answered_call(agent: &str, reply: &agent::Reply, started_micros: u64, waited: Duration) -> Call {
    let usage = reply.usage.unwrap_or_default();
    Call {
        role: Role::Agent,
        endpoint: agent.to_owned(),
        model: if reply.model.is_empty() { agent.to_owned() } else { few::name(&reply.model).into_owned() },
        started_micros,
        wait_micros: micros(waited),
        connect_micros: reply.timing.connect.map(micros),
        ttft_micros: reply.timing.first_token.map(micros),
        inter_token_micros: reply.timing.inter_token.map(micros),
        total_micros: micros(reply.timing.total),
        retried_micros: micros(reply.timing.retried),
        tokens: Tokens { input: usage.input_tokens, output: usage.output_tokens },
        estimated: usage.estimated,
        cost: reply.cost_nanos.map(Usd),
        tries: reply.tries.max(1),
        throttled_tries: reply.throttled_tries,
        lost_tries: reply.lost_tries,
        error: None,
        error_kind: None,
        of_trial: false,
    }
}

/// Of a call without an answer: as the settings name the model, else the agent's own name, as in calls with one.
fn model_of(agent: &dyn Agent) -> String {
    let name = if agent.model().is_empty() { agent.name() } else { agent.model() };
    name.to_owned()
}

/// What whoever is asked on behalf of a span is told.
pub(crate) fn trace_of(head: Head, span: u64) -> llm::Trace {
    llm::Trace { id: head.trace, span, sampled: head.sampled }
}

/// A turn of which no reply came.
pub(crate) struct Broken<'a> {
    agent: &'a dyn Agent,
    error: &'a agent::Error,
    /// By the agent and its tools.
    pub(crate) took: Duration,
    /// By the request that failed.
    last_took: Duration,
    last_waited: Duration,
}

impl<'a> Broken<'a> {
    /// `elapsed` since the agent was asked, which had no more than `timeout`.
    pub(crate) fn new(agent: &'a dyn Agent, error: &'a agent::Error, elapsed: Duration, timeout: Duration) -> Self {
        if let Spent::Known(reply) = &error.spent {
            let (last_took, last_waited) = (reply.timing.total, reply.timing.wait);
            return Self { agent, error, took: reply.took(), last_took, last_waited };
        }
        let earlier = error.earlier.as_deref();
        let part = |of: fn(&agent::Reply) -> Duration| earlier.map_or(Duration::ZERO, of);
        let effort = error.effort;
        let mut last_waited = effort.waited;
        let mut last_took = elapsed.saturating_sub(part(agent::Reply::ended) + last_waited);
        if error.kind == FailureKind::AgentTimeout {
            // The agent had its time and no more; what is left of it was spent in line for a permit.
            let had = timeout.saturating_sub(part(agent::Reply::took));
            last_waited += last_took.saturating_sub(had);
            last_took = last_took.min(had);
        }
        last_took = last_took.saturating_sub(effort.retried);
        Self { agent, error, took: part(agent::Reply::took) + last_took, last_took, last_waited }
    }

    /// What the turn had come to.
    pub(crate) fn reply(&self) -> Option<&'a agent::Reply> {
        match &self.error.spent {
            Spent::Known(reply) => Some(reply),
            Spent::Nothing | Spent::Unknown => self.error.earlier.as_deref(),
        }
    }

    /// Every request of the turn; the last one failed.
    pub(crate) fn calls(&self, started_micros: u64, held: Duration) -> Vec<Call> {
        let (name, error) = (self.agent.name(), self.error);
        let answered = self.reply().map(|reply| answered_calls(name, reply, started_micros, held));
        let mut calls = answered.unwrap_or_default();
        let (after, held_back) = match error.earlier.as_deref() {
            Some(earlier) => (micros(held + earlier.ended()), Duration::ZERO),
            None => (0, held),
        };
        let effort = llm::Effort { waited: self.last_waited, ..error.effort };
        let elapsed = self.last_waited + effort.retried + self.last_took;
        let took = Took { held: held_back, elapsed, effort };
        let failed = failed_call(Role::Agent, name, started_micros + after, took, error, error.kind.into());
        match &error.spent {
            Spent::Known(_) => {
                if let Some(last) = calls.last_mut() {
                    (last.error, last.error_kind) = (failed.error, failed.error_kind);
                }
            }
            Spent::Nothing | Spent::Unknown => calls.push(Call {
                model: model_of(self.agent),
                cost: matches!(error.spent, Spent::Nothing).then_some(Usd(0)),
                ..failed
            }),
        }
        calls
    }
}

fn template(ticket: &Ticket, script: &Script) -> llm::Context {
    llm::Context {
        role: String::new(),
        run: ticket.attempt.run.as_str().to_owned(),
        scenario: script.case.scenario.clone(),
        persona: script.case.persona.clone().unwrap_or_default(),
        conversation: conversation_of(ticket, 1),
        trial: ticket.trial.id.as_str().to_owned(),
        case: ticket.trial.case_id.as_str().to_owned(),
        idempotency_key: session_of(ticket),
        ..llm::Context::default()
    }
}

fn session_of(ticket: &Ticket) -> String {
    session_id(&ticket.attempt.run, &ticket.trial.id, ticket.attempt.epoch)
}

/// `number` counts from 1.
fn conversation_of(ticket: &Ticket, number: usize) -> String {
    conversation_id(&session_of(ticket), u32::try_from(number).unwrap_or(u32::MAX))
}
