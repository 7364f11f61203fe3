//! `conversation`: the simulated user, the conditions that end it, and its evaluations.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use scenario::check::{self, Evaluation, wording};
use scenario::{
    Conversation,
    conversation::{Condition, DebugOptions, KnowledgeLevel, Simulator, Stop, StopJudge},
    user::Extras,
};
use yaml::bounded::{ReplyTokens, Share, Temperature, TotalMillis, TurnMillis, Turns};
use yaml::{Findings, Part};

use crate::simulated_user;

/// A conversation between a simulated user and the agent.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Conversation")]
pub(crate) struct ConversationDocument {
    /// The maximum number of exchanges, 2 to 20. `user_simulator.gabfest.max_turns` allows more.
    max_turns: Turns,
    /// The time limit for one exchange, in milliseconds.
    #[serde(default = "turn_timeout")]
    #[schemars(extend("default" = 30_000))]
    timeout_per_turn_ms: TurnMillis,
    /// The time limit for the whole conversation, in milliseconds. Only the agent's replies and tools count, not the
    /// simulated user, judges, rate-limit waits and retries.
    #[serde(default = "total_timeout")]
    #[schemars(extend("default" = 300_000))]
    total_timeout_ms: TotalMillis,
    /// The simulated user.
    user_simulator: SimulatorDocument,
    /// Checked in this order after each exchange. The first condition that holds ends the conversation.
    #[serde(default, rename = "termination_conditions")]
    #[schemars(with = "Vec<StopDocument>")]
    _termination_conditions: Vec<Value>,
    /// Evaluations after each reply of the agent.
    #[serde(default, rename = "turn_evaluations")]
    #[schemars(with = "Vec<Evaluation>")]
    _turn_evaluations: Vec<Value>,
    /// Evaluations at the end of the conversation.
    #[serde(default, rename = "final_evaluations")]
    #[schemars(with = "Vec<Evaluation>")]
    _final_evaluations: Vec<Value>,
    /// Additional records for debugging a scenario.
    #[serde(default)]
    debug_options: DebugDocument,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "UserSimulator")]
pub(crate) struct SimulatorDocument {
    /// The model type of the simulated user.
    #[serde(default = "large")]
    model_type: String,
    /// The sampling temperature, 0 to 2.
    #[serde(default = "temperature")]
    #[schemars(extend("default" = 0.7))]
    temperature: Temperature,
    /// The maximum length of a message, 50 to 500 tokens.
    #[serde(default = "max_tokens")]
    #[schemars(extend("default" = 200))]
    max_tokens: ReplyTokens,
    /// Who the user is.
    persona: String,
    /// The user's goal.
    objective: String,
    /// How the user speaks.
    style: Option<String>,
    /// Rules for the user.
    #[serde(default)]
    constraints: Vec<String>,
    /// How the user feels.
    emotional_state: Option<String>,
    /// The user's knowledge of the topic.
    #[serde(default)]
    #[schemars(extend("default" = "intermediate"))]
    knowledge_level: KnowledgeLevel,
    /// Keys that only gabfest knows.
    #[serde(default)]
    gabfest: Extras,
}

/// A condition that ends the conversation.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "TerminationCondition")]
pub(crate) struct StopDocument {
    /// The kind of condition.
    #[serde(rename = "type")]
    condition: Condition,
    /// A description for people.
    description: Option<String>,
    /// Keywords that replace the condition's default keywords.
    keywords: Option<Vec<String>>,
    /// A question to a language model, which decides instead.
    llm_judge: Option<StopJudgeDocument>,
    /// Keys that only gabfest knows.
    gabfest: Option<StopOursDocument>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "TerminationJudge")]
pub(crate) struct StopJudgeDocument {
    /// The question.
    prompt: String,
    /// The minimum confidence of the judge, 0 to 1.
    #[serde(default = "threshold")]
    #[schemars(extend("default" = 0.8))]
    threshold: Share,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "TerminationExtras")]
pub(crate) struct StopOursDocument {
    /// The name of an HTTP hook in `gabfest.yaml`, which decides instead.
    hook: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "DebugOptions")]
#[serde(default)]
pub(crate) struct DebugDocument {
    /// Keep each prompt and raw answer of the simulator.
    log_user_simulation: bool,
    /// Keep the result of each termination condition.
    log_turn_decisions: bool,
    /// Keep the whole transcript of passing trials, too.
    export_full_transcript: bool,
}

