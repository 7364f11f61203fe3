//! The parts of the variance, with their intervals.
//!
//! The interval of a share is a jackknife: with [`LEAST_CLUSTERS`] cases or more, cases are a sample, and each is left out once; with
//! fewer, conversations are, and the interval holds for these cases. Student's t of the share's log odds; B. Efron and C. Stein, "The
//! jackknife estimate of variance", Annals of Statistics 9 (1981).

use statrs::distribution::{ContinuousCDF as _, StudentsT};

use super::{Case, Conversation};
use crate::compare::rate::LEAST_CLUSTERS;

/// Whose noise it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    Judge,
    Agent,
    /// What neither the judge nor the agent explains: the lines of the simulated user, and everything else that differs between repeats.
    User,
    /// Agent and user together: nothing was replayed, so they cannot be told apart.
    Remaining,
}

/// One part of the variance of a verdict.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Part {
    pub layer: Layer,
    /// At least 0.
    pub variance: f64,
    /// The unbiased estimate, which chance can make negative.
    pub unlimited: f64,
    /// Of the variance within a case; `None`: there is none.
    pub share: Option<f64>,
    /// The 95 % interval of the share.
    pub low: f64,
    pub high: f64,
}

/// The variance within a case, split into its parts.
#[derive(Debug, Clone, PartialEq)]
pub struct Parts {
    /// Cases with all that the split needs; the others count in nothing.
    pub cases: u64,
    /// Cases with one conversation, with transcripts judged once, or without replays although others have some.
    pub left_out: u64,
    pub conversations: u64,
    pub replays: u64,
    /// All judgings, of recorded conversations and replays.
    pub judgings: u64,
    /// The mean score of the recorded conversations.
    pub mean: f64,
    /// The mean score of the replays. If it differs much from `mean`, the agent is another one by now, or the recorded lines do not fit its
    /// new answers.
    pub replayed_mean: Option<f64>,
    /// Within a case: the sum of the parts.
    pub variance: f64,
    /// In the order of [`Layer`].
    pub parts: Vec<Part>,
    /// Between the true means of cases. It is no noise: cases are meant to differ.
    pub between_cases: f64,
    /// Whether the intervals are about cases like these; otherwise about these cases.
    pub clustered: bool,
}

/// A conversation, reduced to what the estimates need.
#[derive(Debug, Clone, Copy, Default)]
struct Piece {
    mean: f64,
    /// 1 / judgings of the recorded transcript.
    per_judging: f64,
    /// Squared deviations of judgings from the mean of their transcript, and their degrees of freedom.
    judge_squares: f64,
    judge_freedom: f64,
    /// The same of replays from the mean of the conversation's replays.
    replay_squares: f64,
    replay_freedom: f64,
    /// Degrees of freedom × mean of 1 / judgings, over the replays.
    replay_per_judging: f64,
}

/// Estimates of one case.
#[derive(Debug, Clone, Copy)]
struct OfCase {
    weight: f64,
    mean: f64,
    judge: f64,
    agent: Option<f64>,
    /// User and agent.
    between: f64,
    /// The variance that chance gives the mean.
    of_mean: f64,
}

/// Sums over cases of weight × estimate.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    weight: f64,
    judge: f64,
    agent: f64,
    between: f64,
}

/// `None`: no case has two conversations and a transcript that was judged twice.
#[must_use]
pub fn of(cases: &[Case]) -> Option<Parts> {
    let replayed = cases.iter().flat_map(|case| &case.conversations).any(|conversation| conversation.replays.len() > 1);
    let pieces: Vec<Vec<Piece>> = cases.iter().map(pieces).collect();
    let used: Vec<(&Case, &[Piece], OfCase)> = cases
        .iter()
        .zip(&pieces)
        .filter_map(|(case, pieces)| {
            let found = of_case(pieces).filter(|found| !replayed || found.agent.is_some())?;
            Some((case, pieces.as_slice(), found))
        })
        .collect();
    if used.is_empty() {
        return None;
    }
    let estimates: Vec<OfCase> = used.iter().map(|(_, _, found)| *found).collect();
    let sums = total(&estimates);
    let clustered = used.len() >= LEAST_CLUSTERS;
    let spread = if clustered {
        Spread::of_cases(&estimates, replayed)
    } else {
        let pieces: Vec<&[Piece]> = used.iter().map(|(_, pieces, _)| *pieces).collect();
        Spread::of_conversations(&pieces, &estimates, replayed)
    };
    let conversations: Vec<&Conversation> =
        used.iter().flat_map(|(case, ..)| &case.conversations).filter(|one| !one.judged.is_empty()).collect();
    let evidence = conversations.len() as f64;
    let raw = sums.shares(replayed);
    let variance: f64 = raw.iter().map(|(_, variance, _)| variance).sum();
    let parts = raw
        .iter()
        .enumerate()
        .map(|(index, (layer, limited, unlimited))| {
            let share = (variance > 0.0).then(|| limited / variance);
            let (low, high) = share.map_or((0.0, 1.0), |share| spread.interval(index, share, evidence, variance));
            Part { layer: *layer, variance: *limited, unlimited: *unlimited, share, low, high }
        })
        .collect();
    let of_replays = || conversations.iter().flat_map(|one| &one.replays).filter(|replay| !replay.is_empty());
    let weighed: f64 = estimates.iter().map(|case| case.weight * case.mean).sum();
    let replays = of_replays().count();
    Some(Parts {
        cases: used.len() as u64,
        left_out: (cases.len() - used.len()) as u64,
        conversations: conversations.len() as u64,
        replays: replays as u64,
        judgings: conversations.iter().map(|one| one.judged.len()).chain(of_replays().map(Vec::len)).sum::<usize>()
            as u64,
        mean: weighed / sums.weight,
        replayed_mean: (replays > 0).then(|| of_replays().map(|replay| mean(replay)).sum::<f64>() / replays as f64),
        variance,
        parts,
        between_cases: between_cases(&estimates),
        clustered,
    })
}

