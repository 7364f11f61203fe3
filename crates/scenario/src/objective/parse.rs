//! The grammar of objectives, read by recursive descent. docs/load.md has it in full.

use std::fmt;

use yaml::suggest;

use super::{COMPARISONS, Comparison, Figure, Filter, NUMBERS, Objective, PARTS, Part, Statistic, TIMES};
use crate::time;

/// The shortest stretch: shorter ones have too few turns to say anything.
const LEAST_WINDOW_MICROS: u64 = 1_000_000;
/// The longest text, so that reasons and pages stay short.
const MOST_CHARS: usize = 300;

/// Where the text of an objective is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// From 1, in characters.
    pub column: usize,
    pub expected: String,
    /// Empty at the end of the text.
    pub found: String,
    pub hint: Option<String>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = if self.found.is_empty() { "the end".to_owned() } else { format!("{:?}", self.found) };
        write!(f, "expected {} at column {}, found {found}", self.expected, self.column)
    }
}

impl std::error::Error for Fault {}

pub(super) fn read(text: &str) -> Result<Objective, Fault> {
    let mut reader = Reader { text, at: 0 };
    if text.chars().count() > MOST_CHARS {
        return Err(reader.fault(&format!("at most {MOST_CHARS} characters"), text.get(..20).unwrap_or(""), None));
    }
    reader.objective()
}

/// Whether a value of a filter needs no quotes.
pub(super) fn is_bare(value: &str) -> bool {
    !value.is_empty() && value.trim() == value && !value.contains([',', '}', '"', '\\']) && !value.starts_with('\'')
}

struct Reader<'a> {
    text: &'a str,
    /// In bytes, always between two characters.
    at: usize,
}

impl<'a> Reader<'a> {
    /// `figure [ "{" filters "}" ] comparison bound [ "for" time ] { "," option }`
    fn objective(&mut self) -> Result<Objective, Fault> {
        let figure = self.figure()?;
        let filters = if self.take("{") { self.filters()? } else { Vec::new() };
        let comparison = self.comparison(figure)?;
        let bound = self.bound(figure)?;
        let mut objective =
            Objective { figure, filters, comparison, bound, window_micros: None, delay_micros: 0, abort: false };
        if self.peek_word() == "for" {
            self.word();
            let before = self.start();
            let window = self.time("the length of a stretch such as 60s")?;
            if window < LEAST_WINDOW_MICROS {
                let found = self.text[before..self.at].to_owned();
                self.at = before;
                return Err(self.fault("at least 1s", &found, None));
            }
            objective.window_micros = Some(window);
        }
        let options = self.start();
        while self.take(",") {
            self.option(&mut objective)?;
        }
        if self.start() < self.text.len() {
            let hint = match self.peek_word() {
                "within" | "over" => Some("write `for 60s`: it must hold in every stretch of 60 s".to_owned()),
                "abort" | "delay" => Some("put a comma before it".to_owned()),
                _ => None,
            };
            return Err(self.unexpected("`for`, a comma or the end", hint));
        }
        if objective.delay_micros > 0 && !objective.abort && objective.window_micros.is_none() {
            self.at = options;
            let hint = "without them the objective is judged once, when the run is over".to_owned();
            return Err(self.unexpected("`for` or `abort` beside `delay`", Some(hint)));
        }
        Ok(objective)
    }

