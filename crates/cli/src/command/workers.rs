//! `gabfest workers`: lists the workers of a coordinator and the trials that are leased to them.

use std::{fmt::Write as _, time::Duration};

use proto::v1;
use record::count::plural;

use crate::{client, exit::Exit, patience::answered, remote, stdout};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    coordinators: remote::Coordinators,
    #[command(flatten)]
    identity: remote::Identity,
}

pub(crate) async fn list(args: Args) -> anyhow::Result<Exit> {
    let mut client = client::of(remote::connect(&args.coordinators.text(), &args.identity).await?);
    let list = async || client.runs.list_workers(v1::ListWorkersRequest {}).await;
    let reply = answered("the workers cannot be listed", list).await?;
    stdout::write(&table(&reply.workers))?;
    Ok(Exit::Held)
}

fn table(workers: &[v1::WorkerLine]) -> String {
    if workers.is_empty() {
        return "no worker is connected\n".to_owned();
    }
    let names = workers.iter().map(|worker| worker.name.chars().count());
    let width = names.max().unwrap_or(0).max("WORKER".len());
    let mut text = format!("{:<width$}  SLOTS  HEARTBEAT  VERSION   LEASED\n", "WORKER");
    for worker in workers {
        let heartbeat = match worker.connected {
            true => format!("{} s ago", Duration::from_millis(worker.silent_millis).as_secs()),
            false => "lost".to_owned(),
        };
        let quarantine = match (worker.quarantined, worker.held_back) {
            (true, _) => ", in quarantine",
            (false, true) => ", held back: its last trials were all broken",
            (false, false) => "",
        };
        let (name, slots, version) = (&worker.name, worker.slots, &worker.version);
        let line = format!(
            "{name:<width$}  {slots:>5}  {heartbeat:<9}  {version:<8}  {}{quarantine}",
            leased(&worker.playing)
        );
        let _ = writeln!(text, "{}", report::clean(&line));
    }
    text
}

fn leased(playing: &[v1::Playing]) -> String {
    let of_run = |one: &v1::Playing| format!("{} of {}", plural(one.trials, "trial", "trials"), one.run);
    match playing {
        [] => "nothing".to_owned(),
        playing => playing.iter().map(of_run).collect::<Vec<_>>().join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(name: &str, connected: bool, playing: &[(&str, u64)]) -> v1::WorkerLine {
        let playing = playing.iter().map(|(run, trials)| v1::Playing { run: (*run).to_owned(), trials: *trials });
        v1::WorkerLine {
            session: 1,
            name: name.to_owned(),
            version: "0.1.0".to_owned(),
            slots: 32,
            silent_millis: 1_700,
            playing: playing.collect(),
            connected,
            quarantined: name.starts_with("rack-2"),
            held_back: name.starts_with("rack-3"),
        }
    }

    #[test]
    fn each_worker_has_a_line() {
        let workers = [
            worker("rack-1", true, &[("nightly", 1), ("smoke", 31)]),
            worker("rack-2-with-a-long-name", true, &[]),
            worker("rack-3", true, &[]),
            worker("gone", false, &[("nightly", 2)]),
        ];
        let expected = "\
WORKER                   SLOTS  HEARTBEAT  VERSION   LEASED
rack-1                      32  1 s ago    0.1.0     1 trial of nightly, 31 trials of smoke
rack-2-with-a-long-name     32  1 s ago    0.1.0     nothing, in quarantine
rack-3                      32  1 s ago    0.1.0     nothing, held back: its last trials were all broken
gone                        32  lost       0.1.0     2 trials of nightly
";
        assert_eq!(table(&workers), expected);
        assert_eq!(table(&[]), "no worker is connected\n");
    }
}
