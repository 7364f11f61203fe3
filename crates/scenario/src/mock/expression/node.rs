//! The parts of an expression.

use serde_json::Value;

use super::methods::Method;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Literal(Value),
    Args,
    Input,
    Context,
    State,
    Now,
    NowText,
    Property(Box<Node>, String),
    Index(Box<Node>, Box<Node>),
    Method(Box<Node>, Method, Vec<Node>),
    Convert(Conversion, Box<Node>),
    Not(Box<Node>),
    Minus(Box<Node>),
    Binary(Operator, Box<Node>, Box<Node>),
    Choice(Box<Node>, Box<Node>, Box<Node>),
    List(Vec<Item>),
    Object(Vec<Entry>),
    /// Joined as text.
    Text(Vec<Node>),
    /// A text that is parsed as JSON if it looks like JSON.
    Template(Vec<Node>),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Item {
    One(Node),
    Spread(Node),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Entry {
    Pair(String, Node),
    Spread(Node),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Conversion {
    String,
    Number,
    Boolean,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
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
