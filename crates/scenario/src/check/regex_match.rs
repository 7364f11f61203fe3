//! `regex_match`: the text matches a pattern, and what the pattern captures satisfies checks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    Check,
    kind::Kind,
    place::{Nested, Place},
    question::{self, Question},
};

/// The largest compiled pattern, in bytes. A larger one costs more than any reply is worth.
const MAX_PATTERN_BYTES: usize = 1 << 20;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RegexMatch {
    pub pattern: String,
    #[serde(default)]
    pub case_sensitive: bool,
    /// What the named groups of the first match must satisfy.
    #[serde(default)]
    pub captures: Vec<(String, Vec<Check>)>,
}

/// The text matches a regular expression.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "RegexMatch")]
pub struct Written {
    /// The pattern, searched anywhere in the text.
    pattern: String,
    /// Whether the search is case-sensitive.
    #[serde(default)]
    case_sensitive: bool,
    /// For each named group, `(?<name>…)`, the evaluations of its value in the first match.
    #[serde(default, rename = "captures")]
    #[schemars(with = "std::collections::BTreeMap<String, Vec<Nested>>")]
    _captures: Map<String, Value>,
}

impl Kind for RegexMatch {
    type Written = Written;
    const IS_ABOUT_TEXT: bool = true;

    fn read(written: Written, place: &mut Place<'_, '_>) -> Option<Self> {
        let Written { pattern, case_sensitive, .. } = written;
        let captures = place.named_checks("captures");
        check_pattern(&pattern, &captures, place);
        Some(Self { pattern, case_sensitive, captures })
    }

    fn questions(&self) -> Vec<Question<'_>> {
        self.captures.iter().flat_map(|(_, checks)| question::of_checks(checks)).collect()
    }
}

fn check_pattern(pattern: &str, captures: &[(String, Vec<Check>)], place: &mut Place<'_, '_>) {
    let compiled = regex::RegexBuilder::new(pattern).case_insensitive(true).size_limit(MAX_PATTERN_BYTES).build();
    let error = match compiled {
        Ok(regex) => {
            let groups: Vec<&str> = regex.capture_names().flatten().collect();
            for (name, _) in captures.iter().filter(|(name, _)| !groups.contains(&name.as_str())) {
                let spot = place.part.get("captures").map_or(place.part.spot(), |captures| captures.key_spot(name));
                place.findings.error(spot, format!("the pattern has no group `{name}`"));
                place.findings.help(format!("name a group like this: `(?<{name}>…)`"));
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
    place.error("pattern", message);
    place.help("patterns run in linear time, so look-around and backreferences are not supported");
}
