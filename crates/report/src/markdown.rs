//! `report.md`: what a person likes to find in a comment on a pull request.

use record::{
    Summary, Verdict,
    latency::Quantiles,
    summary::{RunState, RunVerdict},
    turn::Part,
};

use crate::{
    Selection,
    battery::examined::names,
    clip,
    failures::Group,
    figures::{self, count, millis, percent},
    matrix::{Cell, Matrix},
    parts, spending, terminal, unreadable,
};

/// GitHub takes comments of up to 65,536 characters.
const FAILING_SHOWN: usize = 20;
const ROWS_SHOWN: usize = 60;
const SHARES_SHOWN: usize = 8;
const PARTS_SHOWN: usize = 30;
const BATTERIES_SHOWN: usize = 10;
const UNREADABLE_SHOWN: usize = 20;
const LAST_WORDS_CHARS: usize = 240;

#[must_use]
pub fn render(summary: &Summary, selection: &Selection) -> String {
    let mut page = String::new();
    heading(&mut page, summary);
    gates(&mut page, summary);
    matrix(&mut page, summary);
    divided(&mut page, summary);
    checks(&mut page, summary);
    battery(&mut page, summary, selection);
    failing(&mut page, summary, selection);
    beside(&mut page, summary, selection);
    latency(&mut page, summary);
    throttling(&mut page, summary);
    spend(&mut page, summary);
    faults(&mut page, summary);
    footer(&mut page, summary);
    page
}

fn heading(page: &mut String, summary: &Summary) {
    let totals = &summary.summary;
    let trials = totals.trials;
    page.push_str(&format!(
        "# {} {}: {}\n\n",
        run_icon(summary.verdict),
        summary.verdict.name(),
        escape(&summary.run.name)
    ));
    if let Some(note) = state_note(summary.run.state) {
        page.push_str(&format!("> **{note}**\n\n"));
    }
    page.push_str(&format!(
        "**{} of {} passed** (success rate {}, {} interval {}); {} of {} planned trials completed ({}); {}.\n",
        count(trials.pass),
        figures::plural(trials.counts().conclusive(), "trial", "trials"),
        figures::estimate(&totals.success_rate),
        escape(&totals.success_rate.method),
        figures::interval(&totals.success_rate),
        count(trials.pass + trials.fail),
        count(trials.planned),
        percent(totals.completed_rate),
        figures::plural(totals.flaky_cases, "flaky case", "flaky cases"),
    ));
    if trials.agent_errors > 0 {
        let errors = figures::plural(trials.agent_errors, "error", "errors");
        page.push_str(&format!(
            "Counted as failures, beside {} that failed: {errors} of the agent.\n",
            count(trials.fail)
        ));
    }
    let rest: Vec<String> = [
        (trials.inconclusive, "inconclusive"),
        (trials.error.saturating_sub(trials.agent_errors), "error"),
        (trials.skipped, "skipped"),
        (trials.cancelled, "cancelled"),
        (trials.not_started, "not started"),
    ]
    .into_iter()
    .filter(|(number, _)| *number > 0)
    .map(|(number, word)| format!("{} {word}", count(number)))
    .collect();
    if !rest.is_empty() {
        page.push_str(&format!("Not judged: {}.\n", rest.join(", ")));
    }
    if let Some(bounds) = figures::bounds(totals) {
        page.push_str(&format!("Bounds: the success rate is {bounds}.\n"));
    }
    if let Some(judged) = figures::judged_pass_rate(totals) {
        page.push_str(&format!("Beside it: {judged}.\n"));
    }
    if let Some(replayed) = figures::replayed_failures(totals) {
        page.push_str(&format!("Replayed: {replayed}.\n"));
    }
    if let Some(wall) = summary.wall {
        let pace = figures::pace(&wall, totals.conversations).map_or_else(String::new, |pace| format!("; {pace}"));
        page.push_str(&format!("Wall time: {}{pace}.\n", millis(wall.duration_ms as f64)));
    }
    if let Some(weighted) = figures::weighted(summary) {
        page.push_str(&format!("By weight: {weighted}.\n"));
    }
    page.push('\n');
}

