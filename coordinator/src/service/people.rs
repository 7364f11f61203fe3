//! The service that people call: submit, watch, stop and resume runs, and read their results.

use std::{pin::Pin, sync::Arc, time::Duration};

use proto::v1;
use record::Usd;
use record::summary::RunState;
use scenario::{
    Plan, RunId,
    plan::{MAX_CASES, MAX_TRIALS},
};
use store::{RunRow, Store};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio_stream::{Stream, StreamExt as _, wrappers::ReceiverStream};
use tonic::{Request, Response, Status};

use super::{attempts, batch::check_spend, status::status, transcripts::Transcripts};
use crate::{Error, Handle, Progress, Visitor, dispatcher::command::WorkerShown};

/// Between two messages of a watched run.
const WATCH_PERIOD: Duration = Duration::from_millis(100);
/// Exported trials that may wait for their reader.
const WAITING_TRIALS: usize = 8;
/// The limit on their bytes, unless a single trial is larger.
const WAITING_BYTES: usize = 1 << 20;
const LONGEST_RUN_ID: usize = 64;

#[derive(Debug)]
pub(super) struct People<S> {
    handle: Handle<S>,
}

impl<S: Store> People<S> {
    pub(super) fn new(handle: Handle<S>) -> Self {
        Self { handle }
    }

    /// A stored run, with the number of its done trials.
    async fn line(&self, row: RunRow) -> Result<v1::RunLine, Error> {
        let (done, paused) = match row.state {
            // A load that ends by time has no number before its end.
            RunState::Finished if row.planned > 0 => (row.planned, false),
            _ => {
                let progress = self.handle.watch(&row.id).await?;
                let progress = progress.borrow();
                (progress.counts.ended(), progress.paused)
            }
        };
        Ok(v1::RunLine {
            run: row.id.as_str().to_owned(),
            name: row.name,
            state: v1::RunState::from(row.state).into(),
            planned: row.planned.max(done),
            done,
            started_at: row.started_at,
            paused,
        })
    }
}

fn budget(nanos: Option<i64>) -> Result<Option<Usd>, Status> {
    match nanos {
        Some(nanos) if nanos <= 0 => Err(Status::invalid_argument("a budget (`max_cost`) is more than nothing")),
        nanos => Ok(nanos.map(Usd)),
    }
}

