//! `gabfest noise`: how much of a run's noise is the judge's, the agent's and the simulated user's.

use anyhow::anyhow;
use statistics::noise::{
    found::{Asked, Noise},
    parts,
};

use crate::{
    args::{Capacity, Config, whole},
    assemble,
    exit::{Exit, usage},
    noise_rounds,
    recorded_run::Source,
    rejudged::{Rounds, agent_again, judge_again},
    screen::screen,
    settings, stdout,
};

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A run's folder, or its id
    #[arg(value_name = "RUN")]
    run: String,
    /// How often each recorded conversation is judged again
    #[arg(long, value_name = "K", default_value_t = 3, value_parser = whole::<u32>(2..=100))]
    judge_rounds: u32,
    /// How often the recorded lines of the user are said to the live agent again, to tell agent and user apart
    #[arg(long, value_name = "M", default_value_t = 0, value_parser = agent_rounds)]
    agent_rounds: u32,
    /// The endpoint that judges [default: the judges of the settings]
    #[arg(long, value_name = "ENDPOINT")]
    judge: Option<String>,
    /// Ask the judge again what an earlier `noise` or `rejudge` asked
    #[arg(long)]
    fresh: bool,
    /// Leave conversations out that were not kept
    #[arg(long)]
    partial: bool,
    /// Print every figure as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    config: Config,
    #[command(flatten)]
    capacity: Capacity,
}

const EXAMPLES: &str = "\
Examples:
  gabfest noise gabfest-runs/RUN                        the judge's part: no conversation is played
  gabfest noise gabfest-runs/RUN --agent-rounds 2       also the agent's and the user's: the live agent is asked

Each case needs two repeats or more.";

/// One replay of a conversation does not say how much replays differ.
fn agent_rounds(text: &str) -> Result<u32, String> {
    let rounds: Option<u32> = text.parse().ok();
    rounds
        .filter(|rounds| *rounds != 1 && *rounds <= 100)
        .ok_or_else(|| "expected 0, or a number from 2 to 100".to_owned())
}

pub(crate) async fn noise(args: Args) -> anyhow::Result<Exit> {
    let read = settings::read(&args.config, false)?;
    let slots = assemble::slots(&read, &args.capacity);
    let Args { judge_rounds, agent_rounds, fresh, partial, .. } = args;
    let coordinator = args.source.coordinator();
    let how = Rounds { judge: args.judge.as_deref(), rounds: judge_rounds, slots, fresh, partial, coordinator };
    let judged = judge_again(&args.run, &read, &how).await?;
    let replayed = match agent_rounds {
        0 => None,
        rounds => Some(agent_again(&args.run, &read, &args.capacity, &Rounds { rounds, ..how }).await?),
    };
    let cases = noise_rounds::cases(&judged, replayed.as_ref());
    let Some(parts) = parts::of(&cases) else {
        return Err(usage(anyhow!(
            "the noise of run {} cannot be split: no case has two conversations with a verdict each time\nhint: play each case twice or more, as `gabfest run … --repeats 5` does",
            judged.run
        )));
    };
    let asked = Asked {
        run: judged.run.to_string(),
        name: judged.plan.name.clone(),
        judge_rounds,
        agent_rounds,
        trials_left_out: noise_rounds::left_out(&judged, replayed.as_ref()),
        majority: true,
        costs: noise_rounds::costs(&judged.recorded),
    };
    let found = Noise::of(&parts, asked);
    if args.json {
        stdout::document(&redact::redact(&report::noise::json(&found)))?;
    } else {
        stdout::painted(&redact::redact(&report::noise::terminal(&found, screen())))?;
    }
    Ok(Exit::Held)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_replay_is_refused() {
        assert_eq!((agent_rounds("0"), agent_rounds("2")), (Ok(0), Ok(2)));
        for wrong in ["1", "101", "-1", "two"] {
            assert!(agent_rounds(wrong).is_err_and(|reason| reason.contains("from 2 to 100")), "{wrong}");
        }
    }
}
