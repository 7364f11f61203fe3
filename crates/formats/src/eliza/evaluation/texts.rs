//! The kinds that look at a text: its words, its form, its language, how long it is.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{EvaluationDocument, check_values, fields, read_map};
use crate::bounded::{Amount, Words};
use scenario::{
    Rule,
    check::{LengthUnit, RefusalMethod},
};
use yaml::{Findings, Part};

/// The text contains all of the values, or any of them.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Contains {
    /// Words for people.
    description: Option<String>,
    /// What to look for.
    #[schemars(length(min = 1))]
    values: Vec<String>,
    /// Whether one of the values is enough.
    #[serde(default)]
    any: bool,
    /// Whether capitals do not count.
    #[serde(default)]
    ignore_case: bool,
}

/// The text begins with one of the values; white space before it aside.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct StartsWith {
    /// Words for people.
    description: Option<String>,
    /// One of them is enough.
    #[schemars(length(min = 1))]
    values: Vec<String>,
    /// Whether capitals do not count.
    #[serde(default)]
    ignore_case: bool,
}

/// The text ends with one of the values; white space behind it aside.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct EndsWith {
    /// Words for people.
    description: Option<String>,
    /// One of them is enough.
    #[schemars(length(min = 1))]
    values: Vec<String>,
    /// Whether capitals do not count.
    #[serde(default)]
    ignore_case: bool,
}

/// The text is one of the values; white space around it and the kind of line ends aside.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Equals {
    /// Words for people.
    description: Option<String>,
    /// One of them is enough.
    #[schemars(length(min = 1))]
    values: Vec<String>,
    /// Whether capitals do not count.
    #[serde(default)]
    ignore_case: bool,
}

/// There is no text, or nothing but white space.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Empty {
    /// Words for people.
    description: Option<String>,
}

/// The text matches a regular expression.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct RegexMatch {
    /// Words for people.
    description: Option<String>,
    /// Looked for anywhere in the text.
    pattern: String,
    /// Whether capitals count.
    #[serde(default)]
    case_sensitive: bool,
    /// What the named groups, `(?<name>…)`, of the first match must satisfy: name to evaluations.
    #[serde(default, rename = "captures")]
    #[schemars(with = "std::collections::BTreeMap<String, Vec<EvaluationDocument>>")]
    _captures: serde_json::Map<String, Value>,
}

/// The text has neither too few nor too many words, characters, sentences or lines.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Length {
    /// Words for people.
    description: Option<String>,
    /// What is counted.
    #[serde(default = "words")]
    #[schemars(extend("default" = "words"))]
    unit: LengthUnit,
    /// The fewest.
    min: Option<Amount>,
    /// The most.
    max: Option<Amount>,
}

/// The text's only number, or the one at a JSON path, lies in a range.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Number {
    /// Words for people.
    description: Option<String>,
    /// The least.
    min: Option<f64>,
    /// The most.
    max: Option<f64>,
    /// Where the number stands if the text is JSON: `price`, `items[0].price` or `$..price`.
    path: Option<Words>,
}

/// The text is written in a language. A text too short to tell is inconclusive.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Language {
    /// Words for people.
    description: Option<String>,
    /// Its ISO 639 code: `en`, `deu`.
    code: Words,
}

/// The agent declined to do what it was asked for.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Refusal {
    /// Words for people.
    description: Option<String>,
    /// How that is found out.
    #[serde(default)]
    #[schemars(extend("default" = "llm_judge"))]
    method: RefusalMethod,
}

pub(super) fn read(kind: &str, part: &Part<'_>, findings: &mut Findings) -> Option<(Option<String>, Rule)> {
    Some(match kind {
        "contains" => {
            let Contains { description, values, any, ignore_case } = fields(part, findings)?;
            check_values(&values, part, "values", findings);
            (description, Rule::Contains { values, any, ignore_case })
        }
        "starts_with" => {
            let StartsWith { description, values, ignore_case } = fields(part, findings)?;
            check_values(&values, part, "values", findings);
            (description, Rule::StartsWith { values, ignore_case })
        }
        "ends_with" => {
            let EndsWith { description, values, ignore_case } = fields(part, findings)?;
            check_values(&values, part, "values", findings);
            (description, Rule::EndsWith { values, ignore_case })
        }
        "equals" => {
            let Equals { description, values, ignore_case } = fields(part, findings)?;
            super::check_not_empty(values.len(), part, "values", findings);
            (description, Rule::Equals { values, ignore_case })
        }
        "empty" => {
            let Empty { description } = fields(part, findings)?;
            (description, Rule::Empty)
        }
        "regex_match" => {
            let RegexMatch { description, pattern, case_sensitive, .. } = fields(part, findings)?;
            let captures = read_map(part, "captures", findings);
            super::check_pattern(&pattern, &captures, part, findings);
            (description, Rule::RegexMatch { pattern, case_sensitive, captures })
        }
        "length" => {
            let Length { description, unit, min, max } = fields(part, findings)?;
            let (min, max) = (min.map(|min| min.0), max.map(|max| max.0));
            super::check_range(min, max, part, findings);
            (description, Rule::Length { unit, min, max })
        }
        "number" => {
            let Number { description, min, max, path } = fields(part, findings)?;
            super::check_range(min, max, part, findings);
            (description, Rule::Number { min, max, path: path.map(|path| path.0) })
        }
        "language" => {
            let Language { description, code } = fields(part, findings)?;
            (description, Rule::Language { code: code.0 })
        }
        _ => {
            let Refusal { description, method } = fields(part, findings)?;
            (description, Rule::Refusal { method })
        }
    })
}

fn words() -> LengthUnit {
    LengthUnit::Words
}