/// The conversation without its opening line, which is the step's input.
pub(super) fn read(part: &Part<'_>, findings: &mut Findings) -> Option<Conversation> {
    let written = part.decode::<ConversationDocument>(findings);
    let stops = part.items_of("termination_conditions");
    let stops = stops.iter().filter_map(|stop| read_stop(stop, findings)).collect();
    let turn_checks = check::read_all(&part.items_of("turn_evaluations"), findings);
    check::refuse_turn(&part.items_of("final_evaluations"), findings);
    let final_checks = check::read_all(&part.items_of("final_evaluations"), findings);
    let written = written?;
    if let Some(ours) = part.get("user_simulator").and_then(|user| user.get("gabfest")) {
        simulated_user::check(&ours, &written.user_simulator.gabfest, findings);
    }
    let conversation = Conversation {
        opening_line: String::new(),
        max_turns: written.max_turns.0,
        turn_timeout_ms: written.timeout_per_turn_ms.0,
        total_timeout_ms: written.total_timeout_ms.0,
        simulator: written.user_simulator.into_simulator(),
        stops,
        turn_checks,
        final_checks,
        debug: DebugOptions {
            log_user_simulation: written.debug_options.log_user_simulation,
            log_turn_decisions: written.debug_options.log_turn_decisions,
            export_full_transcript: written.debug_options.export_full_transcript,
        },
    };
    let most = conversation.most_turns();
    simulated_user::check_goal_checks(part, &conversation.simulator.extras.goal, findings);
    if let Some(ours) = part.get("user_simulator").and_then(|user| user.get("gabfest")) {
        simulated_user::check_script_length(&ours, &conversation.simulator.extras, most, findings);
    }
    for part in part.items_of("turn_evaluations") {
        let turn = part.get("turn").and_then(|turn| turn.value().as_u64()).unwrap_or_default();
        if turn > u64::from(most) {
            let message = format!("`turn` is {turn}, and the conversation has at most {most} turns");
            findings.error(part.spot_of("turn"), message);
        }
    }
    Some(conversation)
}

fn read_stop(part: &Part<'_>, findings: &mut Findings) -> Option<Stop> {
    let written = part.decode::<StopDocument>(findings)?;
    let stop = Stop {
        condition: written.condition,
        description: written.description,
        keywords: written.keywords,
        judge: written.llm_judge.map(|judge| StopJudge { prompt: judge.prompt, threshold: judge.threshold.0 }),
        hook: written.gabfest.map(|ours| ours.hook),
    };
    if let (Some(judge), Some(written)) = (&stop.judge, part.get("llm_judge")) {
        wording::check_question("`prompt`", &judge.prompt, written.spot_of("prompt"), findings);
    }
    if stop.condition == Condition::CustomCondition && stop.judge.is_none() && stop.hook.is_none() {
        findings.warning(part.spot(), "`custom_condition` never holds: nothing evaluates it");
        findings.help("add `llm_judge: {prompt: …}`, or `gabfest: {hook: NAME}`");
    }
    Some(stop)
}

impl SimulatorDocument {
    fn into_simulator(self) -> Simulator {
        Simulator {
            model_type: self.model_type,
            temperature: self.temperature.0,
            max_tokens: self.max_tokens.0,
            persona: self.persona,
            objective: self.objective,
            style: self.style,
            constraints: self.constraints,
            emotional_state: self.emotional_state,
            knowledge_level: self.knowledge_level,
            extras: self.gabfest,
        }
    }
}

impl Default for DebugDocument {
    fn default() -> Self {
        let usual = DebugOptions::default();
        Self {
            log_user_simulation: usual.log_user_simulation,
            log_turn_decisions: usual.log_turn_decisions,
            export_full_transcript: usual.export_full_transcript,
        }
    }
}

fn turn_timeout() -> TurnMillis {
    TurnMillis(30_000)
}

fn total_timeout() -> TotalMillis {
    TotalMillis(300_000)
}

fn large() -> String {
    "TEXT_LARGE".to_owned()
}

fn temperature() -> Temperature {
    Temperature(0.7)
}

fn max_tokens() -> ReplyTokens {
    ReplyTokens(200)
}

fn threshold() -> Share {
    Share(0.8)
}
