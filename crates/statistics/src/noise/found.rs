//! What `gabfest noise` found: the parts, what votes and replays would change, and what they cost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    allocation::{Level, draws},
    parts::{Layer, Parts},
    votes::{Costs, OneVote, Voted, best, table},
};

/// The shape of the JSON.
pub const VERSION: u32 = 1;
/// More replays of one conversation than this are never worth it: the user's part stays.
const MOST_REPLAYS: f64 = 50.0;

/// Whose noise a run has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Noise {
    pub version: u32,
    /// The id of the run.
    pub run: String,
    /// Its name.
    pub name: String,
    /// How often each recorded conversation was judged again.
    pub judge_rounds: u32,
    /// How often the recorded user turns of each conversation were played again; 0: agent and user are not told apart.
    pub agent_rounds: u32,
    /// Cases that the figures are about.
    pub cases: u64,
    /// Cases with one conversation, or whose conversations could not be judged or played again.
    pub cases_left_out: u64,
    pub conversations: u64,
    pub replays: u64,
    pub judgings: u64,
    /// Trials that could not be judged or played again.
    pub trials_left_out: Vec<LeftOut>,
    /// Of the recorded conversations, judged again.
    pub success_rate: f64,
    /// Of the replays; `null` without replays. If it differs much, the agent is another one by now, or the recorded user turns do not fit
    /// its new replies.
    pub replayed_success_rate: Option<f64>,
    /// Of a verdict within its case: the sum of the parts. At most 0.25.
    pub variance: f64,
    /// Between the success rates of cases. It is not noise.
    pub variance_between_cases: f64,
    pub parts: Vec<NoisePart>,
    /// `cases`: the intervals are about cases like these; `conversations`: about these cases.
    pub intervals_over: IntervalsOver,
    pub costs: NoiseCosts,
    /// What several votes of the judge on each conversation would change.
    pub votes: Vec<NoiseVotes>,
    /// The number of votes that leaves the least variance for the same money.
    pub best_votes: u64,
    /// How often the user turns of a conversation would be replayed if replays counted as measurements; `null`: nothing was replayed, or there
    /// is no noise.
    pub best_replays: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// Its place in the plan, from 0.
    pub trial: u64,
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoisePart {
    pub layer: NoiseLayer,
    pub variance: f64,
    /// Of the variance within a case; `null`: there is none.
    pub share: Option<f64>,
    /// The 95 % interval of the share.
    pub low: f64,
    pub high: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoiseLayer {
    /// The same transcript, judged again.
    Judge,
    /// The same user turns, answered again.
    Agent,
    /// The rest of what differs between repeats: what the simulated user says.
    User,
    /// Agent and user together, because nothing was replayed.
    AgentAndUser,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IntervalsOver {
    Cases,
    Conversations,
}

/// What the layers cost, as the run's calls show.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoiseCosts {
    pub unit: CostUnit,
    /// The simulated user in one conversation.
    pub user: f64,
    /// The agent in one conversation.
    pub agent: f64,
    /// All judged checks of one conversation, once.
    pub judge: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CostUnit {
    Usd,
    /// Some calls have no price.
    Tokens,
    /// No call reports tokens.
    Calls,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoiseVotes {
    pub votes: u64,
    /// The judge's part that is left, of the variance with one vote.
    pub judge_share: f64,
    /// The variance that is left, of the variance with one vote.
    pub variance_share: f64,
    /// The variance that the same money leaves, of that with one vote. Below 1, votes pay.
    pub same_money_share: f64,
    /// A conversation with so many votes, in the unit of `costs`.
    pub cost: f64,
}

/// What was asked for, and what came of it besides the scores.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    pub run: String,
    pub name: String,
    pub judge_rounds: u32,
    pub agent_rounds: u32,
    pub trials_left_out: Vec<LeftOut>,
    /// Whether a judging says yes or no, so that the majority of votes decides.
    pub majority: bool,
    pub costs: NoiseCosts,
}

impl Noise {
    #[must_use]
    pub fn of(parts: &Parts, asked: Asked) -> Self {
        let Asked { run, name, judge_rounds, agent_rounds, trials_left_out, majority, costs } = asked;
        let variance = |wanted: fn(Layer) -> bool| {
            parts.parts.iter().filter(|part| wanted(part.layer)).map(|part| part.variance).sum::<f64>()
        };
        let judge = variance(|layer| layer == Layer::Judge);
        let one = OneVote { mean: parts.mean, judge, between: parts.variance - judge, majority };
        let rows = table(one, Costs { conversation: costs.user + costs.agent, vote: costs.judge });
        let (user, agent) = (variance(|layer| layer == Layer::User), variance(|layer| layer == Layer::Agent));
        let levels = [
            Level { variance: user, cost: costs.user },
            Level { variance: agent + judge, cost: costs.agent + costs.judge },
        ];
        let replayed = parts.replayed_mean.is_some() && parts.variance > 0.0;
        Self {
            version: VERSION,
            run,
            name,
            judge_rounds,
            agent_rounds,
            cases: parts.cases,
            cases_left_out: parts.left_out,
            conversations: parts.conversations,
            replays: parts.replays,
            judgings: parts.judgings,
            trials_left_out,
            success_rate: parts.mean,
            replayed_success_rate: parts.replayed_mean,
            variance: parts.variance,
            variance_between_cases: parts.between_cases,
            parts: parts.parts.iter().map(NoisePart::of).collect(),
            intervals_over: if parts.clustered { IntervalsOver::Cases } else { IntervalsOver::Conversations },
            costs,
            votes: rows.iter().map(|row| NoiseVotes::of(row, parts.variance)).collect(),
            best_votes: best(&rows).map_or(1, |row| row.votes),
            best_replays: replayed.then(|| draws(&levels, MOST_REPLAYS)[0]),
        }
    }
}

impl NoisePart {
    fn of(part: &super::parts::Part) -> Self {
        let layer = match part.layer {
            Layer::Judge => NoiseLayer::Judge,
            Layer::Agent => NoiseLayer::Agent,
            Layer::User => NoiseLayer::User,
            Layer::Remaining => NoiseLayer::AgentAndUser,
        };
        Self { layer, variance: part.variance, share: part.share, low: part.low, high: part.high }
    }
}

impl NoiseVotes {
    fn of(voted: &Voted, variance: f64) -> Self {
        let of_all = |left: f64| if variance > 0.0 { left / variance } else { 0.0 };
        Self {
            votes: voted.votes,
            judge_share: of_all(voted.judge),
            variance_share: of_all(voted.judge + voted.between),
            same_money_share: voted.compared,
            cost: voted.cost,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{Case, Conversation, parts};

    fn asked(judge: f64) -> Asked {
        Asked {
            run: "night".to_owned(),
            name: "shop".to_owned(),
            judge_rounds: 3,
            agent_rounds: 2,
            trials_left_out: Vec::new(),
            majority: true,
            costs: NoiseCosts { unit: CostUnit::Usd, user: 0.01, agent: 0.02, judge },
        }
    }

    #[test]
    fn what_is_found_adds_up_and_votes_follow_their_price() {
        let conversation = |judged: [f64; 3], replays: [f64; 2]| Conversation {
            judged: judged.to_vec(),
            replays: replays.iter().map(|score| vec![*score]).collect(),
        };
        let case = Case {
            name: "refund".to_owned(),
            conversations: vec![
                conversation([1.0, 1.0, 0.0], [1.0, 0.0]),
                conversation([1.0, 1.0, 1.0], [1.0, 1.0]),
                conversation([0.0, 0.0, 0.0], [0.0, 0.0]),
                conversation([1.0, 1.0, 1.0], [1.0, 1.0]),
            ],
        };
        let parts = parts::of(&[case]).unwrap();
        let cheap = Noise::of(&parts, asked(0.0001));
        let dear = Noise::of(&parts, asked(10.0));
        let shares: f64 = cheap.parts.iter().filter_map(|part| part.share).sum();
        assert!((shares - 1.0).abs() < 1e-9, "{cheap:?}");
        assert_eq!((cheap.conversations, cheap.replays, cheap.judgings), (4, 8, 20));
        assert_eq!(cheap.intervals_over, IntervalsOver::Conversations);
        assert!((cheap.votes[0].variance_share - 1.0).abs() < 1e-9 && cheap.votes[0].same_money_share == 1.0);
        assert!(cheap.votes[1].judge_share < cheap.votes[0].judge_share);
        assert_eq!(dear.best_votes, 1);
        assert!(cheap.best_replays.is_some_and(|replays| (1.0..=MOST_REPLAYS).contains(&replays)));
        let text = serde_json::to_string(&cheap).unwrap();
        assert_eq!(serde_json::from_str::<Noise>(&text).unwrap().votes.len(), cheap.votes.len());
    }
}
