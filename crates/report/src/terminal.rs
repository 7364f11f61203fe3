//! The summary on a terminal. Nothing here prints.

mod beside;
mod failing;
mod paint;
mod parts;
mod table;

use record::{
    Blame, Summary, Verdict,
    latency::Quantiles,
    summary::{Gate, RunState, RunVerdict},
};
use unicode_width::UnicodeWidthChar as _;

use self::{paint::Paint, table::Table};
use crate::{
    Found,
    figures::{self, count, millis, percent},
    matrix::{Cell, Matrix},
    spending, unreadable,
};

/// Columns where there is no terminal to ask.
pub const PLAIN_WIDTH: usize = 100;

const NARROWEST: usize = 48;
const GATE_NAME_COLUMNS: usize = 20;
const GATE_LINES: usize = 4;
const ROWS_SHOWN: usize = 40;
const UNREADABLE_SHOWN: usize = 5;

/// Lines with a line end each; `width` in columns. What stands where is the caller's to add.
#[must_use]
pub fn summary_text(summary: &Summary, found: &Found, color: bool, width: usize) -> String {
    let mut page = Page { text: String::new(), paint: Paint { color }, width: width.max(NARROWEST) };
    page.headline(summary);
    page.gates(&summary.gates);
    page.matrix(summary);
    page.parts(summary);
    page.battery(summary, &found.examined);
    page.failing(summary, &found.failures);
    page.beside(summary, &found.informing);
    page.latency(summary);
    page.throttling(summary);
    page.spend(summary);
    page.faults(summary);
    page.text
}

/// Text from outside on one line, without characters that steer a terminal or turn the order of what is read.
#[must_use]
pub fn clean(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\r' | '\t' => cleaned.push(' '),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{061c}' => {}
            '\u{2028}' | '\u{2029}' => cleaned.push(' '),
            control if control.is_control() => {}
            other => cleaned.push(other),
        }
    }
    cleaned.trim().to_owned()
}

/// Cut to `columns`, with a dot-dot-dot where more was there.
fn fit(text: &str, columns: usize) -> String {
    let mut taken = 0;
    for (index, character) in text.char_indices() {
        let wide = character.width().unwrap_or(0);
        // The last column is kept for the dots, unless this character is the last.
        let last = index + character.len_utf8() == text.len();
        if taken + wide > columns.saturating_sub(usize::from(!last)) {
            return format!("{}…", text[..index].trim_end());
        }
        taken += wide;
    }
    text.to_owned()
}

struct Page {
    text: String,
    paint: Paint,
    width: usize,
}

impl Page {
    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// At most `most` lines, the last cut where more was there.
    fn wrapped(&mut self, indent: usize, most: usize, text: &str) {
        let room = self.width - indent;
        let lines = textwrap::wrap(text, room);
        for (index, line) in lines.iter().take(most).enumerate() {
            let line = if index + 1 == most { fit(&lines[index..].join(" "), room) } else { line.to_string() };
            self.line(&format!("{}{line}", " ".repeat(indent)));
        }
    }

    /// A name and what there is to say of it, which goes on below itself.
    fn fact(&mut self, name: &str, text: &str) {
        let first = format!("  {name:<11}");
        let rest = " ".repeat(first.len());
        let options = textwrap::Options::new(self.width).initial_indent(&first).subsequent_indent(&rest);
        for line in textwrap::wrap(text, options) {
            self.line(&line);
        }
    }

    fn heading(&mut self, words: &str) {
        let words = self.paint.bold(words);
        self.line("");
        self.line(&words);
    }

    fn table(&mut self, table: &Table) {
        for line in table.lines(self.width) {
            self.line(&line);
        }
    }

