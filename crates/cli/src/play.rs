//! Plays a plan in this process and reports into the run's folder, for `run`, `resume` and `qnamaker test`.

use anyhow::Context as _;
use coordinator::Observers;
use record::{Usd, call::Spend};
use scenario::{Plan, RunId};
use tokio_util::sync::CancellationToken;
use worker::Resources;

use crate::{
    embedded::{self, Embedded},
    exit::Exit,
    finish::{self, Shown},
    follow::{self, OnInterrupt},
    log,
    patience::Patience,
    run_folder::RunFolder,
    signals::Interrupts,
    stderr::say,
};

/// Plays a plan in this process and reports into the run's folder. The plan comes with the spend of its preflight, and with the
/// most that the run may cost.
pub(crate) async fn play(
    (plan, preflight, max_cost): (Plan, Spend, Option<Usd>),
    worker: (Resources, u32),
    observers: Observers,
    run: &RunId,
    folder: &RunFolder,
    shown: Shown<'_>,
    log: Option<log::LogFormat>,
) -> anyhow::Result<Exit> {
    let interrupts = Interrupts::listen();
    let store = embedded::open(&folder.store()).await?;
    let mut embedded = Embedded::start(store, Some(worker), observers).await?;
    embedded.submit(run, &plan, preflight, max_cost).await?;
    folder.is_stored();
    let log_ends = CancellationToken::new();
    let log = log.map(|format| {
        let client = embedded.second_client();
        tokio::spawn(log::print(format, client, run.clone(), plan, log_ends.clone()))
    });
    let hurry = embedded.hurry();
    let last = follow::watch(embedded.client(), run, shown.quiet, &interrupts, OnInterrupt::StopTheRun(&hurry)).await;
    log_ends.cancel();
    if let Some(log) = log {
        log.await.context("failed to print the log")??;
    }
    end(embedded, run, folder, shown, last?.as_ref(), interrupts.count() > 0).await
}

/// Reports what was played, even if the run stopped early.
pub(crate) async fn end(
    mut embedded: Embedded,
    run: &RunId,
    folder: &RunFolder,
    shown: Shown<'_>,
    last: Option<&proto::v1::Progress>,
    interrupted: bool,
) -> anyhow::Result<Exit> {
    let trouble = last.map_or("", |last| last.trouble.as_str());
    embedded.make_room();
    let exit = finish::report(embedded.client(), run, &folder.path, shown, trouble, Patience::NONE).await;
    let is_gone = embedded.is_gone().await;
    embedded.stop().await;
    if is_gone {
        let trouble = if trouble.is_empty() { "the store was removed at the end of the run" } else { trouble };
        return Err(finish::lost(trouble, &exit, &folder.path));
    }
    if !trouble.is_empty() {
        return finish::stopped(trouble, exit, &format!("`gabfest resume {}`", folder.path.display()));
    }
    let exit = match exit.map_err(|error| finish::without_report(error, &folder.path))? {
        // The user stopped the run, so the quota is not the reason.
        Exit::Budget if interrupted => Exit::Interrupted,
        exit => exit,
    };
    if !shown.quiet {
        let why = match exit {
            Exit::Interrupted => Some("the run was interrupted"),
            Exit::Budget if last.is_some_and(|last| last.out_of_money) => {
                Some("the run stopped, because its budget is used up")
            }
            Exit::Budget => Some("the run stopped, because a provider's quota is used up"),
            _ => None,
        };
        if let Some(why) = why {
            let more = if last.is_some_and(|last| last.out_of_money) { " --max-cost USD" } else { "" };
            say(&format!("{why}; continue with `gabfest resume {}{more}`", folder.path.display()));
        }
    }
    Ok(exit)
}
