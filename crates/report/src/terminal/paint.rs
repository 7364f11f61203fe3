//! Colours for a terminal that has them.

use record::Verdict;

/// ANSI colours, or none. A word or a sign always says the same as the colour.
#[derive(Clone, Copy)]
pub(super) struct Paint {
    pub(super) color: bool,
}

impl Paint {
    pub(super) fn bold(self, text: &str) -> String {
        self.code("1", text)
    }

    pub(super) fn dim(self, text: &str) -> String {
        self.code("2", text)
    }

    pub(super) fn yellow(self, text: &str) -> String {
        self.code("33", text)
    }

    /// The verdict of a run or of a gate.
    pub(super) fn headline(self, verdict: Verdict, text: &str) -> String {
        match verdict {
            Verdict::Pass => self.code("1;32", text),
            Verdict::Fail => self.code("1;31", text),
            _ => self.code("1;33", text),
        }
    }

    pub(super) fn verdict(self, verdict: Verdict, text: &str) -> String {
        match verdict {
            Verdict::Pass => self.code("32", text),
            Verdict::Fail => self.code("31", text),
            Verdict::Error => self.code("35", text),
            Verdict::Inconclusive => self.code("33", text),
            Verdict::Skipped | Verdict::Cancelled => self.dim(text),
        }
    }

    fn code(self, code: &str, text: &str) -> String {
        if self.color && !text.is_empty() { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}
