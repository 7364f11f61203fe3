//! The list of all kinds of check. A new kind is one line here, one file in this folder, and its implementation in
//! `evaluate`.

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
        /// What must hold. Its text is the agent's reply (of a conversation: the transcript; of a program: its output)
        /// or, within another rule, the value that the outer rule extracted.
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

            /// Whether it looks only at a text, so that it can be inside another rule.
            #[must_use]
            pub fn is_about_text(&self) -> bool {
                match self {
                    $(Self::$name(_) => <$data as Kind>::IS_ABOUT_TEXT,)+
                }
            }

            /// Whether it asks a judge itself.
            #[must_use]
            pub fn asks_judge(&self) -> bool {
                match self {
                    $(Self::$name(_) => <$data as Kind>::ASKS_JUDGE,)+
                }
            }

            /// Its questions to models each time it judges, including inner rules, without votes; empty if it asks
            /// none.
            pub(super) fn questions(&self) -> Vec<Question<'_>> {
                match self {
                    $(Self::$name(data) => data.questions(),)+
                }
            }

            /// Reads the fields of one kind, with its description; `None` without a finding means an unknown kind.
            fn read(kind: &str, place: &mut Place<'_, '_>) -> Option<(Option<String>, Self)> {
                match kind {
                    $($kind => fields::<$data>(place).map(|(description, data)| (description, Self::$name(data))),)+
                    _ => None,
                }
            }
        }

        /// The keys of a kind apart from its fields.
        fn keys_of(kind: &str) -> &'static [&'static str] {
            match kind {
                $($kind => keys::<$data>(),)+
                _ => shared_keys::KEYS,
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
    shared_keys::describe(schema, keys_of);
}

/// Reads a list of evaluations. Faulty ones are left out, with a finding.
pub fn read_all(parts: &[Part<'_>], findings: &mut Findings) -> Vec<Check> {
    parts.iter().filter_map(|part| read(part, findings)).collect()
}

fn read(part: &Part<'_>, findings: &mut Findings) -> Option<Check> {
    let kind = shared_keys::kind(part, KINDS, findings)?;
    let (description, rule) = Rule::read(kind, &mut Place::new(part, findings, read))?;
    let mut check = Check { description, ..Check::new(rule, part.line()) };
    if check.rule.asks_judge() {
        let has_own_form = matches!(&check.rule, Rule::LlmJudge(rule) if rule.json_schema.is_some());
        check.judging = judging::read(part, part.get("model_type").is_some(), has_own_form, findings);
    }
    Some(shared_keys::read(check, part, findings))
}

fn fields<K: Kind>(place: &mut Place<'_, '_>) -> Option<(Option<String>, K)> {
    let Described { description, fields } = place.part.decode_without(keys::<K>(), place.findings)?;
    Some((description, K::read(fields, place)?))
}

fn keys<K: Kind>() -> &'static [&'static str] {
    match (K::SHOWS_MATERIAL, K::ASKS_JUDGE) {
        (true, _) => shared_keys::KEYS_OF_MATERIAL,
        (false, true) => shared_keys::KEYS_OF_JUDGES,
        (false, false) => shared_keys::KEYS,
    }
}