    fn figure(&mut self) -> Result<Figure, Fault> {
        let before = self.start();
        let word = self.word();
        if let Some(figure) = find(&NUMBERS, word) {
            return Ok(figure);
        }
        if let Some(of) = find(&TIMES, word) {
            self.at = before;
            let hint = format!("write p99({word}), mean({word}) or max({word})");
            return Err(self.fault("a statistic of the times", name(&TIMES, of), Some(hint)));
        }
        let Some(statistic) = statistic(word) else {
            self.at = before;
            let known = NUMBERS.iter().map(|(name, _)| *name).chain(["p99(ttft)", "mean(response)", "max(response)"]);
            let hint = match word.starts_with(['p', 'P']) && word.len() > 1 && word.as_bytes()[1].is_ascii_digit() {
                true => "a percentile is from p0.001 to p99.999".to_owned(),
                false => suggest::known_names(word, known.collect::<Vec<_>>()),
            };
            return Err(self.unexpected("a figure", Some(hint)));
        };
        if !self.take("(") {
            let hint = format!("write {word}(ttft) or {word}(response)");
            return Err(self.unexpected("`(` and the name of a time", Some(hint)));
        }
        let before = self.start();
        let time = self.word();
        let Some(of) = find(&TIMES, time) else {
            self.at = before;
            let hint = match time.starts_with(|letter: char| letter.is_ascii_digit()) {
                true => format!("write the percentile before the bracket: p{time}(ttft)"),
                false => suggest::known_names(time, TIMES.map(|(name, _)| name)),
            };
            return Err(self.unexpected("a time of turns", Some(hint)));
        };
        if !self.take(")") {
            return Err(self.unexpected("`)`", None));
        }
        Ok(Figure::Time { of, statistic })
    }

    fn filters(&mut self) -> Result<Vec<Filter>, Fault> {
        let mut filters = Vec::new();
        loop {
            let before = self.start();
            let word = self.word();
            let Some(part) = find(&PARTS, word) else {
                self.at = before;
                return Err(
                    self.unexpected("what to filter by", Some(suggest::known_names(word, PARTS.map(|(name, _)| name))))
                );
            };
            if !self.take("=") {
                return Err(self.unexpected("`=`", Some(format!("write {{{word}=VALUE}}"))));
            }
            filters.push(Filter { part, value: self.value(part)? });
            if self.take("}") {
                return Ok(filters);
            }
            if !self.take(",") {
                return Err(self.unexpected("`,` or `}`", None));
            }
        }
    }

    /// In quotes, or up to the next comma or bracket.
    fn value(&mut self, part: Part) -> Result<String, Fault> {
        let start = self.start();
        if !self.take("\"") {
            let rest = &self.text[start..];
            let value = rest[..rest.find([',', '}']).unwrap_or(rest.len())].trim_end();
            self.at += value.len();
            if is_bare(value) {
                return Ok(value.to_owned());
            }
            self.at = start;
            let hint = Some("put a value with commas, brackets or quotes in double quotes".to_owned());
            return Err(self.unexpected(&format!("the name of a {}", name(&PARTS, part)), hint));
        }
        let mut value = String::new();
        let mut letters = self.text[self.at..].char_indices();
        while let Some((index, letter)) = letters.next() {
            match letter {
                '"' => {
                    self.at += index + 1;
                    return Ok(value);
                }
                '\\' => value.extend(letters.next().map(|(_, letter)| letter)),
                letter => value.push(letter),
            }
        }
        self.at = self.text.len();
        Err(self.unexpected("the closing quote", None))
    }

    fn comparison(&mut self, figure: Figure) -> Result<Comparison, Fault> {
        let before = self.start();
        let Some((_, comparison)) = COMPARISONS.into_iter().find(|(sign, _)| self.take(sign)) else {
            let hint = (self.text[before..].starts_with('=')).then(|| "write `==`".to_owned());
            return Err(self.unexpected("a comparison such as `<` or `>=`", hint));
        };
        if matches!(figure, Figure::Time { .. }) && matches!(comparison, Comparison::Equal | Comparison::NotEqual) {
            self.at = before;
            return Err(self.fault("`<`, `<=`, `>` or `>=`", comparison.sign(), None));
        }
        Ok(comparison)
    }

