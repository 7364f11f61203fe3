//! A tool call that a scenario waits for.

use serde_json::{Map, Value};

use crate::mock::{is_equal, letters};

/// A tool, and the arguments that a call of it must have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CalledTool<'a> {
    pub tool: &'a str,
    pub arguments: &'a Map<String, Value>,
}

impl CalledTool<'_> {
    /// Whether a call matches. Only letters and digits of a name count. `arguments`: JSON text as the agent wrote it.
    #[must_use]
    pub fn is(&self, tool: &str, arguments: &str) -> bool {
        if letters(self.tool) != letters(tool) {
            return false;
        }
        if self.arguments.is_empty() {
            return true;
        }
        let Ok(Value::Object(given)) = serde_json::from_str(arguments) else { return false };
        self.arguments.iter().all(|(name, wanted)| given.get(name).is_some_and(|value| is_equal(value, wanted)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_has_the_arguments_and_perhaps_more() {
        let arguments = json!({ "amount": 30, "order": "W-1" });
        let wanted = CalledTool { tool: "refund", arguments: arguments.as_object().unwrap() };
        for (tool, given, is) in [
            ("refund", r#"{"order":"W-1","amount":30.0,"note":"x"}"#, true),
            ("refund", r#"{"order":"W-1","amount":31}"#, false),
            ("refund", r#"{"order":"W-1"}"#, false),
            ("refund", "not json", false),
            ("other", r#"{"order":"W-1","amount":30}"#, false),
        ] {
            assert_eq!(wanted.is(tool, given), is, "{tool} {given}");
        }
        assert!(CalledTool { tool: "refund", arguments: &Map::new() }.is("Re_fund", "not json"));
    }
}