type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl<S: Store> v1::runs_server::Runs for People<S> {
    type WatchStream = Answers<v1::Progress>;
    type ExportStream = Answers<proto::ExportedTrial>;

    async fn submit(&self, request: Request<v1::SubmitRequest>) -> Result<Response<v1::SubmitReply>, Status> {
        let request = request.into_inner();
        let id = run_id(&request.run).map_err(status)?;
        let plan = read_plan(&request.plan).map_err(status)?;
        // A load that ends by time has as many trials as fit.
        let planned = plan.planned().unwrap_or(0);
        let preflight = proto::trial::spend_from_wire(request.preflight)
            .map_err(|error| Status::invalid_argument(error.to_string()))?;
        check_spend(&preflight).map_err(Status::invalid_argument)?;
        let started_at = if request.submitted_at > 0 { request.submitted_at } else { self.handle.now() };
        let row = RunRow {
            id,
            name: plan.name.clone(),
            plan_digest: plan.digest(),
            seed: plan.seed,
            planned,
            state: RunState::Running,
            started_at,
            ended_at: None,
            version: request.version,
            exhausted: false,
            max_cost: budget(request.max_cost_nanos)?,
            preflight,
        };
        self.handle.submit(row, plan, request.plan).await.map_err(status)?;
        Ok(Response::new(v1::SubmitReply { run: request.run, planned }))
    }

    async fn watch(&self, request: Request<v1::WatchRequest>) -> Result<Response<Self::WatchStream>, Status> {
        let run = RunId::new(request.into_inner().run);
        let progress = self.handle.watch(&run).await.map_err(status)?;
        let (sender, receiver) = mpsc::channel(1);
        tokio::spawn(show(progress, sender));
        Ok(Response::new(Box::pin(ReceiverStream::new(receiver))))
    }

    async fn cancel(&self, request: Request<v1::CancelRequest>) -> Result<Response<v1::CancelReply>, Status> {
        let by = Visitor::name(request.extensions());
        let v1::CancelRequest { run, drain } = request.into_inner();
        tracing::info!(run, by, drain, "a run is to stop");
        let state = self.handle.cancel(RunId::new(run), by, drain).await.map_err(status)?;
        Ok(Response::new(v1::CancelReply { state: v1::RunState::from(state).into() }))
    }

    async fn resume(&self, request: Request<v1::ResumeRequest>) -> Result<Response<v1::ResumeReply>, Status> {
        let by = Visitor::name(request.extensions());
        let v1::ResumeRequest { run, failed, max_cost_nanos } = request.into_inner();
        let max_cost = budget(max_cost_nanos)?;
        let resumed = self.handle.resume(RunId::new(run.clone()), by, failed, max_cost).await.map_err(status)?;
        let (planned, done, again) = (resumed.planned, resumed.done, resumed.again);
        Ok(Response::new(v1::ResumeReply { run, planned, done, again }))
    }

    async fn pause(&self, request: Request<v1::PauseRequest>) -> Result<Response<v1::PauseReply>, Status> {
        let by = Visitor::name(request.extensions());
        self.handle.pause(RunId::new(request.into_inner().run), by).await.map_err(status)?;
        Ok(Response::new(v1::PauseReply {}))
    }

    async fn set_slots(&self, request: Request<v1::SetSlotsRequest>) -> Result<Response<v1::SetSlotsReply>, Status> {
        let by = Visitor::name(request.extensions());
        let v1::SetSlotsRequest { run, group, slots } = request.into_inner();
        let group = Some(group).filter(|group| !group.is_empty());
        self.handle.set_slots(RunId::new(run), by, group, slots).await.map_err(status)?;
        Ok(Response::new(v1::SetSlotsReply {}))
    }

    async fn set_rate(&self, request: Request<v1::SetRateRequest>) -> Result<Response<v1::SetRateReply>, Status> {
        let by = Visitor::name(request.extensions());
        let v1::SetRateRequest { run, group, rate } = request.into_inner();
        let group = Some(group).filter(|group| !group.is_empty());
        let after = self.handle.set_rate(RunId::new(run), by, group, rate).await.map_err(status)?;
        Ok(Response::new(v1::SetRateReply { after_millis: u64::try_from(after.as_millis()).unwrap_or(u64::MAX) }))
    }

    async fn list(&self, _: Request<v1::ListRequest>) -> Result<Response<v1::ListReply>, Status> {
        let rows = self.handle.store().runs().await.map_err(|error| status(error.into()))?;
        let mut runs = Vec::with_capacity(rows.len());
        for row in rows {
            runs.push(self.line(row).await.map_err(status)?);
        }
        Ok(Response::new(v1::ListReply { runs }))
    }

    async fn list_workers(&self, _: Request<v1::ListWorkersRequest>) -> Result<Response<v1::ListWorkersReply>, Status> {
        let workers = self.handle.workers().await.map_err(status)?;
        Ok(Response::new(v1::ListWorkersReply { workers: workers.into_iter().map(worker_to_wire).collect() }))
    }

    async fn get_attempts(
        &self,
        request: Request<v1::GetAttemptsRequest>,
    ) -> Result<Response<v1::GetAttemptsReply>, Status> {
        let v1::GetAttemptsRequest { run, after_trial, after_epoch } = request.into_inner();
        let after = after_trial.map(|trial| (trial, after_epoch));
        let attempts = self.handle.store().attempts(&RunId::new(run), after, attempts::PAGE).await;
        let attempts = attempts::page(attempts.map_err(|error| status(error.into()))?);
        Ok(Response::new(v1::GetAttemptsReply { attempts }))
    }

    async fn get_spend(&self, request: Request<v1::GetSpendRequest>) -> Result<Response<v1::GetSpendReply>, Status> {
        let run = RunId::new(request.into_inner().run);
        let spend = self.handle.store().spend(&run).await.map_err(|error| status(error.into()))?;
        Ok(Response::new(v1::GetSpendReply { spend: proto::trial::spend_to_wire(spend) }))
    }

    async fn delete(&self, request: Request<v1::DeleteRequest>) -> Result<Response<v1::DeleteReply>, Status> {
        let by = Visitor::name(request.extensions());
        let run = RunId::new(request.into_inner().run);
        self.handle.delete(&run).await.map_err(status)?;
        tracing::info!(%run, by, "a run is deleted");
        Ok(Response::new(v1::DeleteReply {}))
    }

    async fn get_summary(
        &self,
        request: Request<v1::GetSummaryRequest>,
    ) -> Result<Response<v1::GetSummaryReply>, Status> {
        let run = RunId::new(request.into_inner().run);
        let summary = self.handle.summary(&run).await.map_err(status)?;
        let summary = serde_json::to_vec(&summary).map_err(|error| Status::internal(error.to_string()))?;
        Ok(Response::new(v1::GetSummaryReply { summary: summary.into() }))
    }

    async fn export(&self, request: Request<v1::ExportRequest>) -> Result<Response<Self::ExportStream>, Status> {
        let request = request.into_inner();
        let run = RunId::new(request.run);
        let store = self.handle.store();
        if store.run(&run).await.map_err(|error| status(error.into()))?.is_none() {
            return Err(Status::not_found(format!("run {run} is unknown")));
        }
        let mut transcripts = Transcripts::new(store.clone(), run, request.first);
        let (sender, receiver) = mpsc::channel(WAITING_TRIALS);
        let room = Arc::new(Semaphore::new(WAITING_BYTES));
        tokio::spawn(async move {
            while let Some(next) = transcripts.next().await.map_err(status).transpose() {
                let failed = next.is_err();
                let bytes = next.as_ref().map_or(0, proto::size_of_exported).min(WAITING_BYTES);
                let taken = Arc::clone(&room).acquire_many_owned(u32::try_from(bytes).unwrap_or(u32::MAX)).await;
                if sender.send((next, taken)).await.is_err() || failed {
                    break;
                }
            }
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(receiver).map(|(next, _taken)| next))))
    }
}

