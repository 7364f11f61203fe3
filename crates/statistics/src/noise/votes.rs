//! What several votes of a judge change.
//!
//! The majority of votes is not their mean: it helps much where the judge is nearly sure, and little where it is torn. How sure it is over
//! all transcripts is a Beta distribution with the mean and the variance that were found, so the majority of `votes` is a sum of
//! Beta-binomial chances.

use statrs::function::{beta::ln_beta, factorial::ln_binomial};

/// The variance of a verdict within a case, after several votes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Voted {
    pub votes: u64,
    pub judge: f64,
    /// Of user and agent. The majority makes transcripts more clear-cut, so it can grow.
    pub between: f64,
    /// Cost of a conversation with so many votes, in the unit of the given costs.
    pub cost: f64,
    /// How much variance the same money leaves, compared with one vote; below 1: votes pay.
    pub compared: f64,
}

/// What a conversation costs without its judge, and what one vote on it costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Costs {
    pub conversation: f64,
    pub vote: f64,
}

/// What is known of one vote.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OneVote {
    /// The share of votes that pass.
    pub mean: f64,
    /// The parts of the variance within a case.
    pub judge: f64,
    pub between: f64,
    /// Whether votes are yes or no, and the majority decides; otherwise the score is their mean.
    pub majority: bool,
}

/// Odd numbers of votes that are worth a look.
pub const CHOICES: [u64; 5] = [1, 3, 5, 7, 9];

/// Each choice of votes.
#[must_use]
pub fn table(one: OneVote, costs: Costs) -> Vec<Voted> {
    let priced = |votes: u64, judge: f64, between: f64| {
        let cost = costs.conversation + costs.vote * votes as f64;
        let single = (one.judge + one.between) * (costs.conversation + costs.vote);
        let compared = if single > 0.0 { (judge + between) * cost / single } else { 1.0 };
        Voted { votes, judge, between, cost, compared }
    };
    CHOICES
        .iter()
        .map(|votes| {
            let (judge, between) =
                if one.majority { majority(one, *votes) } else { (one.judge / *votes as f64, one.between) };
            priced(*votes, judge, between)
        })
        .collect()
}

/// The number of votes that leaves the least variance for the same money; the fewest of equals.
#[must_use]
pub fn best(table: &[Voted]) -> Option<Voted> {
    table.iter().copied().reduce(|best, next| if next.compared < best.compared - 1e-9 { next } else { best })
}

/// The judge's variance, and that of user and agent, if the majority of votes decides.
fn majority(one: OneVote, votes: u64) -> (f64, f64) {
    let OneVote { mean, judge, between, .. } = one;
    let whole = mean * (1.0 - mean);
    // Of transcripts, how much their chances to pass differ.
    let differ = (whole - judge).max(0.0);
    if votes <= 1 || whole <= 0.0 || judge <= 0.0 {
        return (judge, between);
    }
    if differ <= 1e-9 * whole {
        let passes = binomial_majority(mean, votes);
        return (passes * (1.0 - passes), between);
    }
    // The Beta distribution whose variance is `differ`.
    let size = judge / differ;
    let (alpha, beta) = (mean * size, (1.0 - mean) * size);
    let chance =
        |pass: u64, of: u64| (ln_beta(alpha + pass as f64, beta + (of - pass) as f64) - ln_beta(alpha, beta)).exp();
    let ways = |pass: u64| ln_binomial(votes, pass).exp();
    let wins = || votes / 2 + 1..=votes;
    let once: f64 = wins().map(|pass| ways(pass) * chance(pass, votes)).sum();
    let twice: f64 = wins()
        .flat_map(|first| wins().map(move |second| (first, second)))
        .map(|(first, second)| ways(first) * ways(second) * chance(first + second, 2 * votes))
        .sum();
    let after = (once - twice).max(0.0);
    let differ_after = (twice - once * once).max(0.0);
    (after, between * differ_after / differ)
}

