//! Whose noise a run has, as a document: the parts, what to do about each, and what votes of the judge would change.

use record::Verdict;
use statistics::noise::found::{CostUnit, IntervalsOver, Noise, NoiseLayer, NoisePart, NoiseVotes};

use super::{
    Document,
    headline::{Fact, Headline, Words},
    model::{Block, Cell, Column, Kind, LineKind, Section, Table},
};
use crate::{
    figures::{count, decimal, percent, plural, usd},
    marks::Mark,
};

const PARTS: &str = "Shares of the variance of a verdict within its case. Judge: the same transcript, judged again. Agent: the same user turns, answered again. User: the rest of what differs between repeats.";
const VOTES: &str = "Expected if the majority of votes decides and votes are independent. Same money: the variance that is left if more votes mean fewer repeats.";
/// A part below this is not worth a change.
const SMALL: f64 = 0.05;
/// Replays that differ so much from the recorded conversations are of another agent, or of turns that no longer fit.
const ANOTHER: f64 = 0.1;
/// Money is well spent if it leaves this much less variance.
const WORTH: f64 = 0.97;

pub(crate) fn of(noise: &Noise) -> Document {
    let mut sections = vec![parts(noise), advice(noise), votes(noise), left_out(noise)];
    sections.retain(|section| !section.blocks.is_empty());
    Document { headline: headline(noise), sections }
}

fn headline(noise: &Noise) -> Headline {
    let fact = |name, text: String| Fact { name, words: vec![Words { text, verdict: None }] };
    let largest =
        noise.parts.iter().filter(|part| part.share.is_some()).max_by(|a, b| a.variance.total_cmp(&b.variance));
    let most = match largest {
        None => "nothing differed: every judging of a case gave the same verdict".to_owned(),
        Some(part) => format!("most of the noise is {}: {}", owner(part.layer), share(part)),
    };
    let replays = match noise.agent_rounds {
        0 => "nothing replayed, so agent and user are not told apart (--agent-rounds 2)".to_owned(),
        _ => plural(noise.replays, "replay of user turns", "replays of user turns"),
    };
    let of_cases = plural(noise.cases, "case", "cases");
    let conversations = plural(noise.conversations, "conversation", "conversations");
    let judgings = plural(noise.judgings, "judging", "judgings");
    let mut facts = vec![
        fact("noise", most),
        fact("from", format!("{conversations} of {of_cases}, {judgings}, {replays}")),
        fact("rate", rates(noise)),
    ];
    if noise.variance > 0.0 {
        let disagree = percent(2.0 * noise.variance);
        facts.push(fact("repeats", format!("two repeats of a case disagree in {disagree} of pairs")));
    }
    Headline {
        mark: Mark { word: "NOISE", ..Mark::of(Verdict::Pass) },
        name: format!("{} ({})", noise.name, noise.run),
        note: None,
        facts,
    }
}

fn rates(noise: &Noise) -> String {
    let recorded = format!("{} of the recorded conversations pass, judged again", percent(noise.success_rate));
    match noise.replayed_success_rate {
        None => recorded,
        Some(replayed) => format!("{recorded}; {} of the replays pass", percent(replayed)),
    }
}

fn owner(layer: NoiseLayer) -> &'static str {
    match layer {
        NoiseLayer::Judge => "the judge's",
        NoiseLayer::Agent => "the agent's",
        NoiseLayer::User => "the simulated user's",
        NoiseLayer::AgentAndUser => "the agent's and the user's",
    }
}

fn name(layer: NoiseLayer) -> &'static str {
    match layer {
        NoiseLayer::Judge => "judge",
        NoiseLayer::Agent => "agent",
        NoiseLayer::User => "user",
        NoiseLayer::AgentAndUser => "agent and user",
    }
}

/// `61.2% of the variance (45 to 75%)`.
fn share(part: &NoisePart) -> String {
    let Some(share) = part.share else { return "nothing differed".to_owned() };
    format!("{} of the variance ({} to {})", percent(share), percent(part.low), percent(part.high))
}

fn parts(noise: &Noise) -> Section {
    let mut table = Table::new([
        Column::left("layer"),
        Column::right("share"),
        Column::right("95%"),
        Column::right("variance").rank(1),
    ]);
    for part in &noise.parts {
        let interval = part.share.map(|_| format!("{}–{}", percent(part.low), percent(part.high)));
        let shown = part.share.map_or_else(|| "–".to_owned(), percent);
        let variance = format!("{:.4}", part.variance);
        let figures = [name(part.layer).to_owned(), shown, interval.unwrap_or_else(|| "–".to_owned()), variance];
        table.rows.push(figures.map(Cell::figure).into());
    }
    let about = match noise.intervals_over {
        IntervalsOver::Cases => format!("The intervals are about cases like these {}", count(noise.cases)),
        IntervalsOver::Conversations if noise.cases == 1 => "The intervals are about this case only".to_owned(),
        IntervalsOver::Conversations => format!("The intervals are about these {} cases only", count(noise.cases)),
    };
    Section {
        legend: Some(PARTS),
        ..Section::new(Kind::Noise, "Whose noise it is", [Block::Table(table), Block::Note(about)])
    }
}

fn advice(noise: &Noise) -> Section {
    let mut lines: Vec<String> = noise.parts.iter().filter_map(|part| of_layer(noise, part)).collect();
    lines.extend(of_money(noise));
    let mut blocks = Vec::new();
    if let Some(warning) = of_replays(noise) {
        blocks.push(Block::Warning(warning));
    }
    if !lines.is_empty() {
        blocks.push(Block::Lines { kind: LineKind::Item, lines });
    }
    Section::new(Kind::Advice, "What to do", blocks)
}