fn gates(page: &mut String, summary: &Summary) {
    if summary.gates.is_empty() {
        return;
    }
    page.push_str("| gate | | |\n|---|---|---|\n");
    for gate in &summary.gates {
        let icon = run_icon(gate.verdict);
        page.push_str(&format!(
            "| {} | {icon} {} | {} |\n",
            escape(&gate.name),
            gate.verdict.name(),
            escape(&gate.reason)
        ));
    }
    page.push('\n');
}

fn matrix(page: &mut String, summary: &Summary) {
    let matrix = Matrix::of(&summary.cases);
    if matrix.rows.is_empty() {
        return;
    }
    page.push_str("## Scenarios × personas\n\n| scenario |");
    for persona in &matrix.personas {
        page.push_str(&format!(" {} |", escape(persona)));
    }
    page.push_str(" all | 95% interval |\n|---|");
    page.push_str(&"---:|".repeat(matrix.personas.len() + 2));
    page.push('\n');
    let (rows, left_out) = matrix.shown(ROWS_SHOWN);
    for (_, row) in rows {
        let agent = row.agent.as_ref().map_or_else(String::new, |agent| format!(" @ {}", escape(agent)));
        page.push_str(&format!("| {}{agent} |", escape(&row.scenario)));
        for cell in &row.cells {
            page.push_str(&format!(" {} |", cell.as_ref().map_or_else(String::new, cell_text)));
        }
        page.push_str(&format!(" {} | {} |\n", cell_text(&row.total), figures::interval(&row.total.rate())));
    }
    if left_out > 0 {
        page.push_str(&format!(
            "\n… and {} in `report.html`.\n",
            figures::plural(left_out as u64, "more scenario", "more scenarios")
        ));
    }
    page.push_str("\nSuccess rate, passed of passed, failed and errors of the agent; 〰️ marks flaky cases, `!` trials without a verdict.\n\n");
}

fn divided(page: &mut String, summary: &Summary) {
    for table in parts::tables(summary) {
        let by = if table.is_axis { code(&table.by) } else { table.by.clone() };
        page.push_str(&format!("## By {by}\n\n"));
        page.push_str(&format!(
            "| {by} | success rate | 95% interval | trials | failures | reply p50 | p95 | cost | why |\n"
        ));
        page.push_str("|---|---:|---:|---:|---:|---:|---:|---:|---|\n");
        for row in table.rows.iter().take(PARTS_SHOWN) {
            let figures = [&row.rate, &row.interval, &row.trials, &row.failures, &row.p50, &row.p95, &row.cost];
            let figures = figures.map(String::as_str).join(" | ");
            page.push_str(&format!("| {} | {figures} | {} |\n", escape(&row.name), escape(&row.kinds)));
        }
        if table.rows.len() > PARTS_SHOWN {
            let more = count((table.rows.len() - PARTS_SHOWN) as u64);
            page.push_str(&format!("\n… and {more} more in `report.json`.\n"));
        }
        page.push('\n');
    }
}

fn checks(page: &mut String, summary: &Summary) {
    if summary.by_check.is_empty() {
        return;
    }
    page.push_str("## Checks\n\n| check | judged | passed | failed | not judged |\n|---|---:|---:|---:|---:|\n");
    for check in summary.by_check.iter().take(PARTS_SHOWN) {
        let informs = if check.required { "" } else { " (only informs)" };
        let figures = [check.pass + check.fail, check.pass, check.fail, check.not_judged].map(count).join(" | ");
        page.push_str(&format!("| {}{informs} | {figures} |\n", escape(&check.check)));
    }
    page.push('\n');
}