fn binomial_majority(rate: f64, votes: u64) -> f64 {
    (votes / 2 + 1..=votes)
        .map(|pass| ln_binomial(votes, pass).exp() * rate.powi(pass as i32) * (1.0 - rate).powi((votes - pass) as i32))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `reference/noise.py`.
    const REFERENCE: &str = include_str!("../../reference/noise.json");

    #[derive(serde::Deserialize)]
    struct Reference {
        votes: Vec<Row>,
    }

    #[derive(serde::Deserialize)]
    struct Row {
        mean: f64,
        judge: f64,
        between: f64,
        votes: u64,
        left: [f64; 2],
    }

    #[test]
    fn a_majority_leaves_what_integrating_over_the_chances_leaves() {
        let reference: Reference = serde_json::from_str(REFERENCE).unwrap();
        for row in reference.votes {
            let (judge, between) = majority(one(row.mean, row.judge, row.between), row.votes);
            let [left, of_others] = row.left;
            assert!(
                (judge - left).abs() < 1e-6 && (between - of_others).abs() < 1e-6,
                "{judge} {between}: {:?}",
                row.left
            );
        }
    }

    const EVEN: Costs = Costs { conversation: 1.0, vote: 1.0 };

    fn one(mean: f64, judge: f64, between: f64) -> OneVote {
        OneVote { mean, judge, between, majority: true }
    }

    #[test]
    fn the_mean_of_votes_divides_the_judges_variance() {
        let rows = table(OneVote { majority: false, ..one(0.8, 0.06, 0.1) }, EVEN);
        assert_eq!((rows[0].judge, rows[0].between, rows[0].compared), (0.06, 0.1, 1.0));
        assert!((rows[1].judge - 0.02).abs() < 1e-12 && (rows[1].between - 0.1).abs() < 1e-12);
        // 4 units instead of 2 buy 0.12 instead of 0.16.
        assert!((rows[1].compared - 0.12 * 4.0 / (0.16 * 2.0)).abs() < 1e-12);
    }

    #[test]
    fn a_majority_is_the_sum_over_a_uniform_chance() {
        // A Beta(1, 1) has the mean 1/2, the judge's part 1/6 and differs by 1/12. Of three votes, two pass with p²(3 − 2p):
        // the mean square of that is 13/35.
        let rows = table(one(0.5, 1.0 / 6.0, 1.0 / 12.0), EVEN);
        assert!((rows[1].judge - (0.5 - 13.0 / 35.0)).abs() < 1e-9, "{:?}", rows[1]);
        assert!((rows[1].between - (13.0 / 35.0 - 0.25)).abs() < 1e-9, "{:?}", rows[1]);
        assert!(rows.windows(2).all(|pair| pair[1].judge < pair[0].judge));
    }

    #[test]
    fn votes_do_not_mend_a_judge_that_tosses_a_coin() {
        let rows = table(one(0.5, 0.25, 0.0), EVEN);
        assert!(rows.iter().all(|row| (row.judge - 0.25).abs() < 1e-9), "{rows:?}");
        assert_eq!(best(&rows).map(|row| row.votes), Some(1));
        // Votes of a judge without noise change nothing, nor do those about nothing.
        for quiet in [one(0.5, 0.0, 0.2), one(1.0, 0.0, 0.0)] {
            let rows = table(quiet, EVEN);
            assert!(rows.iter().all(|row| row.judge == 0.0 && row.between == quiet.between), "{rows:?}");
            assert_eq!(best(&rows).map(|row| row.votes), Some(1));
        }
    }

    #[test]
    fn cheap_votes_pay_and_dear_ones_do_not() {
        let noisy = one(0.85, 0.06, 0.03);
        let votes = |vote: f64| best(&table(noisy, Costs { conversation: 1.0, vote })).map(|row| row.votes);
        assert!(votes(0.01) > Some(1), "{:?}", table(noisy, Costs { conversation: 1.0, vote: 0.01 }));
        assert_eq!(votes(10.0), Some(1));
    }
}
