//! `number`: the only number of the text, or the one at a JSON path, lies in a range.

use std::sync::LazyLock;

use regex::Regex;
use scenario::check;
use serde_json::Value;

use crate::{
    error::Error,
    evaluator::Immediate,
    excerpt::{SHORT_BYTES, excerpt},
    json_lookup::Lookup,
    loose_json,
    outcome::Outcome,
    range,
    subject::Subject,
};

#[derive(Debug)]
pub(crate) struct Number {
    min: Option<f64>,
    max: Option<f64>,
    path: Option<Lookup>,
}

impl Number {
    pub(crate) fn new(rule: &check::Number) -> Result<Self, Error> {
        let check::Number { min, max, path } = rule;
        range::check("min", *min, *max)?;
        Ok(Self { min: *min, max: *max, path: path.as_deref().map(|path| Lookup::new(path, "path")).transpose()? })
    }
}

impl Immediate for Number {
    fn look(&self, subject: &Subject<'_>) -> Outcome {
        let number = match &self.path {
            Some(path) => at(path, subject.reply),
            None => only(subject.reply),
        };
        match number {
            Ok(number) => {
                let high_enough = self.min.is_none_or(|min| number >= min);
                let low_enough = self.max.is_none_or(|max| number <= max);
                let range = range::shown(self.min, self.max);
                let holds = high_enough && low_enough;
                let verb = if holds { "lies" } else { "does not lie" };
                Outcome::decided(holds, format!("{number} {verb} in the range {range}"))
            }
            Err(why) => Outcome::fail(why).with_evidence(subject.reply),
        }
    }
}

fn at(path: &Lookup, text: &str) -> Result<f64, String> {
    let json = loose_json::read(text)?;
    let shown = excerpt(path.written(), SHORT_BYTES);
    let number = |value: &Value| value.as_f64().or_else(|| only(value.as_str()?).ok());
    match path.all(&json).as_slice() {
        [] => Err(format!("there is no `{shown}` in the JSON")),
        [value] => number(value).ok_or_else(|| format!("`{shown}` is not a number")),
        several => Err(format!("`{shown}` selects {} values, one was expected", several.len())),
    }
}

/// `1,234.5` is one number; digits within a word (`B12`) are not a number.
fn only(text: &str) -> Result<f64, String> {
    static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?").expect("the pattern is a constant")
    });
    let mut seen: Option<f64> = None;
    for found in NUMBER.find_iter(text) {
        let before = text[..found.start()].chars().next_back();
        let after = text[found.end()..].chars().next();
        let part_of_a_word = |letter: Option<char>| letter.is_some_and(|one| one.is_alphanumeric() || one == '_');
        if part_of_a_word(before) || part_of_a_word(after) {
            continue;
        }
        let digits = found.as_str().replace(',', "").replace('−', "-");
        let Ok(number) = digits.parse::<f64>() else { continue };
        match seen {
            Some(first) if first != number => {
                return Err(format!("the text holds several numbers ({first}, {number}, …): say which one by `path`"));
            }
            _ => seen = Some(number),
        }
    }
    seen.ok_or_else(|| "the text holds no number".to_owned())
}

#[cfg(test)]
mod tests {
    use super::only;

    #[test]
    fn the_only_number_of_a_text() {
        let rows = [
            ("42", Some(42.0)),
            ("It is 21.5 degrees.", Some(21.5)),
            ("That makes $1,234.50 in all", Some(1234.5)),
            ("-3", Some(-3.0)),
            ("minus −3", Some(-3.0)),
            ("1e3", Some(1000.0)),
            ("Yes, 7. I said 7!", Some(7.0)),
            ("between 3 and 4", None),
            ("vitamin B12", None),
            ("", None),
            ("1,23", None),
        ];
        for (text, expected) in rows {
            assert_eq!(only(text).ok(), expected, "{text:?}");
        }
    }
}