fn worker_to_wire(worker: WorkerShown) -> v1::WorkerLine {
    let playing = worker.playing.into_iter();
    v1::WorkerLine {
        session: worker.session,
        name: worker.name,
        version: worker.version,
        slots: worker.slots,
        silent_millis: u64::try_from(worker.silent.as_millis()).unwrap_or(u64::MAX),
        playing: playing.map(|(run, trials)| v1::Playing { run: run.as_str().to_owned(), trials }).collect(),
        connected: worker.connected,
        quarantined: worker.quarantined,
        held_back: worker.held_back,
    }
}

/// Sends the progress at once, then at most every [`WATCH_PERIOD`] while it changes, until the run has ended.
async fn show(mut progress: watch::Receiver<Progress>, sender: mpsc::Sender<Result<v1::Progress, Status>>) {
    loop {
        let shown = progress.borrow_and_update().clone();
        let ended = shown.state != RunState::Running;
        if sender.send(Ok(progress_to_wire(shown))).await.is_err() || ended {
            return;
        }
        tokio::time::sleep(WATCH_PERIOD).await;
        tokio::select! {
            changed = progress.changed() => if changed.is_err() {
                let _ = sender.send(Err(status(Error::Stopped))).await;
                return;
            },
            () = sender.closed() => return,
        }
    }
}

fn progress_to_wire(progress: Progress) -> v1::Progress {
    let counts = progress.counts;
    v1::Progress {
        run: progress.run.as_str().to_owned(),
        state: v1::RunState::from(progress.state).into(),
        planned: progress.planned,
        pass: counts.pass,
        fail: counts.fail,
        inconclusive: counts.inconclusive,
        error: counts.error,
        skipped: counts.skipped,
        cancelled: counts.cancelled,
        turns: progress.turns,
        input_tokens: progress.tokens.input,
        output_tokens: progress.tokens.output,
        cost_nanos: progress.cost.0,
        unpriced_calls: progress.unpriced_calls,
        estimated_calls: progress.estimated_calls,
        workers: progress.workers,
        running: progress.running,
        lost_attempts: progress.lost_attempts,
        elapsed_millis: progress.elapsed_millis,
        trouble: progress.trouble.unwrap_or_default(),
        waiting_for: progress.waiting_for.unwrap_or_default(),
        load: progress.load.map(|load| v1::LoadProgress {
            offered: load.offered,
            completed: load.completed,
            dropped: load.dropped,
            running: load.running,
        }),
        max_cost_nanos: progress.max_cost.map(|most| most.0),
        reserved_nanos: progress.reserved.0,
        out_of_money: progress.out_of_money,
    }
}

/// Run ids become names of folders, so they must not be paths.
fn run_id(text: &str) -> Result<RunId, Error> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let fits = (1..=LONGEST_RUN_ID).contains(&text.len()) && text.chars().all(plain) && !text.starts_with('.');
    if fits {
        Ok(RunId::new(text))
    } else {
        Err(Error::Refused(format!(
            "{text:?} is not a run id: 1 to {LONGEST_RUN_ID} letters, digits, dashes, underscores and dots"
        )))
    }
}

fn read_plan(json: &[u8]) -> Result<Plan, Error> {
    let text = std::str::from_utf8(json).map_err(|error| Error::Refused(format!("the plan is not text: {error}")))?;
    let plan = Plan::from_json(text).map_err(|error| Error::Refused(format!("the plan cannot be read: {error}")))?;
    // `gabfest` builds no plan above these limits; a summary has a line for each case.
    let (cases, trials) = (plan.case_count(), plan.planned().unwrap_or(0));
    if cases > MAX_CASES || trials > MAX_TRIALS {
        return Err(Error::Refused(format!(
            "the plan has {cases} cases and {trials} trials; at most {MAX_CASES} and {MAX_TRIALS} are played"
        )));
    }
    Ok(plan)
}
