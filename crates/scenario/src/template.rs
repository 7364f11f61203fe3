//! The filters and tests that a template names, also in branches that are seldom taken: minijinja looks them up only when it
//! renders them.

/// A filter or test in a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Used {
    pub name: String,
    pub is_test: bool,
    /// 1-based.
    pub line: usize,
}

impl Used {
    /// A template expression that fails to render exactly as the filter or test does.
    #[must_use]
    pub fn probe(&self) -> String {
        let Self { name, is_test, .. } = self;
        if *is_test { format!("'' is {name}") } else { format!("'' | {name}") }
    }
}

/// All filters and tests of a template, in their order.
#[must_use]
pub fn used(text: &str) -> Vec<Used> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(opening) = text[at..].find('{') {
        let start = at + opening;
        let after = (start + 2).min(text.len());
        let closing = match text.get(start..after) {
            Some("{{") => "}}",
            Some("{%") => "%}",
            Some("{#") => {
                at = text[after..].find("#}").map_or(text.len(), |end| after + end + 2);
                continue;
            }
            _ => {
                at = start + 1;
                continue;
            }
        };
        let mut block = Block { text, at: after, words: Vec::new() };
        block.read(closing, &mut found);
        at = block.at;
        if block.words.first().is_some_and(|word| *word == "raw") && closing == "%}" {
            at = text[at..].find("endraw").map_or(text.len(), |end| at + end);
        }
    }
    found
}

struct Block<'a> {
    text: &'a str,
    at: usize,
    words: Vec<&'a str>,
}

impl Block<'_> {
    /// Reads to the end of the block. Quoted texts are skipped.
    fn read(&mut self, closing: &str, found: &mut Vec<Used>) {
        let mut is_after_pipe = false;
        while let Some(letter) = self.text[self.at..].chars().next() {
            if self.text[self.at..].starts_with(closing) {
                self.at += closing.len();
                return;
            }
            if matches!(letter, '"' | '\'') {
                self.skip_quoted(letter);
                is_after_pipe = false;
                continue;
            }
            if !(letter.is_alphanumeric() || letter == '_') {
                is_after_pipe = letter == '|' || is_after_pipe && letter.is_whitespace();
                self.at += letter.len_utf8();
                continue;
            }
            let rest = &self.text[self.at..];
            let end = rest.find(|it: char| !(it.is_alphanumeric() || it == '_')).unwrap_or(rest.len());
            let word = &rest[..end];
            let is_test = match self.words.as_slice() {
                [.., "is"] => word != "not",
                [.., "is", "not"] => true,
                _ => false,
            };
            let is_filter_block = self.words.as_slice() == ["filter"] && closing == "%}";
            if is_after_pipe || is_test || is_filter_block {
                let line = self.text[..self.at].matches('\n').count() + 1;
                found.push(Used { name: word.to_owned(), is_test: is_test && !is_after_pipe, line });
            }
            self.words.push(word);
            self.at += end;
            is_after_pipe = false;
        }
    }

    fn skip_quoted(&mut self, quote: char) {
        let mut escaped = false;
        let rest = &self.text[self.at + 1..];
        let end = rest.char_indices().find(|(_, letter)| {
            let ends = *letter == quote && !escaped;
            escaped = *letter == '\\' && !escaped;
            ends
        });
        self.at += end.map_or(rest.len(), |(end, _)| end + 1) + 1;
        self.words.push("");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_and_tests_are_found_in_every_branch() {
        let rows = [
            ("plain | text {a | b}", ""),
            ("{{ message }}", ""),
            ("{{ message | upper|trim }}", "upper:1 trim:1"),
            ("{{ 'a | b' ~ \"c \\\" | d\" | e }}", "e:1"),
            ("{% if turn is odd %}\n{{ a | b('|') | c }}\n{% endif %}", "odd?:1 b:2 c:2"),
            ("{% if x is not defined and y is divisibleby(3) %}", "defined?:1 divisibleby?:1"),
            ("{# {{ a | b }} #}{{ a | c }}", "c:1"),
            ("{% raw %}{{ a | b }}{% endraw %}{{ a | c }}", "c:1"),
            ("{% filter upper %}é{% endfilter %}", "upper:1"),
            ("{{ a | b", "b:1"),
            ("{{ 'a", ""),
            ("{", ""),
        ];
        for (text, expected) in rows {
            let shown = |it: Used| format!("{}{}:{}", it.name, if it.is_test { "?" } else { "" }, it.line);
            let found: Vec<String> = used(text).into_iter().map(shown).collect();
            assert_eq!(found.join(" "), expected, "{text}");
        }
    }
}
