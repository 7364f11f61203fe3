//! The flags of a load, for `run` and `submit`.

use super::{
    settings::Arrivals,
    units::{Amount, Span},
};
use crate::args::whole;

/// The flags of a load, for `run` and `submit`.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct LoadFlags {
    /// Play a load at this pace of `load` in the settings file, instead of each case N times
    #[arg(long, value_name = "NAME", conflicts_with_all = ["repeats", "rate", "duration", "iterations", "warm_up", "arrivals"])]
    pub(crate) pace: Option<String>,
    /// Start this many conversations a second, however slow the agent is: `5/s`, `300/m`, `1000/h`. Needs --duration
    #[arg(long, value_name = "RATE", requires = "duration", conflicts_with_all = ["repeats", "iterations"])]
    pub(crate) rate: Option<Amount>,
    /// Start conversations for this long: `90s`, `15m`, `2h`. Without --rate, each free slot starts one
    #[arg(long, value_name = "TIME", conflicts_with = "repeats")]
    pub(crate) duration: Option<Span>,
    /// Play this many conversations in all, drawn by weight; each free slot starts one
    #[arg(long, value_name = "N", conflicts_with = "repeats", value_parser = whole::<u64>(1..=scenario::plan::MAX_TRIALS))]
    pub(crate) iterations: Option<u64>,
    /// Leave conversations that start in the first part of a load out of the figures: `30s`. Needs --duration or --iterations
    #[arg(long, value_name = "TIME", conflicts_with = "repeats")]
    pub(crate) warm_up: Option<Span>,
    /// Let users think and type as their scenarios and personas say (`think_time`, `typing_speed`); a load always does
    #[arg(long)]
    pub(crate) think_time: bool,
    /// How far apart the starts of --rate are: `even` or `poisson` [default: even]
    #[arg(long, value_name = "HOW", requires = "rate")]
    pub(crate) arrivals: Option<Arrivals>,
}
