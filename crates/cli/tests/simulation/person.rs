//! Who submits the run, watches it, and resumes it whenever it stops early.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use proto::v1::{self, RunState, runs_client::RunsClient};
use record::{Summary, Trial};
use scenario::Plan;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use tonic::transport::Channel;

use crate::{
    machine::{self, Sockets},
    network, process, staff,
};

pub(crate) const RUN: &str = "20261121-030000-0001";
/// 2026-11-21T03:00:00Z
pub(crate) const STARTED_AT: i64 = 1_795_230_000_000;
/// Pays for the dearest run many times over, in nano-dollars.
const PLENTY: i64 = 1_000_000_000_000;
const AGAIN: Duration = Duration::from_millis(500);

/// What a person knows at the end.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) summary: Summary,
    /// Each trial with all that must not depend on how it was played.
    pub(crate) trials: Vec<(Trial, Value)>,
    /// The same as the report publishes them.
    pub(crate) lines: Vec<Value>,
    pub(crate) transcripts: Vec<Value>,
    /// When the first budget was used up, and the summary then.
    pub(crate) broke: Option<(Duration, Summary)>,
    /// How often the run stopped for another reason.
    pub(crate) interruptions: u32,
}

/// Submits `plan` and leaves what it saw of its end in `seen`. `budget`: the first one, in nano-dollars.
pub(crate) async fn follow(
    coordinators: usize,
    plan: Plan,
    budget: Option<i64>,
    seen: Arc<Mutex<Option<Seen>>>,
) -> turmoil::Result {
    let (sockets, asks) = Sockets::new();
    tokio::task::spawn_local(machine::serve(asks));
    let channel = network::channel(sockets, coordinators, Arc::default());
    let mut people = RunsClient::new(channel).max_decoding_message_size(proto::MAX_MESSAGE_BYTES);
    let request = v1::SubmitRequest {
        run: RUN.to_owned(),
        plan: plan.to_json().into_bytes().into(),
        submitted_at: STARTED_AT,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        max_cost_nanos: budget,
        ..v1::SubmitRequest::default()
    };
    while people.submit(request.clone()).await.is_err() {
        sleep(AGAIN).await;
    }
    let (mut broke, mut interruptions) = (None, 0);
    loop {
        sleep(AGAIN).await;
        let Some(last) = watched(&mut people).await else { continue };
        match last.state() {
            RunState::Finished => {
                let Some(summary) = summary(&mut people).await else { continue };
                let Some(trials) = exported(&mut people).await else { continue };
                let (lines, transcripts) = trials.iter().cloned().map(published).unzip();
                let trials = trials.into_iter().map(staff::seen).collect();
                *seen.lock().unwrap() = Some(Seen { summary, trials, lines, transcripts, broke, interruptions });
                return Ok(());
            }
            RunState::Interrupted => {
                if last.out_of_money && broke.is_none() {
                    let Some(summary) = summary(&mut people).await else { continue };
                    broke = Some((process::now(), summary));
                }
                interruptions += u32::from(!last.out_of_money);
                let max_cost_nanos = (budget.is_some() && last.out_of_money).then_some(PLENTY);
                let resume = v1::ResumeRequest { run: RUN.to_owned(), failed: false, max_cost_nanos };
                // It may be running again already.
                let _ = people.resume(resume).await;
            }
            other => return Err(format!("the run is {other:?}").into()),
        }
    }
}

/// The last progress before the stream ends or breaks. A connection that hangs is given up.
async fn watched(people: &mut RunsClient<Channel>) -> Option<v1::Progress> {
    let mut updates = people.watch(v1::WatchRequest { run: RUN.to_owned() }).await.ok()?.into_inner();
    let mut last = None;
    loop {
        match timeout(Duration::from_secs(60), updates.message()).await {
            Ok(Ok(Some(progress))) => last = Some(progress),
            Ok(Ok(None)) => return last.filter(|last: &v1::Progress| last.state() != RunState::Running),
            Ok(Err(_)) | Err(_) => return None,
        }
    }
}

async fn summary(people: &mut RunsClient<Channel>) -> Option<Summary> {
    let reply = people.get_summary(v1::GetSummaryRequest { run: RUN.to_owned() }).await.ok()?;
    serde_json::from_slice(&reply.into_inner().summary).ok()
}

async fn exported(people: &mut RunsClient<Channel>) -> Option<Vec<proto::ExportedTrial>> {
    let request = v1::ExportRequest { run: RUN.to_owned(), first: 0 };
    let mut trials = people.export(request).await.ok()?.into_inner();
    let mut all = Vec::new();
    while let Some(exported) = trials.message().await.ok()? {
        all.push(exported);
    }
    Some(all)
}

/// The line of an exported trial in `trials.jsonl`, and that in `transcripts.jsonl`, as if every transcript were kept.
fn published(exported: proto::ExportedTrial) -> (Value, Value) {
    let trial = proto::trial::from_wire(exported.trial.unwrap()).unwrap();
    let turns: Vec<record::Turn> =
        exported.turns.into_iter().map(|turn| proto::turn::from_bytes(turn).unwrap()).collect();
    let line = serde_json::from_str(&report::trials_jsonl::line(&trial)).unwrap();
    (line, json!({ "number": trial.number, "trial_id": trial.trial_id, "turns": turns }))
}
