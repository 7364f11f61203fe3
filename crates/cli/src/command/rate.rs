//! `gabfest rate`: set how many conversations of a load start each second, while it plays.

use std::time::Duration;

use anyhow::anyhow;
use proto::v1;

use crate::{
    client,
    exit::{Exit, usage},
    load::units::{Amount, Span},
    remote, stdout,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run's id
    run: String,
    /// Starts a second, minute or hour: `30/s`, `300/m`, `1000/h`
    rate: Amount,
    /// Only this group of the load; without it, each group with a rate gets this one
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    #[command(flatten)]
    coordinators: remote::Coordinators,
    #[command(flatten)]
    identity: remote::Identity,
}

pub(crate) async fn rate(args: Args) -> anyhow::Result<Exit> {
    let mut client = client::of(remote::connect(&args.coordinators.text(), &args.identity).await?);
    // A number alone is starts a second.
    let rate = Amount { per: args.rate.per.or(Some(Span { micros: 1_000_000 })), ..args.rate };
    let group = args.group.clone().unwrap_or_default();
    let request = v1::SetRateRequest { run: args.run.clone(), group, rate: rate.per_second(None) };
    let reply = client.runs.set_rate(request).await.map_err(|status| usage(anyhow!("{}", status.message())))?;
    let after = Duration::from_millis(reply.into_inner().after_millis);
    let of = args.group.map_or_else(String::new, |group| format!(" for the group {group}"));
    let when = match after {
        Duration::ZERO => "from the start".to_owned(),
        after => format!("{:.1} seconds from now; workers hold the starts before that", after.as_secs_f64()),
    };
    stdout::line(&format!("{} has the rate {rate}{of}, {when}", args.run))?;
    Ok(Exit::Held)
}
