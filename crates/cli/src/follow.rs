//! Follows a run to its end and shows its progress. The same for every transport.

use anyhow::anyhow;
use futures_util::StreamExt as _;
use proto::v1;
use scenario::RunId;
use tonic::{Status, Streaming};

use crate::{
    client::{Client, refused},
    export::{Away, Patience},
    progress::Progress,
    signals::Interrupts,
};

/// What Ctrl-C does while a run is followed.
pub(crate) enum OnInterrupt<'a> {
    /// The run is ours: drain it, then call this, which gives up what is being played. Either way it can be resumed.
    StopTheRun(&'a (dyn Fn() + Sync)),
    /// The run is somebody's: only stop looking. Its coordinator may be away for so long.
    StopLooking(Patience),
}

/// Shows progress until the run ends. `None`: somebody stopped looking. A run that is somebody's goes on without us, so that a
/// coordinator that goes away is waited for.
pub(crate) async fn watch(
    client: &mut Client,
    run: &RunId,
    quiet: bool,
    interrupts: &Interrupts,
    on_interrupt: OnInterrupt<'_>,
) -> anyhow::Result<Option<v1::Progress>> {
    let mut updates = updates(client, run).await.map_err(|status| refused("the run cannot be followed", &status))?;
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
                    let patience = match on_interrupt {
                        OnInterrupt::StopTheRun(_) => Patience::NONE,
                        OnInterrupt::StopLooking(patience) => patience,
                    };
                    let back = tokio::select! {
                        back = wait_for(client, run, patience, status) => back,
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
                client.runs.cancel(request).await.map_err(|status| anyhow!("the run cannot be stopped: {}", status.message()))?;
            }
        }
    }
}

async fn updates(client: &mut Client, run: &RunId) -> Result<Streaming<v1::Progress>, Status> {
    let request = v1::WatchRequest { run: run.as_str().to_owned() };
    client.runs.watch(request).await.map(tonic::Response::into_inner)
}

/// Tries to follow the run again until the coordinator is back.
async fn wait_for(
    client: &mut Client,
    run: &RunId,
    patience: Patience,
    mut status: Status,
) -> anyhow::Result<Option<Streaming<v1::Progress>>> {
    let mut away = Away::new(patience);
    loop {
        away.wait("the coordinator was lost while the run went on", &status).await?;
        match updates(client, run).await {
            Ok(updates) => return Ok(Some(updates)),
            Err(next) => status = next,
        }
    }
}
