//! Estimates the calls and tokens of a run before it starts, for `--dry-run`.
//!
//! Upper figures are what the files allow; typical ones assume average conversations. A token counts as four
//! characters.

use std::time::Duration;

use crate::{
    Action, Battery, Check, Conversation, Format, Plan, Scenario,
    battery::{Requirement, Tester},
    load,
    message::said,
};

/// How many cases of a group are expanded. The rest is extrapolated from them.
const SAMPLE: u64 = 64;
const CHARACTERS_PER_TOKEN: u64 = 4;
/// A reply of the agent in tokens: usual, and long.
const REPLY: Span = Span { typical: 120, upper: 600 };
/// An answer of a judge in tokens: usual, and long.
const FINDING: Span = Span { typical: 80, upper: 300 };
/// A line of a simulated user in tokens.
const LINE: u64 = 60;
/// The tokens that gabfest adds around a prompt.
const FRAME: u64 = 120;
/// The solved examples in the prompt of a simulated user.
const EXAMPLES: u64 = 700;

/// The size of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Estimate {
    pub cases: u64,
    pub trials: u64,
    /// Conversations with the agent, over all trials.
    pub conversations: u64,
    pub typical: Load,
    pub upper: Load,
}

/// Calls and tokens by role, over all trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Load {
    pub agent: Use,
    pub user_sim: Use,
    pub judge: Use,
}

/// The use of one role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Use {
    pub calls: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
}

#[derive(Debug, Clone, Copy)]
struct Span {
    typical: u64,
    upper: u64,
}

/// What the first conversations of a load group ask for, to estimate all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sample {
    size: Estimate,
    /// What users think and type, over all.
    pauses: Duration,
    taken: u64,
}

