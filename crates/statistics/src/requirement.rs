//! What must hold at a load, and whether it does.
//!
//! Each requirement is a share: of conversations that passed, of those without an error of the agent, or of turns within a time.
//! A turn without an answer is within no time. At a load a requirement *holds* if the 95 % interval of the share lies at or above
//! what is required, and is *broken* if it lies below.

use record::{
    count::{digits, plural},
    histogram::Histogram,
    latency::floor_of,
    tally::{Counts, StepTally},
};
use scenario::{
    load::StepVerdict,
    objective::{Figure, Objective, Share, Statistic, Time},
    plan::Gates,
    time,
};

use crate::wilson::interval;

/// What must hold at a load.
#[derive(Debug)]
pub(crate) struct Requirement {
    objective: Objective,
    /// At least so much must be good.
    share: f64,
}

/// What was played at one load.
#[derive(Debug, Default)]
pub(crate) struct Level {
    ends: Counts,
    unanswered: u64,
    response: Histogram,
    service: Histogram,
    ttft: Histogram,
}

/// How many of how many were good.
#[derive(Debug, Clone, Copy)]
struct Good {
    good: u64,
    n: u64,
}

/// Those of a plan that say something about each load alone.
pub(crate) fn all(gates: &Gates) -> Vec<Requirement> {
    let share = |objective: Objective| Some(Requirement { share: objective.share_of_step()?, objective });
    gates.of_steps().filter_map(share).collect()
}

impl Level {
    pub(crate) fn add(&mut self, tally: &StepTally) {
        self.ends.merge(&tally.ends);
        self.unanswered += tally.unanswered;
        self.response.merge(&tally.response);
        self.service.merge(&tally.service);
        self.ttft.merge(&tally.ttft);
    }

    /// Broken if one requirement is; held if all hold.
    pub(crate) fn verdict(&self, requirements: &[Requirement]) -> StepVerdict {
        let all: Vec<StepVerdict> = requirements.iter().map(|requirement| requirement.verdict_on(self)).collect();
        match () {
            () if all.contains(&StepVerdict::Broke) => StepVerdict::Broke,
            () if all.contains(&StepVerdict::Undecided) => StepVerdict::Undecided,
            () => StepVerdict::Held,
        }
    }

    fn times(&self, of: Time) -> &Histogram {
        match of {
            Time::Service => &self.service,
            Time::Ttft => &self.ttft,
            _ => &self.response,
        }
    }
}

impl Requirement {
    /// As objectives are written.
    pub(crate) fn text(&self) -> String {
        self.objective.to_string()
    }

    pub(crate) fn verdict_on(&self, level: &Level) -> StepVerdict {
        let Good { good, n } = self.good(level);
        let rate = interval(good, n);
        match () {
            () if n > 0 && rate.low >= self.share => StepVerdict::Held,
            () if n > 0 && rate.high < self.share => StepVerdict::Broke,
            () => StepVerdict::Undecided,
        }
    }

    fn good(&self, level: &Level) -> Good {
        let ends = &level.ends;
        let judged = ends.pass + ends.fail + ends.agent_errors;
        match self.objective.figure {
            Figure::Share(Share::Error) => Good { good: judged - ends.agent_errors, n: judged },
            Figure::Time { of, .. } => {
                let times = level.times(of);
                Good { good: times.count_up_to(self.objective.bound as u64), n: times.count() + level.unanswered }
            }
            _ => Good { good: ends.pass, n: judged },
        }
    }

    /// The figures behind a verdict: `p99(ttft) 2.30 s of 1,350 turns`.
    pub(crate) fn evidence(&self, level: &Level, verdict: StepVerdict) -> String {
        let Good { good, n } = self.good(level);
        let share = |part: u64, what: &str| {
            let percent = if n > 0 { part as f64 / n as f64 * 1e2 } else { 0.0 };
            format!("{} {percent:.1} % of {}", self.objective.figure, what)
        };
        let found = match self.objective.figure {
            Figure::Time { of, statistic: statistic @ Statistic::Percentile(thousandths) } => {
                let (times, quantile) = (level.times(of), f64::from(thousandths) / 100_000.0);
                let unanswered = match level.unanswered {
                    0 => String::new(),
                    many => format!(", {} without an answer", digits(many)),
                };
                let turns = plural(n, "turn", "turns");
                if times.count() >= floor_of(quantile) {
                    let micros = times.quantile(quantile);
                    format!("{statistic}({}) {} of {turns}{unanswered}", name_of(of), seconds(micros))
                } else {
                    let bound = time::show(self.objective.bound as u64);
                    format!("{} of {turns} had a {} within {bound}{unanswered}", digits(good), said(of))
                }
            }
            Figure::Share(Share::Error) => share(n - good, &plural(n, "conversation", "conversations")),
            _ => share(good, &plural(n, "conversation", "conversations")),
        };
        match verdict {
            StepVerdict::Undecided => {
                format!("{found}, too few to decide {}", self.objective)
            }
            StepVerdict::Held | StepVerdict::Broke => found,
        }
    }
}

/// As objectives write it.
fn name_of(of: Time) -> &'static str {
    match of {
        Time::Service => "service",
        Time::Ttft => "ttft",
        _ => "response",
    }
}

fn said(of: Time) -> &'static str {
    match of {
        Time::Service => "service time",
        Time::Ttft => "first token",
        _ => "response time",
    }
}

/// `812 ms`, `2.41 s`.
fn seconds(micros: u64) -> String {
    let millis = micros as f64 / 1e3;
    match millis {
        millis if millis >= 1e3 => format!("{:.2} s", millis / 1e3),
        millis if millis >= 10.0 => format!("{millis:.0} ms"),
        millis => format!("{millis:.2} ms"),
    }
}
