//! The characters of an expression: names, marks, texts in quotes, and the places of errors.

use super::Parser;
use crate::mock::expression::error::Error;

impl<'a> Parser<'a> {
    pub(super) fn quoted(&mut self, quote: char) -> Result<String, Error> {
        self.at += 1;
        let mut said = String::new();
        loop {
            match self.next() {
                Some(c) if c == quote => return Ok(said),
                Some('\\') => said.extend(self.escaped()),
                Some(c) if c != '\n' => said.push(c),
                _ => return Err(self.error("a text has no end")),
            }
        }
    }

    pub(super) fn escaped(&mut self) -> Option<char> {
        Some(match self.next()? {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            other => other,
        })
    }

    pub(super) fn marks(&mut self, marks: &[&str]) -> Result<(), Error> {
        marks.iter().try_for_each(|mark| self.expect(mark))
    }

    pub(super) fn expect(&mut self, mark: &str) -> Result<(), Error> {
        if self.eat(mark) { Ok(()) } else { Err(self.unexpected(&format!("`{mark}`"))) }
    }

    pub(super) fn eat(&mut self, mark: &str) -> bool {
        let is_there = self.peek(mark);
        if is_there {
            self.at += mark.len();
        }
        is_there
    }

    pub(super) fn peek(&mut self, mark: &str) -> bool {
        self.space();
        self.rest().starts_with(mark)
    }

    pub(super) fn word(&mut self, word: &str) -> bool {
        let begin = self.at;
        let is_there = self.name().is_some_and(|name| name == word);
        if !is_there {
            self.at = begin;
        }
        is_there
    }

    pub(super) fn name(&mut self) -> Option<String> {
        self.space();
        let rest = self.rest();
        let end = rest.find(|c: char| !is_of_name(c)).unwrap_or(rest.len());
        let name = &rest[..end];
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        self.at += end;
        Some(name.to_owned())
    }

    pub(super) fn space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let c = self.rest().chars().next()?;
        self.at += c.len_utf8();
        Some(c)
    }

    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(super) fn unexpected(&self, wanted: &str) -> Error {
        match self.rest().trim_start().chars().next() {
            Some(c) => self.error(&format!("expected {wanted}, found `{c}`")),
            None => self.error(&format!("expected {wanted}, found the end")),
        }
    }

    pub(super) fn error(&self, found: &str) -> Error {
        let line = self.text[..self.at].matches('\n').count() + 1;
        Error::Unreadable { found: found.to_owned(), line }
    }
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}
