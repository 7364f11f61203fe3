//! The list of all kinds of check. A new kind is one line here, one file beside this one, and its behaviour in `evaluate`.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yaml::{Findings, Part};

use super::{
    AnswerId, AnyOf, CallRule, Check, CommandExitCodeIs, Contains, ContextRetention, ConversationFlow,
    ConversationLength, Custom, Empty, EndsWith, Equals, ExecutionTime, FileContains, FileExists, GoalReached,
    HttpState, JsonCheck, JsonPath, JsonSchema as FitsSchema, JudgeRule, Language, Latency, Length, MockState,
    NoRepeatedReply, Number, Refusal, RegexMatch, RubricRule, SemanticCondition, SemanticSimilar, Similarity, Spend,
    SqlState, StartsWith, StringContains, TelephonyEvents, ToolCallsRule, TrajectoryContainsAction, UserSatisfaction,
    described::Described, judging, kind::Kind, place::Place, question::Question, shared_keys,
};

macro_rules! kinds {
    ($($kind:literal => $name:ident($data:ident),)+) => {
        /// What must hold. Its text is the agent's reply (of a conversation: the transcript; of a program: what it
        /// printed), or, within another rule, the value that the outer rule took out.
        #[derive(Clone, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Rule {
            $($name($data),)+
        }

        /// The kinds by the names that scenario files and reports use, in the order of the documentation.
        pub const KINDS: &[&str] = &[$($kind),+];

        impl Rule {
            /// The name that scenario files and reports use.
            #[must_use]
            pub fn kind(&self) -> &'static str {
                match self {
                    $(Self::$name(_) => $kind,)+
                }
            }

            /// Whether it looks at a text alone, so that it can stand within another rule.
            #[must_use]
            pub fn is_about_text(&self) -> bool {
                match self {
                    $(Self::$name(_) => <$data as Kind>::IS_ABOUT_TEXT,)+
                }
            }

            /// Whether it asks a judge itself.
            #[must_use]
            pub fn asks_judge(&self) -> bool {
                asks_judge(self.kind())
            }

            /// What it asks of models each time it judges, rules within it included, without votes. Empty: it asks none.
            pub(super) fn questions(&self) -> Vec<Question<'_>> {
                match self {
                    $(Self::$name(data) => data.questions(),)+
                }
            }

            /// Reads the fields of one kind, with its description; `None` without a finding: there is no such kind.
            fn read(kind: &str, place: &mut Place<'_, '_>) -> Option<(Option<String>, Self)> {
                match kind {
                    $($kind => fields::<$data>(place).map(|(description, data)| (description, Self::$name(data))),)+
                    _ => None,
                }
            }
        }

        fn asks_judge(kind: &str) -> bool {
            match kind {
                $($kind => <$data as Kind>::ASKS_JUDGE,)+
                _ => false,
            }
        }

        impl fmt::Debug for Rule {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$name(data) => fmt::Debug::fmt(data, formatter),)+
                }
            }
        }

        /// One check. Its `type` selects the kind.
        #[derive(Debug, JsonSchema)]
        #[schemars(rename = "Evaluation", tag = "type", rename_all = "snake_case", transform = shared_keys_of)]
        pub enum Evaluation {
            $($name(Described<<$data as Kind>::Written>),)+
        }
    };
}

kinds! {
    "string_contains" => StringContains(StringContains),
    "contains" => Contains(Contains),
    "starts_with" => StartsWith(StartsWith),
    "ends_with" => EndsWith(EndsWith),
    "equals" => Equals(Equals),
    "empty" => Empty(Empty),
    "any_of" => AnyOf(AnyOf),
    "regex_match" => RegexMatch(RegexMatch),
    "length" => Length(Length),
    "number" => Number(Number),
    "language" => Language(Language),
    "refusal" => Refusal(Refusal),
    "json_check" => JsonCheck(JsonCheck),
    "json_path" => JsonPath(JsonPath),
    "json_schema" => JsonSchema(FitsSchema),
    "tool_calls" => ToolCalls(ToolCallsRule),
    "trajectory_contains_action" => TrajectoryContainsAction(TrajectoryContainsAction),
    "telephony_events" => TelephonyEvents(TelephonyEvents),
    "call" => Call(CallRule),
    "answer_id" => AnswerId(AnswerId),
    "semantic_condition" => SemanticCondition(SemanticCondition),
    "semantic_similar" => SemanticSimilar(SemanticSimilar),
    "similarity" => Similarity(Similarity),
    "llm_judge" => LlmJudge(JudgeRule),
    "rubric" => Rubric(RubricRule),
    "execution_time" => ExecutionTime(ExecutionTime),
    "latency" => Latency(Latency),
    "spend" => Spend(Spend),
    "conversation_length" => ConversationLength(ConversationLength),
    "conversation_flow" => ConversationFlow(ConversationFlow),
    "no_repeated_reply" => NoRepeatedReply(NoRepeatedReply),
    "user_satisfaction" => UserSatisfaction(UserSatisfaction),
    "context_retention" => ContextRetention(ContextRetention),
    "goal_reached" => GoalReached(GoalReached),
    "file_exists" => FileExists(FileExists),
    "file_contains" => FileContains(FileContains),
    "command_exit_code_is" => CommandExitCodeIs(CommandExitCodeIs),
    "custom" => Custom(Custom),
    "http_state" => HttpState(HttpState),
    "sql_state" => SqlState(SqlState),
    "mock_state" => MockState(MockState),
}

fn shared_keys_of(schema: &mut schemars::Schema) {
    shared_keys::describe(schema, asks_judge);
}

/// Reads a list of evaluations. One that is faulty is left out, with a finding.
pub fn read_all(parts: &[Part<'_>], findings: &mut Findings) -> Vec<Check> {
    parts.iter().filter_map(|part| read(part, findings)).collect()
}

fn read(part: &Part<'_>, findings: &mut Findings) -> Option<Check> {
    let kind = shared_keys::kind(part, KINDS, findings)?;
    let (description, rule) = Rule::read(kind, &mut Place::new(part, findings, read))?;
    let mut check = Check { description, ..Check::new(rule, part.line()) };
    if check.rule.asks_judge() {
        check.judging = judging::read(part, part.get("model_type").is_some(), findings);
    }
    Some(shared_keys::read(check, part, findings))
}

fn fields<K: Kind>(place: &mut Place<'_, '_>) -> Option<(Option<String>, K)> {
    let keys = if K::ASKS_JUDGE { shared_keys::KEYS_OF_JUDGES } else { shared_keys::KEYS };
    let Described { description, fields } = place.part.decode_without(keys, place.findings)?;
    Some((description, K::read(fields, place)?))
}
