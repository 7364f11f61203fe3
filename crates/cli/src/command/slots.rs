//! `gabfest slots`: set how many conversations of a load run at once, while it plays.

use anyhow::anyhow;
use proto::v1;

use crate::{
    args::{SLOTS, whole},
    client,
    exit::{Exit, usage},
    remote, stdout,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run's id
    run: String,
    /// Conversations at once; running ones are played to their end
    #[arg(value_parser = whole::<u32>(u64::from(*SLOTS.start())..=u64::from(*SLOTS.end())))]
    slots: u32,
    /// Only this group of the load; without it, each group that plays in slots gets as many
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    #[command(flatten)]
    coordinators: remote::Coordinators,
    #[command(flatten)]
    identity: remote::Identity,
}

pub(crate) async fn slots(args: Args) -> anyhow::Result<Exit> {
    let mut client = client::of(remote::connect(&args.coordinators.text(), &args.identity).await?);
    let group = args.group.clone().unwrap_or_default();
    let request = v1::SetSlotsRequest { run: args.run.clone(), group, slots: args.slots };
    client.runs.set_slots(request).await.map_err(|status| usage(anyhow!("{}", status.message())))?;
    let slots = if args.slots == 1 { "1 slot".to_owned() } else { format!("{} slots", args.slots) };
    let of = args.group.map_or_else(String::new, |group| format!(" for the group {group}"));
    stdout::line(&format!("{} has {slots}{of} from now on", args.run))?;
    Ok(Exit::Held)
}
