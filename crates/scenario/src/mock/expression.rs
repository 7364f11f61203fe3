//! The syntax of `matcher` and `responseFn`: a small, safe part of JavaScript's expressions.
//!
//! There are no loops, no variables and no calls to the outside, so an expression takes no more steps than it has
//! parts. Everything else is refused when the file is read.

mod error;
mod evaluate;
mod methods;
mod node;
mod parse;
mod scope;
mod value;

use serde_json::Value;

use self::node::Node;

pub use error::Error;
pub use scope::Scope;
pub use value::{is_equal, text};

/// An expression that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression(Node);

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