fn mean(of: &[f64]) -> f64 {
    of.iter().sum::<f64>() / of.len().max(1) as f64
}

/// Squared deviations from the mean.
fn squares(of: &[f64]) -> f64 {
    let middle = mean(of);
    of.iter().map(|one| (one - middle).powi(2)).sum()
}

fn pieces(case: &Case) -> Vec<Piece> {
    case.conversations.iter().filter(|conversation| !conversation.judged.is_empty()).map(piece).collect()
}

fn piece(Conversation { judged, replays }: &Conversation) -> Piece {
    let replays: Vec<&[f64]> = replays.iter().filter(|replay| !replay.is_empty()).map(Vec::as_slice).collect();
    let mut piece = Piece { mean: mean(judged), per_judging: 1.0 / judged.len() as f64, ..Piece::default() };
    for transcript in replays.iter().copied().chain([judged.as_slice()]) {
        piece.judge_squares += squares(transcript);
        piece.judge_freedom += transcript.len() as f64 - 1.0;
    }
    if replays.len() > 1 {
        let means: Vec<f64> = replays.iter().map(|replay| mean(replay)).collect();
        let per_judging: Vec<f64> = replays.iter().map(|replay| 1.0 / replay.len() as f64).collect();
        piece.replay_squares = squares(&means);
        piece.replay_freedom = replays.len() as f64 - 1.0;
        piece.replay_per_judging = piece.replay_freedom * mean(&per_judging);
    }
    piece
}

fn of_case(pieces: &[Piece]) -> Option<OfCase> {
    let sum = |of: fn(&Piece) -> f64| pieces.iter().map(of).sum::<f64>();
    let (conversations, judge_freedom) = (pieces.len() as f64, sum(|piece| piece.judge_freedom));
    if pieces.len() < 2 || judge_freedom == 0.0 {
        return None;
    }
    let judge = sum(|piece| piece.judge_squares) / judge_freedom;
    let replay_freedom = sum(|piece| piece.replay_freedom);
    let of_replays =
        || (sum(|piece| piece.replay_squares) - judge * sum(|piece| piece.replay_per_judging)) / replay_freedom;
    let means: Vec<f64> = pieces.iter().map(|piece| piece.mean).collect();
    let per_judging = sum(|piece| piece.per_judging) / conversations;
    let of_means = squares(&means) / (conversations - 1.0);
    Some(OfCase {
        weight: conversations,
        mean: mean(&means),
        judge,
        agent: (replay_freedom > 0.0).then(of_replays),
        between: of_means - judge * per_judging,
        of_mean: of_means / conversations,
    })
}

fn total(cases: &[OfCase]) -> Sums {
    cases.iter().fold(Sums::default(), Sums::plus)
}

impl Sums {
    fn plus(self, case: &OfCase) -> Self {
        Self {
            weight: self.weight + case.weight,
            judge: self.judge + case.weight * case.judge,
            agent: self.agent + case.weight * case.agent.unwrap_or_default(),
            between: self.between + case.weight * case.between,
        }
    }

    fn minus(self, case: &OfCase) -> Self {
        let less = OfCase { weight: -case.weight, ..*case };
        self.plus(&less)
    }

