//! What a check asks of models. What a run needs and what it costs both follow from this one answer.

use super::{ArgumentRule, Check, ExpectedCall, RefusalMethod, Rule, SatisfactionMethod};

/// The questions that a check puts to one model, each time it judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Question<'a> {
    pub to: Asked<'a>,
    /// An upper bound.
    pub times: u64,
}

/// The model that answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked<'a> {
    /// A judge by its model type; `None`: the usual one.
    Judge(Option<&'a str>),
    Measure(Measure),
}

/// What a text is measured for. The settings choose a model for it; otherwise the usual judge measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Measure {
    Similarity,
    Answer,
    NextSentence,
    Toxicity,
}

impl<'a> Question<'a> {
    fn judge(model_type: Option<&'a str>, times: u64) -> Vec<Self> {
        Self::asked(Asked::Judge(model_type), times)
    }

    fn asked(to: Asked<'a>, times: u64) -> Vec<Self> {
        if times == 0 { Vec::new() } else { vec![Self { to, times }] }
    }
}

impl Rule {
    /// What the rule asks of models, rules within it included. Empty: it asks none.
    #[must_use]
    pub fn questions(&self) -> Vec<Question<'_>> {
        let usual = |times| Question::judge(None, times);
        match self {
            Self::LlmJudge(rule) => Question::judge(rule.model_type.as_deref(), 1),
            Self::SemanticCondition { .. } | Self::SemanticSimilar { .. } => usual(1),
            Self::Similarity { expected, .. } => {
                Question::asked(Asked::Measure(Measure::Similarity), expected.len() as u64)
            }
            Self::Refusal { method } => usual(u64::from(*method == RefusalMethod::LlmJudge)),
            Self::UserSatisfaction { method, .. } => usual(u64::from(*method != SatisfactionMethod::KeywordAnalysis)),
            Self::ConversationFlow { required_patterns, .. } => usual(required_patterns.len() as u64),
            // Conversations have at most 20 turns.
            Self::ContextRetention { test_memory_of, retention_turns, .. } => {
                usual((test_memory_of.len() as u64).saturating_mul(u64::from(*retention_turns).min(20)))
            }
            Self::Rubric(rule) if rule.panel.is_empty() => {
                Question::judge(rule.model_type.as_deref(), u64::from(rule.votes))
            }
            Self::Rubric(rule) => {
                rule.panel.iter().flat_map(|judge| Question::judge(Some(judge), u64::from(rule.votes))).collect()
            }
            Self::Call(rule) => {
                let mut questions = Question::judge(Some(&rule.plugin), 1);
                questions.extend(of_checks(&rule.checks));
                questions
            }
            Self::JsonPath { checks, .. } | Self::AnyOf { checks } => of_checks(checks).collect(),
            Self::JsonCheck { fields } | Self::RegexMatch { captures: fields, .. } => {
                fields.iter().flat_map(|(_, checks)| of_checks(checks)).collect()
            }
            Self::ToolCalls(rule) => rule.calls.iter().flat_map(ExpectedCall::questions).collect(),
            Self::StringContains { .. }
            | Self::Contains { .. }
            | Self::StartsWith { .. }
            | Self::EndsWith { .. }
            | Self::Equals { .. }
            | Self::Empty
            | Self::AnswerId { .. }
            | Self::FileExists { .. }
            | Self::FileContains { .. }
            | Self::CommandExitCodeIs { .. }
            | Self::TrajectoryContainsAction { .. }
            | Self::TelephonyEvents { .. }
            | Self::JsonSchema { .. }
            | Self::Number { .. }
            | Self::Length { .. }
            | Self::Language { .. }
            | Self::ExecutionTime { .. }
            | Self::Latency { .. }
            | Self::Spend { .. }
            | Self::ConversationLength { .. } => Vec::new(),
        }
    }
}

impl ExpectedCall {
    /// What the checks of the arguments and the result ask.
    #[must_use]
    pub fn questions(&self) -> Vec<Question<'_>> {
        let arguments = self.arguments.iter().flatten().map(|(_, rule)| rule);
        arguments.chain(&self.result).flat_map(of_argument).collect()
    }
}

fn of_checks(checks: &[Check]) -> impl Iterator<Item = Question<'_>> {
    checks.iter().flat_map(|check| check.rule.questions())
}

fn of_argument(rule: &ArgumentRule) -> Vec<Question<'_>> {
    match rule {
        ArgumentRule::Checks(checks) => of_checks(checks).collect(),
        ArgumentRule::Fields { fields, .. } => fields.iter().flat_map(|(_, rule)| of_argument(rule)).collect(),
        ArgumentRule::Equals(_) | ArgumentRule::Anything | ArgumentRule::Optional => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(rule: &ArgumentRule) -> u64 {
        of_argument(rule).iter().map(|question| question.times).sum()
    }

    #[test]
    fn questions_inside_of_arguments_are_counted_at_every_depth() {
        let judged =
            || ArgumentRule::Checks(vec![Check::new(Rule::SemanticCondition { condition: "polite".into() }, 1)]);
        let fields = |rules: Vec<ArgumentRule>| ArgumentRule::Fields {
            fields: rules.into_iter().map(|rule| ("key".to_owned(), rule)).collect(),
            partial: false,
        };
        assert_eq!(times(&ArgumentRule::Anything), 0);
        assert_eq!(times(&judged()), 1);
        assert_eq!(times(&fields(vec![judged(), fields(vec![judged(), ArgumentRule::Optional])])), 2);
    }
}
