//! `evaluations`: the twelve kinds of check, told apart by their `type`.

mod document;

use serde::de::DeserializeOwned;
use serde_json::Value;

pub(crate) use document::EvaluationDocument;

use super::{expected, files};
use crate::{
    Check, Rule,
    check::JudgeRule,
    suggest,
    yaml::{Findings, Part},
};
use document as doc;

/// The largest compiled pattern, in bytes: beyond it a pattern costs more than any reply is worth.
pub(crate) const PATTERN_LIMIT: usize = 1 << 20;

/// All kinds, in the order in which they are documented.
pub(super) const KINDS: [&str; 12] = [
    "string_contains",
    "regex_match",
    "file_exists",
    "file_contains",
    "command_exit_code_is",
    "trajectory_contains_action",
    "llm_judge",
    "execution_time",
    "conversation_length",
    "conversation_flow",
    "user_satisfaction",
    "context_retention",
];

pub(super) fn read_all(parts: &[Part<'_>], findings: &mut Findings) -> Vec<Check> {
    parts.iter().filter_map(|part| read(part, findings)).collect()
}

fn read(part: &Part<'_>, findings: &mut Findings) -> Option<Check> {
    let kind = match part.get("type").as_ref().map(Part::value) {
        Some(Value::String(kind)) => kind.as_str(),
        // A key without a value was found with the whole document.
        Some(Value::Null) => return None,
        Some(_) => {
            findings.error(part.spot_of("type"), "expected the kind of the evaluation");
            findings.help(format!("known: {}", KINDS.join(", ")));
            return None;
        }
        None if part.value().is_object() => {
            findings.error(part.spot(), "missing key `type`");
            findings.help(format!("known: {}", KINDS.join(", ")));
            return None;
        }
        None => {
            findings.error(part.spot(), "expected an evaluation: a mapping with a `type`");
            return None;
        }
    };
    let (description, rule) = rule(kind, part, findings)?;
    Some(Check { description, ..Check::new(rule, part.line()) })
}

/// Decodes the fields of one kind. The fields see neither `type`, which chose them, nor each other's kinds.
fn rule(kind: &str, part: &Part<'_>, findings: &mut Findings) -> Option<(Option<String>, Rule)> {
    Some(match kind {
        "string_contains" => {
            let written: doc::StringContains = fields(part, findings)?;
            let case_sensitive = written.case_sensitive;
            (written.description, Rule::StringContains { value: written.value, case_sensitive })
        }
        "regex_match" => {
            let written: doc::RegexMatch = fields(part, findings)?;
            check_pattern(&written.pattern, part, findings);
            let rule = Rule::RegexMatch { pattern: written.pattern, case_sensitive: false, captures: Vec::new() };
            (written.description, rule)
        }
        "file_exists" => {
            let written: doc::FileExists = fields(part, findings)?;
            check_path(&written.path, part, findings);
            (written.description, Rule::FileExists { path: written.path })
        }
        "file_contains" => {
            let written: doc::FileContains = fields(part, findings)?;
            check_path(&written.path, part, findings);
            (written.description, Rule::FileContains { path: written.path, value: written.value })
        }
        "command_exit_code_is" => {
            let written: doc::CommandExitCodeIs = fields(part, findings)?;
            let expected_code = written.expected_code.0;
            (written.description, Rule::CommandExitCodeIs { command: written.command.0, expected_code })
        }
        "trajectory_contains_action" => {
            let written: doc::TrajectoryContainsAction = fields(part, findings)?;
            (written.description, Rule::TrajectoryContainsAction { action: written.action.0 })
        }
        "llm_judge" => judge(fields(part, findings)?, part, findings)?,
        "execution_time" => {
            let written: doc::ExecutionTime = fields(part, findings)?;
            let rule = Rule::ExecutionTime {
                max_duration_ms: written.max_duration_ms.0,
                min_duration_ms: written.min_duration_ms.map(|time| time.0),
                target_duration_ms: written.target_duration_ms.map(|time| time.0),
            };
            check_order(
                written.min_duration_ms.map(|time| time.0),
                Some(written.max_duration_ms.0),
                part,
                "min_duration_ms",
                findings,
            );
            (written.description, rule)
        }
        "conversation_length" => conversation_length(fields(part, findings)?, part, findings),
        "conversation_flow" => {
            let written: doc::ConversationFlow = fields(part, findings)?;
            check_not_empty(written.required_patterns.len(), part, "required_patterns", findings);
            let flow_quality_threshold = written.flow_quality_threshold.0;
            (
                written.description,
                Rule::ConversationFlow { required_patterns: written.required_patterns, flow_quality_threshold },
            )
        }
        "user_satisfaction" => {
            let written: doc::UserSatisfaction = fields(part, findings)?;
            let indicators = written.indicators.unwrap_or_default();
            let rule = Rule::UserSatisfaction {
                satisfaction_threshold: written.satisfaction_threshold.0,
                positive: indicators.positive,
                negative: indicators.negative,
                method: written.measurement_method,
            };
            (written.description, rule)
        }
        "context_retention" => {
            let written: doc::ContextRetention = fields(part, findings)?;
            check_not_empty(written.test_memory_of.len(), part, "test_memory_of", findings);
            let rule = Rule::ContextRetention {
                test_memory_of: written.test_memory_of,
                retention_turns: written.retention_turns.0,
                memory_accuracy_threshold: written.memory_accuracy_threshold.0,
            };
            (written.description, rule)
        }
        unknown => {
            findings.error(part.spot_of("type"), format!("unknown evaluation `{unknown}`"));
            findings.help(suggest::known_names(unknown, KINDS));
            return None;
        }
    })
}

fn fields<T: DeserializeOwned + schemars::JsonSchema>(part: &Part<'_>, findings: &mut Findings) -> Option<T> {
    part.decode_without(&["type"], findings)
}

fn judge(written: doc::LlmJudge, part: &Part<'_>, findings: &mut Findings) -> Option<(Option<String>, Rule)> {
    if written.capabilities.as_ref().is_some_and(Vec::is_empty) {
        findings.error(part.spot_of("capabilities"), "`capabilities` is empty: name at least one, or leave it out");
    }
    let expected = match expected::parse(&written.expected) {
        Ok(expected) => expected,
        Err(fault) => {
            findings.error(part.spot_of("expected"), fault);
            findings.help("`yes`, `no`, `0.8+` (at least), `0.3-` (at most), `0.4-0.6`, or a word of the judgment");
            return None;
        }
    };
    let rule = JudgeRule {
        prompt: written.prompt,
        expected,
        model_type: written.model_type,
        temperature: written.temperature.map(|temperature| temperature.0),
        json_schema: written.json_schema.map(Value::Object),
        capabilities: written.capabilities.unwrap_or_default(),
    };
    Some((written.description, Rule::LlmJudge(rule)))
}

fn conversation_length(
    written: doc::ConversationLength,
    part: &Part<'_>,
    findings: &mut Findings,
) -> (Option<String>, Rule) {
    let number = |count: Option<super::bounded::Count>| count.map(|count| count.0);
    let (min_turns, max_turns) = (number(written.min_turns), number(written.max_turns));
    check_order(min_turns.map(u64::from), max_turns.map(u64::from), part, "min_turns", findings);
    let target_range = written.target_range.map(|(low, high)| (low.0, high.0));
    if let Some((low, high)) = target_range.filter(|(low, high)| low >= high) {
        findings.error(part.spot_of("target_range"), format!("the range [{low}, {high}] must rise"));
    }
    let optimal_turns = number(written.optimal_turns);
    (written.description, Rule::ConversationLength { min_turns, max_turns, optimal_turns, target_range })
}

fn check_pattern(pattern: &str, part: &Part<'_>, findings: &mut Findings) {
    let compiled = regex::RegexBuilder::new(pattern).case_insensitive(true).size_limit(PATTERN_LIMIT).build();
    let Err(error) = compiled else { return };
    let message = match &error {
        regex::Error::CompiledTooBig(_) => "the pattern becomes too large".to_owned(),
        // The last line says what is wrong; those before it draw the pattern.
        other => {
            let text = other.to_string();
            let last = text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            format!("the pattern does not compile: {last}")
        }
    };
    findings.error(part.spot_of("pattern"), message);
    findings.help("patterns run in linear time, so there is no look-around and there are no backreferences");
}

fn check_path(path: &str, part: &Part<'_>, findings: &mut Findings) {
    if let Err(fault) = files::beneath_root(path) {
        findings.error(part.spot_of("path"), format!("`{path}` {fault}"));
    }
}

fn check_order(low: Option<u64>, high: Option<u64>, part: &Part<'_>, low_key: &str, findings: &mut Findings) {
    if let (Some(low), Some(high)) = (low, high)
        && low > high
    {
        findings.error(part.spot_of(low_key), format!("`{low_key}` is {low}, more than the most allowed, {high}"));
    }
}

fn check_not_empty(length: usize, part: &Part<'_>, key: &str, findings: &mut Findings) {
    if length == 0 {
        findings.error(part.spot_of(key), format!("`{key}` is empty, so there is nothing to judge"));
    }
}