    fn bound(&mut self, figure: Figure) -> Result<f64, Fault> {
        if matches!(figure, Figure::Time { .. }) {
            // Microseconds of at most 31 days: a double holds them exactly.
            return Ok(self.time("a time with its unit such as 2s or 500ms")? as f64);
        }
        let before = self.start();
        let word = self.word();
        let (digits, is_percent) = match word.strip_suffix('%') {
            Some(digits) => (digits, true),
            None => (word, false),
        };
        let plain = digits.starts_with(|letter: char| letter.is_ascii_digit());
        let number: Option<f64> = digits.parse().ok().filter(|number: &f64| plain && number.is_finite());
        let (expected, value) = match figure {
            Figure::Share(_) => {
                let share = number.map(|number| if is_percent { number / 100.0 } else { number });
                ("a share such as 0.95 or 95%", share.filter(|share| (0.0..=1.0).contains(share)))
            }
            Figure::Count(_) => ("a whole number", number.filter(|number| !is_percent && number.fract() == 0.0)),
            Figure::TokensPerConversation => ("a number of tokens such as 2000", number.filter(|_| !is_percent)),
            _ => ("a number of US dollars such as 20", number.filter(|_| !is_percent)),
        };
        value.filter(|value| *value < 1e15).ok_or_else(|| {
            self.at = before;
            let hint = number.filter(|number| matches!(figure, Figure::Share(_)) && *number > 1.0);
            self.unexpected(expected, hint.filter(|_| !is_percent).map(|number| format!("write {number}%")))
        })
    }

    fn option(&mut self, objective: &mut Objective) -> Result<(), Fault> {
        let before = self.start();
        match self.word() {
            "abort" => objective.abort = true,
            "delay" => objective.delay_micros = self.time("a time such as 30s")?,
            other => {
                let hint = suggest::known_names(other, ["abort", "delay"]);
                self.at = before;
                return Err(self.unexpected("`abort` or `delay 30s`", Some(hint)));
            }
        }
        Ok(())
    }

    fn time(&mut self, expected: &str) -> Result<u64, Fault> {
        let before = self.start();
        let word = self.word();
        // 0 needs no unit, and is no time that anything could take.
        match time::read(word) {
            Ok(micros) if micros > 0 => Ok(micros),
            _ => {
                self.at = before;
                let is_number = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
                let hint = is_number.then(|| format!("write {word}ms or {word}s"));
                Err(self.unexpected(expected, hint))
            }
        }
    }

    /// Skips blanks.
    fn start(&mut self) -> usize {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.at
    }

    fn take(&mut self, sign: &str) -> bool {
        let start = self.start();
        let found = self.text[start..].starts_with(sign);
        self.at += if found { sign.len() } else { 0 };
        found
    }

    fn peek_word(&mut self) -> &'a str {
        let rest = &self.text[self.start()..];
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '%');
        &rest[..rest.find(|letter| !is_part(letter)).unwrap_or(rest.len())]
    }

    /// Letters, digits, `_`, `.` and `%`; empty if there are none.
    fn word(&mut self) -> &'a str {
        let word = self.peek_word();
        self.at += word.len();
        word
    }

    /// At the word, or the letter, that comes next.
    fn unexpected(&mut self, expected: &str, hint: Option<String>) -> Fault {
        let word = self.peek_word();
        let letter = self.text[self.at..].chars().next().map(String::from).unwrap_or_default();
        let found = if word.is_empty() { letter.as_str() } else { word };
        self.fault(expected, found, hint)
    }

    fn fault(&self, expected: &str, found: &str, hint: Option<String>) -> Fault {
        let column = self.text[..self.at].chars().count() + 1;
        Fault { column, expected: expected.to_owned(), found: found.to_owned(), hint }
    }
}

fn find<T: Copy>(names: &[(&str, T)], word: &str) -> Option<T> {
    names.iter().find(|(name, _)| *name == word).map(|(_, one)| *one)
}

fn name<T: PartialEq>(names: &[(&'static str, T)], wanted: T) -> &'static str {
    super::name_of(names, wanted)
}

/// `p99.9`, and the names of k6.
fn statistic(word: &str) -> Option<Statistic> {
    match word {
        "mean" | "avg" => return Some(Statistic::Mean),
        "max" => return Some(Statistic::Max),
        "med" => return Some(Statistic::Percentile(50_000)),
        _ => {}
    }
    let digits = word.strip_prefix('p').filter(|digits| digits.starts_with(|letter: char| letter.is_ascii_digit()))?;
    let thousandths = (digits.parse::<f64>().ok()? * 1_000.0).round();
    // A percentile with more decimals would be another one.
    (1.0..100_000.0).contains(&thousandths).then_some(Statistic::Percentile(thousandths as u32))
}

#[cfg(test)]
mod tests;
