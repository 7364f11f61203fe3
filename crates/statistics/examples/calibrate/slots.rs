//! Trials that are played in slots, and the order in which they end.

use crate::chance::Chance;

/// A trial that was played. Its number is its place in the plan.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended {
    pub(crate) number: usize,
    pub(crate) passed: bool,
    at: f64,
}

/// All trials, in the order of their ends. A free slot starts the next trial. A failure takes `slower` times as long as a success.
pub(crate) fn ends(
    chance: &mut Chance,
    trials: usize,
    slots: usize,
    slower: f64,
    rate: impl Fn(usize) -> f64,
) -> Vec<Ended> {
    let mut free = vec![0.0_f64; slots];
    let mut ended: Vec<Ended> = Vec::with_capacity(trials);
    for number in 0..trials {
        let passed = chance.is(rate(number));
        let took = chance.duration() * if passed { 1.0 } else { slower };
        let Some(slot) = free.iter_mut().min_by(|a, b| a.total_cmp(b)) else { break };
        *slot += took;
        ended.push(Ended { number, passed, at: *slot });
    }
    ended.sort_by(|a, b| a.at.total_cmp(&b.at));
    ended
}