    fn headline(&mut self, summary: &Summary) {
        let totals = &summary.summary;
        let trials = totals.trials;
        let verdict =
            self.paint.run(summary.verdict, &format!("{} {}", run_icon(summary.verdict), summary.verdict.name()));
        let name = fit(&clean(&summary.run.name), self.width.saturating_sub(18));
        self.line(&format!("{verdict}  {}", self.paint.bold(&name)));
        let state = match summary.run.state {
            RunState::Finished => None,
            RunState::Running => Some("still running: every figure is provisional"),
            RunState::Interrupted => Some("interrupted: the figures cover what was played"),
            RunState::Cancelled => Some("cancelled: the figures cover what was played"),
        };
        if let Some(state) = state {
            let state = self.paint.yellow(state);
            self.line(&format!("  {state}"));
        }
        let rate = &totals.success_rate;
        self.fact(
            "passed",
            &format!(
                "{} of {}: success rate {} ({} interval {})",
                count(trials.pass),
                figures::plural(trials.counts().conclusive(), "trial", "trials"),
                figures::estimate(rate),
                fit(&clean(&rate.method), 16),
                figures::interval(rate),
            ),
        );
        if let Some(bounds) = figures::bounds(totals) {
            self.fact("bounds", &format!("success rate {bounds}"));
        }
        if let Some(judged) = figures::judged_pass_rate(totals) {
            self.fact("judged", &judged);
        }
        if let Some(replayed) = figures::replayed_failures(totals) {
            self.fact("replayed", &replayed);
        }
        if let Some(weighted) = figures::weighted(summary) {
            self.fact("weighted", &weighted);
        }
        self.fact(
            "completed",
            &format!(
                "{} of {} planned trials, {}; {}, {}",
                count(trials.pass + trials.fail),
                count(trials.planned),
                percent(totals.completed_rate),
                figures::plural(totals.conversations, "conversation", "conversations"),
                figures::plural(totals.turns, "turn", "turns"),
            ),
        );
        let ended: Vec<String> = [
            (Verdict::Fail, trials.fail, "failed"),
            (Verdict::Error, trials.error, "error"),
            (Verdict::Inconclusive, trials.inconclusive, "inconclusive"),
            (Verdict::Skipped, trials.skipped, "skipped"),
            (Verdict::Cancelled, trials.cancelled, "cancelled"),
            (Verdict::Cancelled, trials.not_started, "not started"),
        ]
        .into_iter()
        .filter(|(_, number, _)| *number > 0)
        .map(|(verdict, number, word)| self.paint.verdict(verdict, &format!("{} {word}", count(number))))
        .collect();
        if !ended.is_empty() {
            self.fact("the rest", &ended.join(", "));
        }
        self.wall(summary);
    }

    fn gates(&mut self, gates: &[Gate]) {
        if gates.is_empty() {
            return;
        }
        self.heading("Gates");
        let names = gates.iter().map(|gate| gate.name.chars().count()).max().unwrap_or(0).min(GATE_NAME_COLUMNS);
        for gate in gates {
            let icon = run_icon(gate.verdict);
            let first = format!("  {icon}  {:<names$}  ", fit(&clean(&gate.name), names));
            let rest = " ".repeat(names + 7);
            let options = textwrap::Options::new(self.width).initial_indent(&first).subsequent_indent(&rest);
            let reason = clean(&gate.reason);
            for (index, line) in textwrap::wrap(&reason, options).iter().take(GATE_LINES).enumerate() {
                let painted = self.paint.run(gate.verdict, icon);
                self.line(&if index == 0 { line.replacen(icon, &painted, 1) } else { line.to_string() });
            }
        }
    }

