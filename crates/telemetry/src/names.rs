//! The names of OpenTelemetry's conventions for attributes of spans and metrics, in one place.
//!
//! The GenAI names are those of `open-telemetry/semantic-conventions-genai` as of autumn 2026. It has the status
//! *Development* and no release yet, so they are written here and not taken from a library that marks them as moved.
//! `test.*`, `server.*`, `session.*` and `error.*` are those of semantic conventions 1.42.0.

pub const OPERATION: &str = "gen_ai.operation.name";
pub const PROVIDER: &str = "gen_ai.provider.name";
pub const REQUEST_MODEL: &str = "gen_ai.request.model";
pub const TOKEN_TYPE: &str = "gen_ai.token.type";
pub const ERROR_TYPE: &str = "error.type";

/// The role for which a model is called; no convention has a name for it.
pub const ROLE: &str = "gabfest.role";

pub const STREAM: &str = "gen_ai.request.stream";
pub const RESPONSE_MODEL: &str = "gen_ai.response.model";
pub const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
pub const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
pub const CACHE_READ_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";
pub const CACHE_WRITE_TOKENS: &str = "gen_ai.usage.cache_creation.input_tokens";
pub const REASONING_TOKENS: &str = "gen_ai.usage.reasoning.output_tokens";
pub const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
/// In seconds.
pub const TIME_TO_FIRST_CHUNK: &str = "gen_ai.response.time_to_first_chunk";
pub const CONVERSATION: &str = "gen_ai.conversation.id";
pub const AGENT: &str = "gen_ai.agent.name";
pub const TOOL_NAME: &str = "gen_ai.tool.name";
pub const TOOL_TYPE: &str = "gen_ai.tool.type";
pub const TOOL_CALL: &str = "gen_ai.tool.call.id";
pub const TOOL_ARGUMENTS: &str = "gen_ai.tool.call.arguments";
pub const TOOL_RESULT: &str = "gen_ai.tool.call.result";
pub const INPUT_MESSAGES: &str = "gen_ai.input.messages";
pub const OUTPUT_MESSAGES: &str = "gen_ai.output.messages";
pub const EVALUATION: &str = "gen_ai.evaluation.result";
pub const EVALUATION_NAME: &str = "gen_ai.evaluation.name";
pub const EVALUATION_SCORE: &str = "gen_ai.evaluation.score.value";
pub const EVALUATION_LABEL: &str = "gen_ai.evaluation.score.label";
pub const EVALUATION_EXPLANATION: &str = "gen_ai.evaluation.explanation";
pub const SERVER_ADDRESS: &str = "server.address";
pub const SERVER_PORT: &str = "server.port";
pub const SESSION: &str = "session.id";
/// Of OpenInference, which Phoenix reads.
pub const SPAN_KIND: &str = "openinference.span.kind";
pub const INPUT: &str = "input.value";
pub const OUTPUT: &str = "output.value";
pub const SUITE: &str = "test.suite.name";
pub const RUN_STATUS: &str = "test.suite.run.status";
pub const CASE: &str = "test.case.name";
pub const CASE_STATUS: &str = "test.case.result.status";

/// Our own names, where no convention has one. The role of a call is [`ROLE`].
pub const RUN: &str = "gabfest.run";
pub const TRIAL: &str = "gabfest.trial";
/// The plan's id of the trial, which is the same in every run and which agents receive.
pub const TRIAL_ID: &str = "gabfest.trial.id";
pub const EPOCH: &str = "gabfest.epoch";
pub const SEED: &str = "gabfest.seed";
pub const REPEAT: &str = "gabfest.repeat";
pub const PERSONA: &str = "gabfest.persona";
pub const COMBINATION: &str = "gabfest.combination";
/// Followed by the axis' path.
pub const PARAMETER: &str = "gabfest.parameter.";
pub const VERDICT: &str = "gabfest.verdict";
pub const FAILURE: &str = "gabfest.failure.kind";
pub const BLAME: &str = "gabfest.failure.blame";
pub const STRATEGY: &str = "gabfest.strategy";
pub const TERMINATION: &str = "gabfest.termination";
pub const TURNS: &str = "gabfest.turns";
pub const TURN: &str = "gabfest.turn";
pub const STEP: &str = "gabfest.step";
pub const SPEAKER: &str = "gabfest.speaker";
/// The simulated user's state in which it said the line.
pub const USER_STATE: &str = "gabfest.user.state";
/// The agent's latency in seconds, without rate-limit waits.
pub const TURN_LATENCY: &str = "gabfest.turn.latency";
pub const EXIT_CODE: &str = "gabfest.exit_code";
pub const ENDPOINT: &str = "gabfest.endpoint";
/// The rate-limit wait in seconds, which is not part of the span's time.
pub const WAIT: &str = "gabfest.wait";
/// The connect time in seconds, which is not part of the span's time.
pub const CONNECT: &str = "gabfest.connect";
/// The time of earlier tries and the pauses after them in seconds, which is not part of the span's time.
pub const RETRIED: &str = "gabfest.retried";
pub const TRIES: &str = "gabfest.tries";
pub const LOST_TRIES: &str = "gabfest.lost_tries";
pub const COST: &str = "gabfest.cost.usd";
pub const CHECK: &str = "gabfest.check";
pub const CHECK_DESCRIPTION: &str = "gabfest.check.description";
pub const CHECK_REQUIRED: &str = "gabfest.check.required";
pub const CHECK_LINE: &str = "gabfest.check.line";
/// Followed by a verdict in lower case: how many trials of a run ended with it.
pub const TRIALS: &str = "gabfest.trials.";
pub const PLANNED: &str = "gabfest.trials.planned";

/// The variable that selects names that are newer than most dashboards.
pub const OPT_IN: &str = "OTEL_SEMCONV_STABILITY_OPT_IN";
/// The value that it must include.
const LATEST: &str = "gen_ai_latest_experimental";

/// Which GenAI names to use if the newest differ from the established ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Conventions {
    #[default]
    Usual,
    Latest,
}

impl Conventions {
    /// Of the value of [`OPT_IN`]: a list with commas.
    #[must_use]
    pub fn read(listed: Option<&str>) -> Self {
        let latest = listed.is_some_and(|listed| listed.split(',').any(|word| word.trim() == LATEST));
        if latest { Self::Latest } else { Self::Usual }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_names_are_used_only_when_asked_for() {
        for (listed, expected) in [
            (None, Conventions::Usual),
            (Some(""), Conventions::Usual),
            (Some("http"), Conventions::Usual),
            (Some("gen_ai_latest_experimental"), Conventions::Latest),
            (Some("http, gen_ai_latest_experimental"), Conventions::Latest),
            (Some("gen_ai_latest_experimental_2"), Conventions::Usual),
        ] {
            assert_eq!(Conventions::read(listed), expected, "{listed:?}");
        }
    }
}
