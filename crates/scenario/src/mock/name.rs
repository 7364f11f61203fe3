//! Which tool's name means which `service.method`.

use super::Mock;

/// Chat protocols allow letters, digits, `_` and `-` in a tool's name.
const LONGEST: usize = 64;

impl Mock {
    /// `searchIssues` of `github-service` matches the tools `searchIssues`, `github-service.searchIssues`,
    /// `github_service_search_issues` and similar names: only letters and digits count, without case. A mock without a
    /// service matches the method of any service: `anything.method`, `anything__method`.
    #[must_use]
    pub fn answers(&self, tool: &str) -> bool {
        let called = letters(tool);
        let method = letters(&self.method);
        if called == method {
            return true;
        }
        match &self.service {
            Some(service) => called == letters(service) + &method,
            None => tail(tool).is_some_and(|tail| letters(tail) == method),
        }
    }

    /// Under which name the tool is offered.
    #[must_use]
    pub fn tool_name(&self) -> String {
        let whole = match &self.service {
            Some(service) => format!("{service}_{}", self.method),
            None => self.method.clone(),
        };
        let kept = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        whole.chars().map(kept).take(LONGEST).collect()
    }
}

/// The letters and digits of a name, in lower case.
pub(crate) fn letters(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The part after the service in a name that has one.
fn tail(tool: &str) -> Option<&str> {
    let dotted = tool.rsplit_once(['.', '/', ':']).map(|(_, tail)| tail);
    dotted.or_else(|| tool.rsplit_once("__").map(|(_, tail)| tail))
}
