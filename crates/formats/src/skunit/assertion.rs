//! `### CHECK <type>`: the names of the types, and their rules.

use scenario::{Check, Rule, check};
use yaml::suggest;

/// A type of assertion, under whichever of its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Condition,
    Similar,
    ContainsAll,
    ContainsAny,
    Equals,
    IsAnyOf,
    Empty,
    NotEmpty,
    JsonCheck,
    FunctionCall,
}

/// The first name of each is the suggested one.
const NAMES: &[(Kind, &[&str])] = &[
    (Kind::Condition, &["SemanticCondition", "Semantic-Condition", "Condition"]),
    (Kind::Similar, &["SemanticSimilar", "Semantic-Similar", "Similar"]),
    (Kind::ContainsAll, &["ContainsAll", "Contains", "Contain", "ContainsText"]),
    (Kind::ContainsAny, &["ContainsAny", "ContainsAnyOf"]),
    (Kind::Equals, &["Equal", "Equals", "ExactMatch"]),
    (Kind::IsAnyOf, &["IsAnyOf", "AnyOf", "OneOf"]),
    (Kind::Empty, &["Empty", "IsEmpty"]),
    (Kind::NotEmpty, &["NotEmpty", "HasValue"]),
    (Kind::JsonCheck, &["JsonCheck", "JsonStructure", "Json"]),
    (Kind::FunctionCall, &["FunctionCall", "FunctionInvocation", "ToolCall"]),
];

impl Kind {
    /// Names are compared without case; an empty name means [`Kind::Similar`].
    ///
    /// # Errors
    /// A help text for an unknown name.
    pub(super) fn named(name: &str) -> Result<Self, String> {
        if name.is_empty() {
            return Ok(Self::Similar);
        }
        let known = NAMES.iter().find(|(_, names)| names.iter().any(|known| known.eq_ignore_ascii_case(name)));
        known.map(|(kind, _)| *kind).ok_or_else(|| {
            let all = || NAMES.iter().flat_map(|(_, names)| names.iter().copied());
            suggest::did_you_mean(name, all()).unwrap_or_else(|| {
                let first: Vec<&str> = NAMES.iter().map(|(_, names)| names[0]).collect();
                format!("known: {}", first.join(", "))
            })
        })
    }

    pub(super) fn name(self) -> &'static str {
        NAMES.iter().find(|(kind, _)| *kind == self).map_or("", |(_, names)| names[0])
    }

    /// The check of a text against values, for kinds that need nothing else.
    ///
    /// # Errors
    /// The expected form, as a fragment.
    pub(super) fn check(self, values: &[String], line: u32) -> Result<Check, String> {
        let one = || match values {
            [value] if !value.trim().is_empty() => Ok(value.trim().to_owned()),
            [_] | [] => Err(format!("`{}` needs a text to compare with", self.name())),
            more => Err(format!("`{}` takes one text, found {}", self.name(), more.len())),
        };
        let rule = match self {
            Self::Condition => Rule::SemanticCondition(check::SemanticCondition { condition: one()? }),
            Self::Similar => Rule::SemanticSimilar(check::SemanticSimilar { expected: vec![one()?], threshold: None }),
            Self::Equals => Rule::Equals(check::Equals { values: vec![one()?], ignore_case: false }),
            Self::IsAnyOf => Rule::Equals(check::Equals { values: self.list(values)?, ignore_case: false }),
            Self::ContainsAll => {
                Rule::Contains(check::Contains { values: self.list(values)?, any: false, ignore_case: false })
            }
            Self::ContainsAny => {
                Rule::Contains(check::Contains { values: self.list(values)?, any: true, ignore_case: false })
            }
            Self::Empty | Self::NotEmpty if values.iter().any(|value| !value.trim().is_empty()) => {
                return Err(format!("`{}` takes no text", self.name()));
            }
            Self::Empty | Self::NotEmpty => Rule::Empty(check::Empty {}),
            Self::JsonCheck | Self::FunctionCall => {
                return Err(format!("`{}` cannot stand within another check", self.name()));
            }
        };
        let check = Check::new(rule, line);
        Ok(if self == Self::NotEmpty { check.negated() } else { check })
    }

    /// A single text is split at commas, including the Arabic comma; several texts stay as they are.
    fn list(self, values: &[String]) -> Result<Vec<String>, String> {
        let pieces: Vec<&str> = match values {
            [only] => only.split([',', '،']).collect(),
            more => more.iter().map(String::as_str).collect(),
        };
        let list: Vec<String> =
            pieces.into_iter().map(str::trim).filter(|piece| !piece.is_empty()).map(str::to_owned).collect();
        if list.is_empty() {
            return Err(format!("`{}` needs at least one text, and they are all empty", self.name()));
        }
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_in_any_case_is_its_kind() {
        for (kind, names) in NAMES {
            for name in *names {
                assert_eq!(Kind::named(name), Ok(*kind));
                assert_eq!(Kind::named(&name.to_uppercase()), Ok(*kind));
            }
        }
        assert_eq!(Kind::named(""), Ok(Kind::Similar));
        assert_eq!(Kind::named("SemanticConditon").unwrap_err(), "did you mean `SemanticCondition`?");
        assert!(Kind::named("GreaterThan").unwrap_err().starts_with("known: SemanticCondition, "));
    }

    #[test]
    fn lists_are_split_once_and_never_empty() {
        let list = |values: &[&str]| {
            let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
            Kind::ContainsAny.list(&values)
        };
        assert_eq!(list(&["happy, day ،good,,"]).unwrap(), ["happy", "day", "good"]);
        assert_eq!(list(&["a, b", " c "]).unwrap(), ["a, b", "c"]);
        assert!(list(&[" , "]).is_err() && list(&[]).is_err());
    }
}
