//! The screen that pages are printed on.

use std::io::IsTerminal as _;

use report::Screen;

/// Stdout, or plain text if it is not a terminal. `COLUMNS` overrides the width.
pub(crate) fn screen() -> Screen {
    const USUAL: usize = 100;
    let chosen = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let seen = || terminal_size::terminal_size().map(|(columns, _)| usize::from(columns.0));
    Screen {
        color: std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
        width: chosen.or_else(seen).unwrap_or(USUAL).clamp(60, 160),
    }
}