fn cell_text(cell: &Cell) -> String {
    let mut text = match cell.rate().estimate {
        Some(share) => format!("{} ({})", percent(share), cell.passed()),
        None => "–".to_owned(),
    };
    if cell.flaky_cases > 0 {
        text.push_str(" 〰️");
    }
    let without_verdict = cell.counts.inconclusive + cell.counts.error + cell.counts.skipped;
    if without_verdict > 0 {
        text.push_str(&format!(" {}!", count(without_verdict)));
    }
    text
}

fn battery(page: &mut String, summary: &Summary, selection: &Selection) {
    let sections = selection.found().examined.sections(summary);
    if sections.is_empty() {
        return;
    }
    page.push_str("## Quality battery\n\n");
    for section in sections.iter().take(BATTERIES_SHOWN) {
        page.push_str(&format!("### {}\n\n", escape(&section.case)));
        page.push_str("| requirement | | conversations | replies | rate | 95% interval | by level of error |\n");
        page.push_str("|---|---|---:|---:|---:|---:|---|\n");
        for (requirement, tested) in &section.rows {
            let rate = tested.rate();
            page.push_str(&format!(
                "| {} | {} | {} | {} | {} | {} | {} |\n",
                names(*requirement),
                requirement.title(),
                tested.conversations_text(),
                tested.replies_text(),
                figures::estimate(&rate),
                figures::interval(&rate),
                tested.levels_text(),
            ));
        }
        page.push('\n');
    }
    if sections.len() > BATTERIES_SHOWN {
        let more = figures::plural((sections.len() - BATTERIES_SHOWN) as u64, "more case", "more cases");
        page.push_str(&format!("… and {more} in `report.html`.\n\n"));
    }
    page.push_str("Conversations in which a requirement held; replies that passed, each taken for itself; passed of tried at each level.\n\n");
}

fn beside(page: &mut String, summary: &Summary, selection: &Selection) {
    let informing = &selection.found().informing;
    let (lines, scores) = (informing.lines(summary), informing.scores(summary));
    if lines.is_empty() && scores.is_empty() {
        return;
    }
    page.push_str("## Beside the verdict\n\n");
    for (case, score) in scores.iter().take(ROWS_SHOWN) {
        page.push_str(&format!("- {}: score by weight {score}\n", escape(case)));
    }
    if !scores.is_empty() {
        page.push('\n');
    }
    if !lines.is_empty() {
        page.push_str("| only informs | case | passed | failed | not judged |\n|---|---|---:|---:|---:|\n");
        for line in lines.iter().take(ROWS_SHOWN) {
            let description =
                if line.description.is_empty() { String::new() } else { format!(": {}", escape(&line.description)) };
            let [pass, fail, open] = [line.findings.pass, line.findings.fail, line.findings.open].map(count);
            let (check, case) = (escape(&line.check), escape(&line.case));
            page.push_str(&format!("| {check}{description} | {case} | {pass} | {fail} | {open} |\n"));
        }
        if lines.len() > ROWS_SHOWN {
            let more = figures::plural((lines.len() - ROWS_SHOWN) as u64, "more", "more");
            page.push_str(&format!("\n… and {more} in `report.html`.\n"));
        }
        page.push('\n');
    }
}

fn failing(page: &mut String, summary: &Summary, selection: &Selection) {
    let groups = selection.found().failures.groups(summary);
    if groups.is_empty() {
        return;
    }
    page.push_str("## Conversations that did not pass\n\n");
    for group in groups.iter().take(FAILING_SHOWN) {
        alike(page, group);
        example(page, group, selection);
    }
    let totals = summary.summary.trials;
    let shown: u64 = groups.iter().take(FAILING_SHOWN).map(|group| group.trials).sum();
    let more = (totals.fail + totals.error + totals.inconclusive + totals.skipped).saturating_sub(shown);
    if more > 0 {
        page.push_str(&format!("\n… and {} more in `report.html` and `trials.jsonl`.\n", count(more)));
    }
    page.push('\n');
}