    /// Each layer with its variance, limited to what is possible, and the unlimited estimate.
    fn shares(&self, replayed: bool) -> Vec<(Layer, f64, f64)> {
        let mean = |sum: f64| sum / self.weight;
        let (judge, agent, between) = (mean(self.judge), mean(self.agent), mean(self.between));
        let together = between.max(0.0);
        if !replayed {
            return vec![(Layer::Judge, judge, judge), (Layer::Remaining, together, between)];
        }
        let limited = agent.clamp(0.0, together);
        vec![
            (Layer::Judge, judge, judge),
            (Layer::Agent, limited, agent),
            (Layer::User, together - limited, between - agent),
        ]
    }

    /// The unlimited shares, which the jackknife needs: limits would hide how much they vary.
    fn unlimited(&self, replayed: bool) -> Option<Vec<f64>> {
        let variance = self.judge + self.between;
        let shares =
            || self.shares(replayed).iter().map(|(.., unlimited)| unlimited * self.weight / variance).collect();
        (variance > 1e-12 * self.weight).then(shares)
    }
}

/// How much the shares vary by chance.
struct Spread {
    /// Of each layer; infinite, if too few were left out.
    errors: Vec<f64>,
    student: f64,
}

impl Spread {
    fn of_cases(cases: &[OfCase], replayed: bool) -> Self {
        let all = total(cases);
        let without: Vec<Vec<f64>> = cases.iter().filter_map(|case| all.minus(case).unlimited(replayed)).collect();
        let count = without.len() as f64;
        let scale = (count - 1.0) / count;
        Self::new(&[(scale, without)], count - 1.0, replayed)
    }

    /// A jackknife within each case.
    fn of_conversations(cases: &[&[Piece]], estimates: &[OfCase], replayed: bool) -> Self {
        let all = total(estimates);
        let mut groups = Vec::new();
        let mut freedom = 0.0;
        for (pieces, case) in cases.iter().zip(estimates) {
            let others = all.minus(case);
            let without = |place: usize| {
                let rest: Vec<Piece> =
                    pieces.iter().enumerate().filter(|(at, _)| *at != place).map(|(_, piece)| *piece).collect();
                let found = of_case(&rest).filter(|found| !replayed || found.agent.is_some())?;
                // The case keeps its weight.
                others.plus(&OfCase { weight: case.weight, ..found }).unlimited(replayed)
            };
            let without: Vec<Vec<f64>> = (0..pieces.len()).filter_map(without).collect();
            if without.len() > 1 {
                let count = without.len() as f64;
                freedom += count - 1.0;
                groups.push(((count - 1.0) / count, without));
            }
        }
        Self::new(&groups, freedom, replayed)
    }

    fn new(groups: &[(f64, Vec<Vec<f64>>)], freedom: f64, replayed: bool) -> Self {
        let layers = if replayed { 3 } else { 2 };
        let student = StudentsT::new(0.0, 1.0, freedom).map_or(f64::INFINITY, |law| law.inverse_cdf(0.975));
        let error = |layer: usize| {
            let of_group = |(scale, without): &(f64, Vec<Vec<f64>>)| {
                let shares: Vec<f64> = without.iter().map(|shares| shares[layer]).collect();
                scale * squares(&shares)
            };
            groups.iter().map(of_group).sum::<f64>().sqrt()
        };
        Self { errors: (0..layers).map(error).collect(), student }
    }

    /// `evidence`: conversations.
    fn interval(&self, layer: usize, share: f64, evidence: f64, variance: f64) -> (f64, f64) {
        let half = self.student * self.errors[layer];
        if half.is_nan() || half.is_infinite() {
            return (0.0, 1.0);
        }
        // Nothing ever differed. Of so many transcripts that agree with themselves, at most this share disagrees; half of the
        // disagreement of two judgings is their variance.
        let unseen = ((1.0 - 0.05_f64.powf(1.0 / evidence.max(1.0))) / 2.0 / variance).min(1.0);
        if share <= 0.0 {
            return (0.0, half.max(unseen).min(1.0));
        }
        if share >= 1.0 {
            return ((1.0 - half.max(unseen)).max(0.0), 1.0);
        }
        let odds = (share / (1.0 - share)).ln();
        let reach = half / (share * (1.0 - share));
        let back = |odds: f64| 1.0 / (1.0 + (-odds).exp());
        (back(odds - reach), back(odds + reach))
    }
}

/// The variance of case means, less what the noise within cases adds to it.
fn between_cases(cases: &[OfCase]) -> f64 {
    if cases.len() < 2 {
        return 0.0;
    }
    let means: Vec<f64> = cases.iter().map(|case| case.mean).collect();
    let of_noise = cases.iter().map(|case| case.of_mean).sum::<f64>() / cases.len() as f64;
    (squares(&means) / (cases.len() as f64 - 1.0) - of_noise).max(0.0)
}

#[cfg(test)]
mod tests;
