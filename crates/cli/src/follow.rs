//! Follows a run to its end and shows its progress, over any transport.

use futures_util::StreamExt as _;
use proto::v1;
use scenario::RunId;
use tonic::{Status, Streaming};

use crate::{
    client::Client,
    patience::{Away, Patience},
    progress::Progress,
    refusal,
    signals::Interrupts,
};

/// The error if a coordinator stays away.
const LOST: &str = "the coordinator was lost while the run went on";

/// What Ctrl-C does during a run.
pub(crate) enum OnInterrupt<'a> {
    /// The run is ours: drain it; on the second signal call this, which gives up the running trials. The run can be
    /// resumed in both cases.
    StopTheRun(&'a (dyn Fn() + Sync)),
    /// The run belongs to a coordinator: only stop following it. The value says how long the coordinator may be away.
    StopLooking(Patience),
}

/// Shows progress until the run ends. `None`: the user stopped following it. A run on a coordinator continues without
/// us, so this waits for a coordinator that is away.
pub(crate) async fn watch(
    client: &mut Client,
    run: &RunId,
    quiet: bool,
    interrupts: &Interrupts,
    on_interrupt: OnInterrupt<'_>,
) -> anyhow::Result<Option<v1::Progress>> {
    let patience = match on_interrupt {
        OnInterrupt::StopTheRun(_) => Patience::NONE,
        OnInterrupt::StopLooking(patience) => patience,
    };
    let mut updates = tokio::select! {
        updates = begin(client, run, patience) => updates?,
        () = interrupts.reached(1), if matches!(on_interrupt, OnInterrupt::StopLooking(_)) => return Ok(None),
    };
    let mut shown = Progress::new(quiet);
    let mut asked = 0_u32;
    loop {
        tokio::select! {
            update = updates.next() => match update {
                Some(Ok(progress)) => {
                    shown.show(&progress);
                    if progress.state() != v1::RunState::Running {
                        shown.finish(Some(&progress));
                        return Ok(Some(progress));
                    }
                }
                lost => {
                    let gone = || Status::unavailable("the connection was closed");
                    let status = lost.map_or_else(gone, |lost| lost.err().unwrap_or_else(gone));
                    let back = tokio::select! {
                        back = wait_for(client, run, patience, LOST, status) => back.map(Some),
                        () = interrupts.reached(asked + 1) => Ok(None),
                    };
                    match back {
                        Ok(Some(back)) => updates = back,
                        other => {
                            shown.finish(None);
                            return other.map(|_| None);
                        }
                    }
                }
            },
            () = interrupts.reached(asked + 1), if asked < 2 => {
                asked += 1;
                let OnInterrupt::StopTheRun(hurry) = &on_interrupt else {
                    shown.finish(None);
                    return Ok(None);
                };
                if asked == 2 {
                    shown.note("interrupted again: giving up the trials that are being played");
                    hurry();
                    continue;
                }
                shown.note("interrupted: finishing the trials that are being played; once more gives them up");
                shown.drain();
                let request = v1::CancelRequest { run: run.as_str().to_owned(), drain: true };
                client.runs.cancel(request).await.map_err(|status| refusal::of("the run cannot be stopped", &status))?;
            }
        }
    }
}

async fn updates(client: &mut Client, run: &RunId) -> Result<Streaming<v1::Progress>, Status> {
    let request = v1::WatchRequest { run: run.as_str().to_owned() };
    client.runs.watch(request).await.map(tonic::Response::into_inner)
}

/// The first updates. The coordinator may go away between the connection and the first message.
async fn begin(client: &mut Client, run: &RunId, patience: Patience) -> anyhow::Result<Streaming<v1::Progress>> {
    match updates(client, run).await {
        Ok(updates) => Ok(updates),
        Err(status) => wait_for(client, run, patience, "the run cannot be followed", status).await,
    }
}

/// Tries to follow the run until the coordinator is back.
async fn wait_for(
    client: &mut Client,
    run: &RunId,
    patience: Patience,
    what: &str,
    mut status: Status,
) -> anyhow::Result<Streaming<v1::Progress>> {
    let mut away = Away::new(patience);
    loop {
        away.wait(what, &status).await?;
        match updates(client, run).await {
            Ok(updates) => return Ok(updates),
            Err(next) => status = next,
        }
    }
}