fn alike(page: &mut String, group: &Group) {
    let times = if group.trials > 1 { format!("{} × ", count(group.trials)) } else { String::new() };
    let mut shares: String = group
        .shares
        .iter()
        .take(SHARES_SHOWN)
        .map(|(name, trials)| format!("{} {}, ", escape(name), count(*trials)))
        .collect();
    if group.shares.len() > SHARES_SHOWN {
        shares.push_str(&format!("… {} more, ", count((group.shares.len() - SHARES_SHOWN) as u64)));
    }
    let first = if group.trials > 1 { "first: " } else { "" };
    page.push_str(&format!(
        "- {} **{}** {times}{}, {}: {} ({shares}{first}trial {})\n",
        verdict_icon(group.verdict()),
        group.verdict().name(),
        escape(&group.name),
        group.place(),
        escape(&clip::ellipsis(&group.reason(), LAST_WORDS_CHARS)),
        code(&group.first.trial_id),
    ));
}

/// What was said in the first of them, where it is one of the conversations that are kept.
fn example(page: &mut String, group: &Group, selection: &Selection) {
    let Some(selected) = selection.failing_trial(group.first.number) else { return };
    let turn = selected.trial.failure.as_ref().and_then(|failure| failure.turn);
    let said = turn.and_then(|turn| selected.turns.iter().find(|said| said.number == turn)).or(selected.turns.last());
    if let Some(said) = said {
        page.push_str(&format!("  - user: {}\n", code(&said.user)));
        for part in said.parts() {
            page.push_str(&match part {
                Part::Said(text) => format!("  - agent: {}\n", code(text)),
                Part::Called(_) if said.messages.is_empty() => continue,
                Part::Called(call) => format!("  - agent calls {}\n", code(&call.name)),
            });
        }
        if said.agent.as_deref().is_none_or(str::is_empty) {
            page.push_str("  - agent: *nothing*\n");
        }
    }
}

fn latency(page: &mut String, summary: &Summary) {
    let latency = &summary.summary.latency;
    let unanswered = figures::unanswered(latency);
    if latency.turn.count == 0 && unanswered.is_none() {
        return;
    }
    page.push_str("## Latency of the agent\n\n");
    if let Some(unanswered) = unanswered {
        page.push_str(&format!("**{unanswered}.**\n\n"));
    }
    if latency.turn.count == 0 {
        return;
    }
    page.push_str("| | n | p50 | p90 | p95 | p99 | p99.9 | max |\n|---|---:|---:|---:|---:|---:|---:|---:|\n");
    for (name, of) in [("whole reply", &latency.turn), ("first token", &latency.ttft)] {
        if of.count > 0 {
            page.push_str(&quantiles(name, of));
        }
    }
    page.push('\n');
}

fn throttling(page: &mut String, summary: &Summary) {
    let held_up = spending::throttling(&summary.summary);
    if held_up.is_empty() {
        return;
    }
    page.push_str("## Throttling and waits\n\n");
    held_up.iter().for_each(|line| page.push_str(&format!("- {}\n", escape(line))));
    page.push('\n');
}

fn quantiles(name: &str, of: &Quantiles) -> String {
    let times = [of.p50_ms, of.p90_ms, of.p95_ms, of.p99_ms, of.p999_ms, of.max_ms].map(millis).join(" | ");
    format!("| {name} | {} | {times} |\n", count(of.count))
}

fn spend(page: &mut String, summary: &Summary) {
    let totals = &summary.summary;
    if totals.models.is_empty() {
        return;
    }
    page.push_str("## Tokens and cost\n\n| role | model | calls | tokens in | tokens out | cost |\n|---|---|---:|---:|---:|---:|\n");
    for line in &totals.models {
        page.push_str(&format!(
            "| {} | {} | {} | {} | {} | {} |\n",
            line.role.name(),
            escape(&line.model),
            count(line.calls),
            spending::tokens(line, line.tokens.input),
            spending::tokens(line, line.tokens.output),
            spending::cost(line).unwrap_or_else(|| "unknown".to_owned()),
        ));
    }
    page.push_str(&format!("\nTotal {}", spending::total(totals)));
    if let Some(reasons) = spending::incomplete(totals) {
        page.push_str(&format!(" (**incomplete**: {reasons})"));
    }
    page.push_str(".\n\n");
    for note in spending::notes(totals) {
        page.push_str(&format!("{}.\n\n", escape(&note)));
    }
}

