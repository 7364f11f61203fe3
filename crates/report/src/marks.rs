//! The display of verdicts: one word, one sign, one emoji and one style class for all pages.

use record::{Verdict, summary::RunVerdict};
use serde::Serialize;

#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Mark {
    #[serde(skip)]
    pub(crate) verdict: Verdict,
    /// Of the styles of HTML.
    pub(crate) class: &'static str,
    /// For terminals and HTML.
    pub(crate) icon: &'static str,
    /// For Markdown, which has no colours.
    #[serde(skip)]
    pub(crate) emoji: &'static str,
    pub(crate) word: &'static str,
}

impl Mark {
    pub(crate) fn of(verdict: Verdict) -> Self {
        let (class, icon, emoji) = match verdict {
            Verdict::Pass => ("pass", "✓", "✅"),
            Verdict::Fail => ("fail", "✗", "❌"),
            Verdict::Error => ("error", "!", "💥"),
            Verdict::Inconclusive => ("inconclusive", "?", "⚠️"),
            Verdict::Skipped => ("skipped", "–", "⏭️"),
            Verdict::Cancelled => ("cancelled", "–", "⏭️"),
        };
        Self { verdict, class, icon, emoji, word: verdict.name() }
    }

    pub(crate) fn of_run(verdict: RunVerdict) -> Self {
        Self::of(match verdict {
            RunVerdict::Pass => Verdict::Pass,
            RunVerdict::Fail => Verdict::Fail,
            RunVerdict::Inconclusive => Verdict::Inconclusive,
        })
    }
}