impl Sample {
    /// The first conversations of a lane: they have its weights.
    #[must_use]
    pub fn of(plan: &Plan, lane: usize, formats: &[&'static dyn Format]) -> Self {
        let mut sample = Self::default();
        for local in 0..SAMPLE {
            let Some(drawn) = plan.trial(load::trial_number(lane, local)) else { continue };
            if let Some(scenario) = plan.case(drawn.case).and_then(|case| plan.scenario(&case, formats).ok()) {
                sample.size.add(&trial(&scenario));
                sample.pauses += pauses(&scenario, drawn.seed);
                sample.taken += 1;
            }
        }
        sample
    }

    /// How long users think and type in one conversation, on average.
    #[must_use]
    pub fn mean_pause(&self) -> Duration {
        self.pauses.checked_div(u32::try_from(self.taken).unwrap_or(u32::MAX)).unwrap_or_default()
    }

    /// The size of so many trials.
    #[must_use]
    pub fn times(&self, trials: u64) -> Estimate {
        Estimate { trials, ..self.size.scaled(u128::from(trials), u128::from(self.taken.max(1))) }
    }
}

/// Estimates a plan without a load. Large groups are sampled evenly, so the cost does not grow with the number of cases.
#[must_use]
pub fn estimate(plan: &Plan, formats: &[&'static dyn Format]) -> Estimate {
    let mut total = Estimate { cases: plan.case_count(), trials: plan.planned().unwrap_or(0), ..Estimate::default() };
    let mut first = 0;
    for group in &plan.groups {
        let cases = plan.cases_of(group);
        let taken = cases.min(SAMPLE);
        let mut sample = Estimate::default();
        for place in 0..taken {
            // In 128 bits: a sample of a huge group would overflow 64.
            let at = u64::try_from(u128::from(place) * u128::from(cases) / u128::from(taken)).unwrap_or(0);
            let scenario = plan.case(first + at).and_then(|case| plan.scenario(&case, formats).ok());
            if let Some(scenario) = scenario {
                sample.add(&trial(&scenario));
            }
        }
        let factor = u128::from(cases) * u128::from(group.repeats);
        total.add(&sample.scaled(factor, u128::from(taken.max(1))));
        first = first.saturating_add(cases);
    }
    total
}

/// The size of one trial of a scenario.
#[must_use]
pub fn trial(scenario: &Scenario) -> Estimate {
    let mut size = Estimate::default();
    // The messages that go with each turn to an agent without state.
    let opening: u64 = scenario.opening.iter().map(|message| tokens(&message.text())).sum();
    let mut history = Span { typical: opening, upper: opening };
    // The scripted messages of a trial are one conversation.
    size.conversations += u64::from(scenario.steps.iter().any(|step| matches!(step.action, Action::Say { .. })));
    for step in &scenario.steps {
        match &step.action {
            Action::Say { messages, .. } => {
                let said = tokens(&said(messages));
                history = history.plus(said, said);
                size.typical.agent.call(history.typical, REPLY.typical);
                size.upper.agent.call(history.upper, REPLY.upper);
                history = history.plus(REPLY.typical, REPLY.upper);
            }
            Action::Converse(conversation) => {
                size.conversations += 1;
                converse(conversation, &mut history, &mut size);
            }
            Action::Examine(battery) => {
                size.conversations += 1;
                examine(battery, &mut size);
            }
            Action::Execute { .. } => {}
        }
        judge_all(&step.checks, &history, 1, &mut size);
    }
    size
}

/// The pauses of a trial. Simulated lines are taken to be of a usual length.
fn pauses(scenario: &Scenario, seed: u64) -> Duration {
    let usual = "x".repeat(usize::try_from(LINE * CHARACTERS_PER_TOKEN).unwrap_or(0));
    let (mut turn, mut sum) = (0, Duration::ZERO);
    for step in &scenario.steps {
        let pauses = scenario.pauses_of(step);
        let (turns, line) = match &step.action {
            Action::Say { messages, .. } => (1, said(messages)),
            Action::Converse(conversation) => (usual_turns(conversation), usual.clone()),
            Action::Examine(battery) => (u64::from(battery.length), usual.clone()),
            Action::Execute { .. } => continue,
        };
        for _ in 0..turns {
            turn += 1;
            if turn > 1 {
                sum += pauses.before(seed, turn, &line);
            }
        }
    }
    sum
}

/// Conversations that can end early mostly do, after about two thirds of their turns.
fn usual_turns(conversation: &Conversation) -> u64 {
    let most = u64::from(conversation.most_turns());
    if conversation.stops.is_empty() { most } else { (most * 2).div_ceil(3) }
}

fn converse(conversation: &Conversation, history: &mut Span, size: &mut Estimate) {
    let most = u64::from(conversation.most_turns());
    let usual = usual_turns(conversation);
    let user = &conversation.simulator;
    let profile: u64 = [Some(&user.persona), Some(&user.objective), user.style.as_ref(), user.emotional_state.as_ref()]
        .into_iter()
        .flatten()
        .chain(&user.constraints)
        .chain(user.extras.facts.iter().map(|(_, fact)| &fact.value))
        .chain(user.extras.goal.iter().map(|part| &part.text))
        .map(|text| tokens(text))
        .sum();
    let line = Span { typical: u64::from(user.max_tokens).min(LINE), upper: u64::from(user.max_tokens) };
    let of_states = user.extras.states.iter().map(|(_, state)| state.questions()).max().unwrap_or(0) as u64;
    let stop_judges = conversation.stops.iter().filter(|stop| stop.judge.is_some()).count() as u64;
    for turn in 0..most {
        let typically = u64::from(turn < usual);
        let said = if turn == 0 {
            let opening = tokens(&conversation.opening_line);
            Span { typical: opening, upper: opening }
        } else if let Some(scripted) = u32::try_from(turn + 1).ok().and_then(|turn| user.extras.scripted(turn)) {
            let scripted = tokens(scripted);
            Span { typical: scripted, upper: scripted }
        } else {
            // The simulator sees its profile and the whole conversation, as far as its budget goes.
            let budget = u64::from(user.extras.history_tokens());
            let seen = Span { typical: history.typical.min(budget), upper: history.upper.min(budget) };
            if typically == 1 {
                size.typical.user_sim.call(FRAME + EXAMPLES + profile + seen.typical, line.typical);
            }
            size.upper.user_sim.call(FRAME + EXAMPLES + profile + seen.upper, line.upper);
            for _ in 0..user.extras.self_check_questions() {
                judge(history, typically, size);
            }
            line
        };
        *history = history.plus(said.typical * typically, said.upper);
        if typically == 1 {
            size.typical.agent.call(history.typical, REPLY.typical);
        }
        size.upper.agent.call(history.upper, REPLY.upper);
        *history = history.plus(REPLY.typical * typically, REPLY.upper);
        judge_all(&conversation.turn_checks, history, typically, size);
        for _ in 0..stop_judges + of_states {
            judge(history, typically, size);
        }
    }
    judge_all(&conversation.final_checks, history, 1, size);
}

/// Scores count as questions to the judge, who answers them unless the settings choose a model.
fn examine(battery: &Battery, size: &mut Estimate) {
    let shown = |remembered: u64, most: u64| remembered.min(most) * REPLY.typical;
    let asked = |requirement: &Requirement| {
        matches!(requirement, Requirement::ContextCoherence | Requirement::ReplyCoherence | Requirement::Toxicity)
    };
    let scores = battery.observed.iter().filter(|requirement| asked(requirement)).count() as u64;
    let tests: f64 = battery.injections.iter().map(|injection| injection.probability).sum();
    for turn in 0..u64::from(battery.length) {
        let said = 2 * turn + 1;
        if battery.saved.is_none() {
            let sent = FRAME + shown(battery.agent_memory.map_or(u64::MAX, u64::from), said);
            size.typical.agent.call(sent, REPLY.typical);
            size.upper.agent.call(sent, REPLY.upper);
            if matches!(battery.tester, Tester::Model(_)) {
                let seen = FRAME + shown(u64::from(battery.tester_memory), said);
                size.upper.user_sim.call(seen, REPLY.typical);
                // Turns that are not tests.
                if ((turn as f64 + 1.0) * tests).floor() == (turn as f64 * tests).floor() {
                    size.typical.user_sim.call(seen, REPLY.typical);
                }
            }
        }
        let history = Span { typical: REPLY.typical * 2, upper: REPLY.upper * 2 };
        for _ in 0..scores {
            judge(&history, 1, size);
        }
        // An answer is extracted, then compared.
        for _ in 0..2 {
            judge(&history, u64::from(tests > 0.5 && turn % 2 == 1), size);
        }
    }
}

fn judge_all(checks: &[Check], history: &Span, typically: u64, size: &mut Estimate) {
    for check in checks {
        let given: u64 = check.judging.given().map(tokens).sum();
        let seen = history.plus(given, given);
        for _ in 0..questions_of(check) {
            judge(&seen, typically, size);
        }
    }
}

fn judge(history: &Span, typically: u64, size: &mut Estimate) {
    if typically == 1 {
        size.typical.judge.call(FRAME + history.typical, FINDING.typical);
    }
    size.upper.judge.call(FRAME + history.upper, FINDING.upper);
}

/// How often a check asks a language model. Measurements count too: the judge measures if the settings choose no
/// model.
fn questions_of(check: &Check) -> u64 {
    check.questions().iter().map(|question| question.times).sum()
}

fn tokens(text: &str) -> u64 {
    (text.chars().count() as u64).div_ceil(CHARACTERS_PER_TOKEN)
}

impl Span {
    fn plus(self, typical: u64, upper: u64) -> Self {
        Self { typical: self.typical + typical, upper: self.upper + upper }
    }
}

impl Use {
    fn call(&mut self, input_tokens: u64, output_tokens: u64) {
        self.calls += 1;
        self.input_tokens += input_tokens;
        self.output_tokens += output_tokens;
    }

    fn map(&self, other: &Self, with: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            calls: with(self.calls, other.calls),
            input_tokens: with(self.input_tokens, other.input_tokens),
            output_tokens: with(self.output_tokens, other.output_tokens),
        }
    }
}

impl Load {
    fn map(&self, other: &Self, with: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            agent: self.agent.map(&other.agent, &with),
            user_sim: self.user_sim.map(&other.user_sim, &with),
            judge: self.judge.map(&other.judge, &with),
        }
    }
}

impl Estimate {
    /// Adds the use of other trials. The numbers of cases and trials stay.
    pub fn add(&mut self, other: &Self) {
        self.conversations = self.conversations.saturating_add(other.conversations);
        self.typical = self.typical.map(&other.typical, u64::saturating_add);
        self.upper = self.upper.map(&other.upper, u64::saturating_add);
    }

    fn scaled(&self, factor: u128, divisor: u128) -> Self {
        let scale = |number: u64, _: u64| {
            u64::try_from(u128::from(number).saturating_mul(factor) / divisor).unwrap_or(u64::MAX)
        };
        Self {
            conversations: scale(self.conversations, 0),
            typical: self.typical.map(&self.typical, scale),
            upper: self.upper.map(&self.upper, scale),
            ..*self
        }
    }
}