    fn matrix(&mut self, summary: &Summary) {
        let matrix = Matrix::of(&summary.cases);
        if matrix.rows.is_empty() {
            return;
        }
        self.heading("Scenarios and personas");
        let (rows, left_out) = matrix.shown(ROWS_SHOWN);
        let mut table = Table::new("llrrrl", &[0, 1]);
        table.row(["scenario", "persona", "passed", "rate", "95%", ""].map(|word| self.paint.dim(word)));
        // Where names would have to be cut, a scenario stands above its personas.
        let mut stacked = Table::new("lrrrl", &[0]).dropping(&[3]);
        let heads = ["passed", "rate", "95%", ""].map(|word| self.paint.dim(word));
        stacked.row(["  persona".to_owned()].into_iter().chain(heads));
        for (_, row) in rows {
            let agent = row.agent.as_ref().map_or_else(String::new, |agent| format!(" @ {}", clean(agent)));
            let name = format!("{}{agent}", clean(&row.scenario));
            let cells =
                row.cells.iter().zip(&matrix.personas).filter_map(|(cell, persona)| Some((cell.as_ref()?, persona)));
            for (index, (cell, persona)) in cells.enumerate() {
                // A scenario is named once, above its personas.
                let name = if index == 0 { name.clone() } else { String::new() };
                let [persona, figures @ ..] = self.cell(clean(persona), cell);
                if index == 0 {
                    stacked.heading(name.clone());
                }
                stacked.row([format!("  {persona}")].into_iter().chain(figures.clone()));
                table.row([name, persona].into_iter().chain(figures));
            }
        }
        self.table(if table.natural() > self.width { &stacked } else { &table });
        if left_out > 0 {
            let more = figures::plural(left_out as u64, "more scenario", "more scenarios");
            let more = self.paint.dim(&format!("  … and {more} in the report"));
            self.line(&more);
        }
    }

    fn cell(&self, persona: String, cell: &Cell) -> [String; 5] {
        let rate = cell.rate();
        let counts = &cell.counts;
        let verdict = if counts.fail > 0 {
            Verdict::Fail
        } else if counts.error > 0 {
            Verdict::Error
        } else if counts.inconclusive > 0 || counts.pass < cell.trials {
            Verdict::Inconclusive
        } else {
            Verdict::Pass
        };
        let mut marks = Vec::new();
        if cell.flaky_cases > 0 {
            marks.push(self.paint.yellow("~ flaky"));
        }
        let open = [
            (Verdict::Error, counts.error, "error"),
            (Verdict::Inconclusive, counts.inconclusive, "inconclusive"),
            (Verdict::Skipped, counts.skipped, "skipped"),
        ];
        let open: Vec<_> = open.into_iter().filter(|(_, number, _)| *number > 0).collect();
        if open.len() > 2 {
            // All of them would not fit into a narrow terminal.
            let words = format!("{} without a verdict", count(open.iter().map(|(_, number, _)| number).sum()));
            marks.push(self.paint.verdict(Verdict::Inconclusive, &words));
        } else {
            let words = |(verdict, number, word): (_, u64, &str)| {
                self.paint.verdict(verdict, &format!("{} {word}", count(number)))
            };
            marks.extend(open.into_iter().map(words));
        }
        [
            persona,
            cell.passed(),
            self.paint.verdict(verdict, &figures::estimate(&rate)),
            figures::interval(&rate),
            marks.join(" "),
        ]
    }

    fn latency(&mut self, summary: &Summary) {
        let latency = &summary.summary.latency;
        let unanswered = figures::unanswered(latency);
        if latency.turn.count == 0 && unanswered.is_none() {
            return;
        }
        self.heading("Latency of the agent");
        if let Some(unanswered) = unanswered {
            let unanswered = self.paint.yellow(&format!("  {unanswered}"));
            self.line(&unanswered);
        }
        if latency.turn.count == 0 {
            return;
        }
        let mut table = Table::new("lrrrrrr", &[]).dropping(&[3, 1]);
        table.row(["", "n", "p50", "p90", "p95", "p99", "max"].map(|word| self.paint.dim(word)));
        for (name, of) in [("whole reply", &latency.turn), ("first token", &latency.ttft)] {
            if of.count > 0 {
                table.row(quantiles(name, of));
            }
        }
        self.table(&table);
    }

    fn throttling(&mut self, summary: &Summary) {
        let held_up = spending::throttling(&summary.summary);
        if held_up.is_empty() {
            return;
        }
        self.heading("Throttling and waits");
        for line in held_up {
            let line = self.paint.yellow(&clean(&line));
            self.wrapped(2, 6, &line);
        }
    }

