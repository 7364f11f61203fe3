//! A tokenizer of PostgreSQL's SQL that reads as the server does: comments nest, names fold, and strings have five
//! forms.
//!
//! A check of SQL by these tokens must see everything that the server sees. Anything that could hide something, such as
//! a name in Unicode escapes, is a token of its own, which the check refuses.

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// A keyword or a name without quotes, in lower case.
    Word(String),
    /// A name in quotes.
    Name(String),
    /// A string in quotes or between dollar signs, without the delimiters.
    Text(String),
    /// Something with two readings; the text describes it.
    Unclear(&'static str),
    Sign(char),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Placed {
    pub token: Token,
    /// From 1.
    pub line: usize,
}

pub(super) fn tokens(sql: &str) -> Vec<Placed> {
    let mut reader = Reader { text: sql, at: 0 };
    let mut found = Vec::new();
    let (mut line, mut counted) = (1, 0);
    loop {
        reader.skip_blanks();
        let start = reader.at;
        let Some(token) = reader.token() else { return found };
        line += sql[counted..start].matches('\n').count();
        counted = start;
        found.push(Placed { token, line });
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn take(&mut self) -> Option<char> {
        let next = self.rest().chars().next()?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// White space and comments.
    fn skip_blanks(&mut self) {
        loop {
            let rest = self.rest();
            if rest.starts_with("--") {
                self.at += rest.find(['\n', '\r']).unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                self.skip_comment();
            } else if rest.starts_with([' ', '\t', '\n', '\r', '\u{b}', '\u{c}']) {
                self.at += 1;
            } else {
                return;
            }
        }
    }

    fn skip_comment(&mut self) {
        let mut depth = 0;
        while !self.rest().is_empty() {
            match self.rest() {
                rest if rest.starts_with("/*") => (depth, self.at) = (depth + 1, self.at + 2),
                rest if rest.starts_with("*/") => (depth, self.at) = (depth - 1, self.at + 2),
                _ => drop(self.take()),
            }
            if depth == 0 {
                return;
            }
        }
    }

    fn token(&mut self) -> Option<Token> {
        let rest = self.rest();
        let mut characters = rest.chars();
        let (first, second, third) = (characters.next()?, characters.next(), characters.next());
        let token = match (first, second, third) {
            ('\'', ..) => self.quoted(0),
            ('"', ..) => self.name(),
            ('e' | 'E', Some('\''), _) => self.escaped(),
            ('n' | 'N' | 'b' | 'B' | 'x' | 'X', Some('\''), _) => self.quoted(1),
            ('u' | 'U', Some('&'), Some('\'' | '"')) => {
                self.at += 2;
                if third == Some('"') {
                    self.name()
                } else {
                    self.quoted(0)
                };
                Token::Unclear("a name or text in Unicode escapes (U&)")
            }
            ('$', ..) => self.dollars(),
            (first, ..) if begins_word(first) => self.word(),
            _ => {
                self.at += first.len_utf8();
                Token::Sign(first)
            }
        };
        Some(token)
    }

    fn word(&mut self) -> Token {
        let rest = self.rest();
        let end = rest.find(|next| !in_word(next)).unwrap_or(rest.len());
        self.at += end;
        // Servers with an eight-bit encoding fold some letters to letters of ASCII.
        let fold = |letter| match letter {
            '\u{130}' => 'i',
            '\u{212a}' => 'k',
            '\u{17f}' => 's',
            other => other.to_ascii_lowercase(),
        };
        Token::Word(rest[..end].chars().map(fold).collect())
    }

    fn name(&mut self) -> Token {
        self.at += 1;
        let mut name = String::new();
        while let Some(next) = self.take() {
            match next {
                '"' if self.rest().starts_with('"') => self.at += 1,
                '"' => return Token::Name(name),
                _ => {}
            }
            name.push(next);
        }
        Token::Unclear("a name without an end")
    }

    /// `prefix` letters before the quote.
    fn quoted(&mut self, prefix: usize) -> Token {
        self.at += prefix;
        let mut text = String::new();
        loop {
            self.at += 1;
            loop {
                match self.take() {
                    Some('\'') if self.rest().starts_with('\'') => {
                        self.at += 1;
                        text.push('\'');
                    }
                    Some('\'') => break,
                    // Under another setting, the backslash takes the quote's meaning.
                    Some('\\') if self.rest().starts_with('\'') => {
                        return self.unclear("a backslash before a quote");
                    }
                    Some(other) => text.push(other),
                    None => return Token::Unclear("a text without an end"),
                }
            }
            if !self.continues() {
                return Token::Text(text);
            }
        }
    }

    /// `E'…'`, where a backslash escapes.
    fn escaped(&mut self) -> Token {
        self.at += 1;
        let mut text = String::new();
        loop {
            self.at += 1;
            loop {
                match self.take() {
                    Some('\'') if self.rest().starts_with('\'') => {
                        self.at += 1;
                        text.push('\'');
                    }
                    Some('\'') => break,
                    Some('\\') => match self.take() {
                        Some('0'..='9' | 'u' | 'U' | 'x') => return self.unclear("a text in numbered escapes (E'…')"),
                        Some('b' | 'f' | 'n' | 'r' | 't') => text.push('\n'),
                        Some(other) => text.push(other),
                        None => return Token::Unclear("a text without an end"),
                    },
                    Some(other) => text.push(other),
                    None => return Token::Unclear("a text without an end"),
                }
            }
            if !self.continues() {
                return Token::Text(text);
            }
        }
    }

    /// Stops reading, since the end of this token is unclear.
    fn unclear(&mut self, what: &'static str) -> Token {
        self.at = self.text.len();
        Token::Unclear(what)
    }

    /// A string continues in the next quotes if only white space is between them.
    fn continues(&mut self) -> bool {
        let end = self.at;
        self.skip_blanks();
        let continues = self.rest().starts_with('\'');
        if !continues {
            self.at = end;
        }
        continues
    }

    /// `$tag$…$tag$`, or a parameter.
    fn dollars(&mut self) -> Token {
        let rest = self.rest();
        let tag = rest[1..].find('$').map(|end| &rest[..end + 2]).filter(|tag| {
            let inner = &tag[1..tag.len() - 1];
            inner.chars().next().is_none_or(begins_word) && inner.chars().all(in_word)
        });
        let Some(tag) = tag else {
            self.at += 1;
            return Token::Sign('$');
        };
        let body = &rest[tag.len()..];
        let Some(end) = body.find(tag) else { return self.unclear("a text without an end") };
        self.at += tag.len() + end + tag.len();
        Token::Text(body[..end].to_owned())
    }
}

fn begins_word(character: char) -> bool {
    character.is_ascii_alphabetic() || character == '_' || !character.is_ascii()
}

fn in_word(character: char) -> bool {
    begins_word(character) || character.is_ascii_digit() || character == '$'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(sql: &str) -> Vec<Token> {
        tokens(sql).into_iter().map(|placed| placed.token).collect()
    }

    fn word(text: &str) -> Token {
        Token::Word(text.to_owned())
    }

    fn text(text: &str) -> Token {
        Token::Text(text.to_owned())
    }

    #[test]
    fn words_are_found_through_comments_case_and_quotes() {
        for sql in ["COPY", "/* a /* b */ c */CoPy-- x", "-- '\ncopy", "--\rcopy", "/**/copy/*"] {
            assert_eq!(read(sql), [word("copy")], "{sql}");
        }
        assert_eq!(read("+--x\n*/*y*/z"), [Token::Sign('+'), Token::Sign('*'), word("z")]);
        assert_eq!(read("\"Co\"\"py\""), [Token::Name("Co\"py".to_owned())]);
        assert_eq!(read("a$b$ 1e"), [word("a$b$"), Token::Sign('1'), word("e")]);
        assert_eq!(read("pg_f\u{130}le"), [word("pg_file")]);
    }

    #[test]
    fn texts_end_as_on_the_server() {
        for (sql, expected) in [
            ("'a''b' x", "a'b"),
            ("'a\\' x", "a\\"),
            ("E'a\\'b' x", "a'b"),
            ("N'a' x", "a"),
            ("'a' -- and\n 'b' x", "ab"),
            ("E'a'\n'\\'' x", "a'"),
            ("$$a'b$$ x", "a'b"),
            ("$t$a$$b$t$ x", "a$$b"),
        ] {
            // A backslash before the closing quote, which another setting reads as an escape.
            if expected.ends_with('\\') {
                assert_eq!(read(sql), [Token::Unclear("a backslash before a quote")], "{sql}");
            } else {
                assert_eq!(read(sql), [text(expected), word("x")], "{sql}");
            }
        }
        for sql in ["U&'a\\0041'", "u&\"a\"", "E'\\x41'", "'a", "$a$b", "\"a"] {
            assert!(matches!(read(sql)[..], [Token::Unclear(_)]), "{sql}: {:?}", read(sql));
        }
    }

    #[test]
    fn lines_are_counted() {
        let lines: Vec<usize> = tokens("a\n'b\nc' d /*\n*/ e").iter().map(|placed| placed.line).collect();
        assert_eq!(lines, [1, 2, 3, 4]);
    }
}
