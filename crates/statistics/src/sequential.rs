//! Verdicts that stop a run early, with a stated chance of being wrong.
//!
//! A fixed number of repeats is judged once. Who looks after every trial and stops when the figure looks good is wrong far more
//! often than the interval says. The rules of this module hold at every look, so a run can stop as soon as one of them decides.
//!
//! They hold only if trials are consumed in **launch order**. Failures often take longer than successes: of the trials that
//! have *ended* too many are passes, and the first ones to end decide. So [`suite::Suite`] takes outcomes in any order and consumes
//! a repeat only when every case has its outcome. A timeout is an outcome. A trial that our side broke has none: it counts as a failure
//! in the evidence for PASS, and as a pass in the evidence for FAIL.
//!
//! - [`rule`]: when the trials seen so far decide, and what a rule needs at least.
//! - [`mixture`]: evidence against "at least" and "at most", without an indifference zone.
//! - [`ratio`]: Wald's likelihood ratio, with one.
//! - [`suite`]: the mean over all cases, and the floor of each case.
//! - [`reason`]: what a run says about its decision.
//! - [`characteristic`]: how often a rule decides what, and after how many trials.

pub mod characteristic;
pub mod mixture;
pub mod ratio;
pub mod reason;
pub mod rule;
pub mod suite;

#[cfg(test)]
mod tests;