    fn spend(&mut self, summary: &Summary) {
        let totals = &summary.summary;
        if totals.models.is_empty() {
            return;
        }
        self.heading("Tokens and cost");
        let mut table = Table::new("llrrrr", &[1]).dropping(&[2]);
        table.row(["role", "model", "calls", "tokens in", "tokens out", "cost"].map(|word| self.paint.dim(word)));
        for line in &totals.models {
            table.row([
                line.role.name().to_owned(),
                clean(&line.model),
                count(line.calls),
                spending::tokens(line, line.tokens.input),
                spending::tokens(line, line.tokens.output),
                spending::cost(line).unwrap_or_else(|| self.paint.dim("unknown")),
            ]);
        }
        let tokens = |of: fn(&record::Tokens) -> u64| {
            let sum = count(totals.models.iter().map(|line| of(&line.tokens)).sum());
            spending::marked(totals.cost.estimated_calls, sum)
        };
        let calls = count(totals.models.iter().map(|line| line.calls).sum());
        let total = [
            "total".to_owned(),
            String::new(),
            calls,
            tokens(|tokens| tokens.input),
            tokens(|tokens| tokens.output),
            spending::total(totals),
        ];
        table.row(total.map(|cell| self.paint.bold(&cell)));
        self.table(&table);
        if let Some(reasons) = spending::incomplete(totals) {
            let note = self.paint.yellow(&format!("cost is incomplete: {reasons}"));
            self.wrapped(2, 4, &note);
        }
        for note in spending::notes(totals) {
            self.wrapped(2, 4, &note);
        }
    }

    fn faults(&mut self, summary: &Summary) {
        let totals = &summary.summary;
        let ours: Vec<_> = totals.failures.iter().filter(|failure| failure.blame != Blame::Agent).collect();
        let lost = figures::lost(summary);
        let replayed = figures::replayed(&totals.attempts);
        let unreadable = unreadable::lines(summary, UNREADABLE_SHOWN);
        if ours.is_empty() && lost.is_none() && replayed.is_none() && unreadable.is_empty() {
            return;
        }
        self.heading("Not the agent's fault");
        let mut table = Table::new("rll", &[]);
        for failure in ours {
            let blame = self.paint.dim(&format!("blame: {}", failure.blame.name()));
            table.row([count(failure.trials), failure.kind.name().to_owned(), blame]);
        }
        self.table(&table);
        for line in lost.iter().chain(&replayed) {
            self.wrapped(2, 2, line);
        }
        for line in unreadable {
            self.wrapped(2, 2, &clean(&line));
        }
    }
}

fn quantiles(name: &str, of: &Quantiles) -> [String; 7] {
    let [p50, p90, p95, p99, max] = [of.p50_ms, of.p90_ms, of.p95_ms, of.p99_ms, of.max_ms].map(millis);
    [name.to_owned(), count(of.count), p50, p90, p95, p99, max]
}

fn run_icon(verdict: RunVerdict) -> &'static str {
    match verdict {
        RunVerdict::Pass => "✓",
        RunVerdict::Fail => "✗",
        RunVerdict::Inconclusive => "?",
    }
}

fn verdict_icon(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "✓",
        Verdict::Fail => "✗",
        Verdict::Error => "!",
        Verdict::Inconclusive => "?",
        Verdict::Skipped | Verdict::Cancelled => "–",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_taken_out() {
        for (text, cleaned) in [
            ("plain", "plain"),
            ("a\u{1b}[31mred\u{1b}[0m", "a[31mred[0m"),
            ("title\u{1b}]0;pwned\u{7}", "title]0;pwned"),
            ("c1\u{9b}31m", "c131m"),
            ("two\nlines\r\nand\ttab", "two lines  and tab"),
            ("abc\u{202e}fdp.exe", "abcfdp.exe"),
            ("nul\0del\u{7f}", "nuldel"),
            ("日本 ok", "日本 ok"),
        ] {
            assert_eq!(clean(text), cleaned, "{text:?}");
        }
    }

    #[test]
    fn texts_are_cut_by_columns() {
        for (text, columns, fitted) in [
            ("exact", 5, "exact"),
            ("longer text", 7, "longer…"),
            ("日本語", 6, "日本語"),
            ("日本語", 5, "日本…"),
            ("", 0, ""),
        ] {
            assert_eq!(fit(text, columns), fitted);
        }
    }
}
