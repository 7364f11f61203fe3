//! What did happen: turn, trial, judgment, verdict, latency, tally and summary.
