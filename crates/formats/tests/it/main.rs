//! The readers and writers, seen from outside.
#![expect(clippy::unwrap_used, reason = "tests and their helpers: a panic is the finding")]

mod accepted;
mod cases;
mod converted;
mod corpus;
mod data_sets;

mod emely;
mod faulty;
mod formats;
mod hostile;
mod judged_material;
mod judges_keys;
mod line;
mod mocks;
mod mutated;
mod planning;
mod qna;
mod qna_cases;
mod reading;
mod schemas;
mod simulated_user;
mod skunit;
mod skunit_cases;

/// A good scenario with every section, which the tests break one piece at a time.
const GOOD: &str = include_str!("good.scenario.yaml");