fn faults(page: &mut String, summary: &Summary) {
    let ours: Vec<_> =
        summary.summary.failures.iter().filter(|failure| failure.blame != record::Blame::Agent).collect();
    let lost = figures::lost(summary);
    let replayed = figures::replayed(&summary.summary.attempts);
    let unreadable = unreadable::lines(summary, UNREADABLE_SHOWN);
    if ours.is_empty() && lost.is_none() && replayed.is_none() && unreadable.is_empty() {
        return;
    }
    page.push_str("## Not the agent's fault\n\n");
    for failure in ours {
        let trials = figures::plural(failure.trials, "trial", "trials");
        page.push_str(&format!("- {trials}: `{}` (blame: {})\n", failure.kind.name(), failure.blame.name()));
    }
    for line in lost.iter().chain(&replayed) {
        page.push_str(&format!("- {line}\n"));
    }
    for line in unreadable {
        page.push_str(&format!("- {}\n", escape(&line)));
    }
    page.push('\n');
}

fn footer(page: &mut String, summary: &Summary) {
    let run = &summary.run;
    page.push_str(&format!(
        "---\nRun {}, seed {}, {}, gabfest {}.\n",
        code(run.id.as_str()),
        run.seed,
        escape(&figures::span(&run.started_at, run.ended_at.as_deref())),
        escape(&run.gabfest_version),
    ));
}

fn state_note(state: RunState) -> Option<&'static str> {
    match state {
        RunState::Finished => None,
        RunState::Running => Some("The run is still going on: every figure is provisional."),
        RunState::Interrupted => Some("The run was interrupted: the figures cover what was played."),
        RunState::Cancelled => Some("The run was cancelled: the figures cover what was played."),
    }
}

fn run_icon(verdict: RunVerdict) -> &'static str {
    match verdict {
        RunVerdict::Pass => "✅",
        RunVerdict::Fail => "❌",
        RunVerdict::Inconclusive => "⚠️",
    }
}

fn verdict_icon(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "✅",
        Verdict::Fail => "❌",
        Verdict::Error => "💥",
        Verdict::Inconclusive => "⚠️",
        Verdict::Skipped | Verdict::Cancelled => "⏭️",
    }
}

/// Text from outside as text: no markup, no links, no mention that would call somebody to a pull request.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut before = ' ';
    for character in terminal::clean(text).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\\' | '`' | '*' | '[' | ']' | '|' | '~' | '$' => {
                escaped.push('\\');
                escaped.push(character);
            }
            // Inside a word it is text anyway, and names are full of it.
            '_' if !before.is_alphanumeric() => escaped.push_str("\\_"),
            '@' => escaped.push_str("@\u{200b}"),
            other => escaped.push(other),
        }
        before = character;
    }
    // GitHub makes links of bare addresses.
    escaped.replace("://", ":\u{200b}//").replace("www.", "www\u{200b}.")
}

/// A code span, in which nothing is markup, fenced by more backticks than the text has in a row.
fn code(text: &str) -> String {
    let text = clip::ellipsis(&terminal::clean(text), LAST_WORDS_CHARS);
    let mut longest = 0;
    let mut row = 0;
    for character in text.chars() {
        row = if character == '`' { row + 1 } else { 0 };
        longest = longest.max(row);
    }
    let fence = "`".repeat(longest + 1);
    // Without a space a backtick at an end would join its fence.
    let space = if longest > 0 || text.is_empty() { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}
