//! ML-A6: how much of a reply repeats the same words.

use std::collections::HashMap;

use scenario::battery::Requirement;
use serde_json::json;

use super::{conversation::Conversation, row::Row};

/// The most words of a reply to compare: the work is quadratic.
const MOST_WORDS: usize = 2_000;

pub(super) fn examine<'a>(conversation: &'a Conversation<'a>) -> impl Iterator<Item = Row> + use<'a> {
    let threshold = conversation.battery.thresholds.stutter;
    let compat = conversation.is_compat();
    conversation.replies().map(move |(turn, reply)| {
        let score = score(reply);
        // Revision 9043c93 compares the wrong way round.
        let passes = if compat { score >= threshold } else { score <= threshold };
        let mut row =
            Row::new(Requirement::Stutter, turn, passes, format!("stutter score {score:.3}, at most {threshold}"));
        row.cell.detail = Some(json!(score));
        row
    })
}

/// For each length of a run of words, from 2 to all but one, how often its most frequent run recurs, times its length,
/// divided by the number of words.
fn score(reply: &str) -> f64 {
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let words: Vec<usize> = reply
        .split_whitespace()
        .take(MOST_WORDS)
        .map(|word| {
            let next = numbers.len();
            *numbers.entry(word).or_insert(next)
        })
        .collect();
    let count = words.len();
    // The run that starts at each position: a longer run is a pair of a run and a word.
    let mut runs = words.clone();
    let mut repeated = 0;
    for length in 2..count {
        let mut seen: HashMap<(usize, usize), (usize, usize)> = HashMap::new();
        let mut most = 0;
        runs.truncate(count - length + 1);
        for (place, run) in runs.iter_mut().enumerate() {
            let next = seen.len();
            let (number, times) = seen.entry((*run, words[place + length - 1])).or_insert((next, 0));
            *times += 1;
            most = most.max(*times);
            *run = *number;
        }
        if most < 2 {
            // Longer runs do not come again either.
            break;
        }
        repeated += (most - 1) * length;
    }
    if count == 0 { 0.0 } else { repeated as f64 / count as f64 }
}

#[cfg(test)]
mod tests {
    use super::score;

    /// The formula as written.
    fn slowly(reply: &str) -> f64 {
        let words: Vec<&str> = reply.split_whitespace().collect();
        let count = words.len();
        let runs = |length: usize| {
            let most = words.windows(length).map(|run| words.windows(length).filter(|other| *other == run).count());
            (most.max().unwrap_or(1) - 1) * length
        };
        if count < 3 { 0.0 } else { (2..count).map(runs).sum::<usize>() as f64 / count as f64 }
    }

    #[test]
    fn the_fast_way_is_the_formula() {
        let rows =
            ["", "a", "a a", "a a a", "i have i have i have a cat", "a b c d", "a b a b a", "a a a a a a a a b a a"];
        for reply in rows {
            assert!((score(reply) - slowly(reply)).abs() < 1e-12, "{reply}: {} {}", score(reply), slowly(reply));
        }
        assert!((score("i have i have i have a cat") - 1.375).abs() < 1e-12);
    }

    #[test]
    fn a_huge_reply_takes_no_time() {
        assert!(score(&"na ".repeat(1_000_000)) > 100.0);
    }
}
