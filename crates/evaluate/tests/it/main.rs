//! Evaluators as a worker uses them: rows of (check, what happened, judgment).

mod edges;
mod facts;
mod fakes;
mod injection;
mod judges;
