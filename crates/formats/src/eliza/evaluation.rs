//! `evaluations`: the kinds of check, told apart by their `type`.

mod combined;
mod document;
mod generic;
mod judged;
mod limits;
mod structured;
mod texts;

use serde::de::DeserializeOwned;
use serde_json::Value;

pub(crate) use document::EvaluationDocument;

use super::{expected, files};
use document as doc;
use scenario::{Check, Rule, check::JudgeRule};
use yaml::{Findings, Part, suggest};

/// The largest compiled pattern, in bytes: beyond it a pattern costs more than any reply is worth.
pub(crate) const PATTERN_LIMIT: usize = 1 << 20;

/// All kinds, in the order in which they are documented.
pub(super) const KINDS: [&str; 35] = [
    "string_contains",
    "contains",
    "starts_with",
    "ends_with",
    "equals",
    "empty",
    "any_of",
    "regex_match",
    "length",
    "number",
    "language",
    "refusal",
    "json_check",
    "json_path",
    "json_schema",
    "tool_calls",
    "trajectory_contains_action",
    "telephony_events",
    "call",
    "answer_id",
    "semantic_condition",
    "semantic_similar",
    "similarity",
    "llm_judge",
    "rubric",
    "execution_time",
    "latency",
    "spend",
    "conversation_length",
    "conversation_flow",
    "user_satisfaction",
    "context_retention",
    "file_exists",
    "file_contains",
    "command_exit_code_is",
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
            let written = part.entries().into_iter().map(|(key, _)| key);
            let help = suggest::misspelt("type", written);
            findings.help(help.unwrap_or_else(|| format!("known: {}", KINDS.join(", "))));
            return None;
        }
        None => {
            findings.error(part.spot(), "expected an evaluation: a mapping with a `type`");
            return None;
        }
    };
    let (description, rule) = rule(kind, part, findings)?;
    let check = Check { description, ..Check::new(rule, part.line()) };
    Some(generic::read(check, part, findings))
}

/// Decodes the fields of one kind. The fields see neither `type`, which chose them, nor each other's kinds.
fn rule(kind: &str, part: &Part<'_>, findings: &mut Findings) -> Option<(Option<String>, Rule)> {
    Some(match kind {
        "string_contains" => {
            let written: doc::StringContains = fields(part, findings)?;
            let case_sensitive = written.case_sensitive;
            (written.description, Rule::StringContains { value: written.value, case_sensitive })
        }
        "contains" | "starts_with" | "ends_with" | "equals" | "empty" | "regex_match" | "length" | "number"
        | "language" | "refusal" => texts::read(kind, part, findings)?,
        "json_check" | "json_path" | "json_schema" | "tool_calls" => structured::read(kind, part, findings)?,
        "semantic_condition" | "semantic_similar" | "similarity" | "rubric" => judged::read(kind, part, findings)?,
        "any_of" | "telephony_events" | "call" | "answer_id" => combined::read(kind, part, findings)?,
        "latency" | "spend" => limits::read(kind, part, findings)?,
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

fn fields<T: DeserializeOwned + schemars::JsonSchema + 'static>(part: &Part<'_>, findings: &mut Findings) -> Option<T> {
    let [negate, weight, required] = generic::KEYS;
    part.decode_without(&["type", negate, weight, required], findings)
}

/// The checks of a value that an evaluation takes out of the text.
fn read_text_checks(parts: &[Part<'_>], findings: &mut Findings) -> Vec<Check> {
    let mut checks = Vec::with_capacity(parts.len());
    for part in parts {
        let Some(check) = read(part, findings) else { continue };
        if !check.rule.is_about_text() {
            let message = format!("`{}` is not about a text, so it cannot stand within another one", check.rule.kind());
            findings.error(part.spot_of("type"), message);
            findings.help("within another one stand `equals`, `contains`, `regex_match`, `number` and the like");
        }
        generic::warn_within(part, findings);
        checks.push(check);
    }
    checks
}

/// The list of checks under a key.
fn read_within(part: &Part<'_>, key: &str, findings: &mut Findings) -> Vec<Check> {
    read_text_checks(&part.items_of(key), findings)
}

/// The mapping of names to lists of checks under a key.
fn read_map(part: &Part<'_>, key: &str, findings: &mut Findings) -> Vec<(String, Vec<Check>)> {
    let entries = part.get(key).map_or_else(Vec::new, |part| part.entries());
    let mut lists = Vec::with_capacity(entries.len());
    for (name, list) in entries {
        if list.items().is_empty() {
            findings.error(list.spot(), format!("expected a list of evaluations for `{name}`"));
            findings.help("as in `[{type: equals, values: [Lisbon]}]`");
        }
        lists.push((name.to_owned(), read_text_checks(&list.items(), findings)));
    }
    lists
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
    let number = |count: Option<crate::bounded::Count>| count.map(|count| count.0);
    let (min_turns, max_turns) = (number(written.min_turns), number(written.max_turns));
    check_order(min_turns.map(u64::from), max_turns.map(u64::from), part, "min_turns", findings);
    let target_range = written.target_range.map(|(low, high)| (low.0, high.0));
    if let Some((low, high)) = target_range.filter(|(low, high)| low >= high) {
        findings.error(part.spot_of("target_range"), format!("the range [{low}, {high}] must rise"));
    }
    let optimal_turns = number(written.optimal_turns);
    (written.description, Rule::ConversationLength { min_turns, max_turns, optimal_turns, target_range })
}

fn check_pattern(pattern: &str, captures: &[(String, Vec<Check>)], part: &Part<'_>, findings: &mut Findings) {
    let compiled = regex::RegexBuilder::new(pattern).case_insensitive(true).size_limit(PATTERN_LIMIT).build();
    let error = match compiled {
        Ok(regex) => {
            let groups: Vec<&str> = regex.capture_names().flatten().collect();
            for (name, _) in captures.iter().filter(|(name, _)| !groups.contains(&name.as_str())) {
                let spot = part.get("captures").map_or(part.spot(), |captures| captures.key_spot(name));
                findings.error(spot, format!("the pattern has no group `{name}`"));
                findings.help(format!("a group is named so: `(?<{name}>…)`"));
            }
            return;
        }
        Err(error) => error,
    };
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

/// A list of texts: none is none to look for, and an empty one is found everywhere.
fn check_values(values: &[String], part: &Part<'_>, key: &str, findings: &mut Findings) {
    check_not_empty(values.len(), part, key, findings);
    if values.iter().any(|value| value.trim().is_empty()) {
        findings.error(part.spot_of(key), format!("`{key}` holds an empty text, which every text would satisfy"));
    }
}

/// One end must be written, and the range must hold something.
fn check_range<N: PartialOrd + std::fmt::Display>(
    min: Option<N>,
    max: Option<N>,
    part: &Part<'_>,
    findings: &mut Findings,
) {
    match (min, max) {
        (None, None) => {
            findings.error(part.spot(), "there is no range: expected `min` or `max`");
        }
        (Some(min), Some(max)) if min > max => {
            findings.error(part.spot_of("min"), format!("`min` is {min}, more than the most allowed, {max}"));
        }
        _ => {}
    }
}