fn of_layer(noise: &Noise, part: &NoisePart) -> Option<String> {
    let found = part.share?;
    let said = format!("{}: {}", name(part.layer), share(part));
    let small = found < SMALL;
    Some(match part.layer {
        NoiseLayer::Judge if small => format!("{said}; more votes change little"),
        NoiseLayer::Judge => format!("{said}; {}", of_votes(noise, found)),
        _ if small => format!("{said}; leave it as it is"),
        NoiseLayer::Agent => {
            format!(
                "{said}; it answers the same lines differently: more repeats average it out, a lower temperature lessens it"
            )
        }
        NoiseLayer::User => {
            format!("{said}; more repeats average it out, scripted messages or a narrower persona lessen it")
        }
        NoiseLayer::AgentAndUser => {
            format!("{said}; more repeats average it out, and --agent-rounds 2 tells agent and user apart")
        }
    })
}

/// `3 votes halve it`.
fn of_votes(noise: &Noise, share: f64) -> String {
    let Some(three) = noise.votes.iter().find(|row| row.votes == 3) else { return "ask for more votes".to_owned() };
    let left = three.judge_share / share;
    let shown = percent(three.judge_share);
    match left {
        left if left > 0.9 => {
            "votes do not mend it, because the judge is torn on the same transcripts: ask a clearer question, or another judge"
                .to_owned()
        }
        left if left > 0.6 => format!("3 votes leave {shown}"),
        left if left > 0.4 => format!("3 votes halve it, to {shown}"),
        _ => format!("3 votes leave less than half of it, {shown}"),
    }
}

/// What the same money buys best.
fn of_money(noise: &Noise) -> Vec<String> {
    if noise.variance <= 0.0 {
        return Vec::new();
    }
    let mut lines = Vec::new();
    let row = |votes: u64| noise.votes.iter().find(|row| row.votes == votes);
    if let (Some(best), Some(one)) = (row(noise.best_votes), row(1))
        && best.votes > 1
        && best.same_money_share < WORTH
    {
        let repeats = noise.conversations as f64 / noise.cases.max(1) as f64;
        let fewer = repeats * one.cost / best.cost.max(f64::MIN_POSITIVE);
        lines.push(format!(
            "for the same money, {} votes and {} repeats instead of {} leave {} of the variance of a success rate",
            best.votes,
            decimal(fewer),
            decimal(repeats),
            percent(best.same_money_share)
        ));
    } else {
        lines
            .push("for the same money, more repeats with one vote say more than fewer repeats with several".to_owned());
    }
    if noise.agent_rounds == 0 || noise.best_replays.is_none_or(|replays| replays < 1.5) {
        return lines;
    }
    let replays = noise.best_replays.unwrap_or_default().round() as u64;
    lines.push(format!(
        "to measure the agent alone, {} of each recorded conversation are worth their money",
        plural(replays, "replay", "replays")
    ));
    lines
}

fn of_replays(noise: &Noise) -> Option<String> {
    let replayed = noise.replayed_success_rate?;
    ((replayed - noise.success_rate).abs() > ANOTHER).then(|| {
        format!(
            "{} of the replays pass, and {} of the recorded conversations: the agent has changed since the run, or the recorded lines do not fit its new replies",
            percent(replayed),
            percent(noise.success_rate)
        )
    })
}

fn votes(noise: &Noise) -> Section {
    let shown = noise.parts.iter().any(|part| part.layer == NoiseLayer::Judge && part.variance > 0.0);
    if !shown {
        return Section::new(Kind::Votes, "Votes of the judge", None);
    }
    let mut table = Table::new([
        Column::left("votes"),
        Column::right("judge's part"),
        Column::right("variance left"),
        Column::right("same money"),
        Column::right("a conversation").rank(1),
    ]);
    table.rows = noise.votes.iter().map(|row| row_of(row, noise.costs.unit)).collect();
    Section { legend: Some(VOTES), ..Section::new(Kind::Votes, "Votes of the judge", [Block::Table(table)]) }
}

fn row_of(row: &NoiseVotes, unit: CostUnit) -> Vec<Cell> {
    let cost = match unit {
        CostUnit::Usd => usd(row.cost),
        CostUnit::Tokens => plural(row.cost.round() as u64, "token", "tokens"),
        CostUnit::Calls => format!("{} calls", decimal(row.cost)),
    };
    let shares = [row.judge_share, row.variance_share, row.same_money_share].map(percent);
    let [judge, left, money] = shares;
    [count(row.votes), judge, left, money, cost].map(Cell::figure).into()
}

fn left_out(noise: &Noise) -> Section {
    let mut lines = Vec::new();
    if noise.cases_left_out > 0 {
        lines.push(format!(
            "{} without two conversations that could be judged and played again",
            plural(noise.cases_left_out, "case", "cases")
        ));
    }
    if let Some(first) = noise.trials_left_out.first() {
        let trials = plural(noise.trials_left_out.len() as u64, "trial", "trials");
        lines.push(format!("{trials}; the first, number {}: {}", first.trial, first.reason));
    }
    let blocks = (!lines.is_empty()).then_some(Block::Lines { kind: LineKind::Remark, lines });
    Section::new(Kind::LeftOut, "Not counted", blocks)
}
