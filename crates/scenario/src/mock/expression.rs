//! What may be written as `matcher` and `responseFn`: a small, safe part of JavaScript's expressions.
//!
//! There are no loops, no variables and no calls into anything, so that an expression takes no more steps than it
//! has parts. What lies outside is refused when the file is read.

mod evaluate;
mod methods;
mod parse;
mod value;

use serde_json::{Map, Value};

pub use value::is_equal;

/// An expression that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression(Node);

/// What an expression can see.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    pub args: &'a [Value],
    pub input: &'a Map<String, Value>,
    pub context: &'a Map<String, Value>,
    /// Unix milliseconds, for `Date.now()`.
    pub now_millis: i64,
}

/// Why a text is no expression, or why one has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("{found} (line {line} of it)")]
    Unreadable { found: String, line: usize },
    #[error("{0}")]
    Valueless(String),
}

#[derive(Debug, Clone, PartialEq)]
enum Node {
    Literal(Value),
    Args,
    Input,
    Context,
    Now,
    NowText,
    Property(Box<Node>, String),
    Index(Box<Node>, Box<Node>),
    Method(Box<Node>, methods::Method, Vec<Node>),
    Convert(Conversion, Box<Node>),
    Not(Box<Node>),
    Minus(Box<Node>),
    Binary(Operator, Box<Node>, Box<Node>),
    Choice(Box<Node>, Box<Node>, Box<Node>),
    List(Vec<Item>),
    Object(Vec<Entry>),
    /// Joined as text.
    Text(Vec<Node>),
    /// Text that is read as JSON where it looks like it.
    Template(Vec<Node>),
}

#[derive(Debug, Clone, PartialEq)]
enum Item {
    One(Node),
    Spread(Node),
}

#[derive(Debug, Clone, PartialEq)]
enum Entry {
    Pair(String, Node),
    Spread(Node),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Conversion {
    String,
    Number,
    Boolean,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Or,
    Nullish,
    And,
    Same,
    NotSame,
    Equal,
    NotEqual,
    AtMost,
    AtLeast,
    Below,
    Above,
    Plus,
    Minus,
    Times,
    Over,
    Rest,
}

impl Expression {
    /// A condition: an expression, or a function that gives one.
    pub fn matcher(text: &str) -> Result<Self, Error> {
        parse::function(text).map(Self)
    }

    /// An answer: an expression, a function that gives one, or a text with `${…}` in it.
    pub fn response(text: &str) -> Result<Self, Error> {
        let is_function = text.contains("=>") || text.trim_start().starts_with("return");
        if text.contains("${") && !is_function && !text.contains('`') {
            return parse::template(text).map(Self);
        }
        parse::function(text).map(Self)
    }

    pub fn value(&self, scope: &Scope<'_>) -> Result<Value, Error> {
        evaluate::node(&self.0, scope)
    }

    /// As a condition: an expression that has no value does not hold.
    #[must_use]
    pub fn holds(&self, scope: &Scope<'_>) -> bool {
        self.value(scope).is_ok_and(|value| value::is_truthy(&value))
    }
}
