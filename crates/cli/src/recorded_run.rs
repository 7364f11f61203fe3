//! A run of this machine that is read to be replayed or judged again: its plan and its trials with their turns.

use std::{collections::BTreeMap, fmt};

use anyhow::anyhow;
use async_trait::async_trait;
use coordinator::Observers;
use proto::v1;
use record::{Trial, Turn};
use scenario::{Plan, RunId};
use tokio::sync::Mutex;
use tonic::Streaming;
use worker::rerun::Recordings;

use crate::{
    client::Client,
    embedded::{self, Embedded},
    exit::usage,
    export::{self, Exported},
    patience::Patience,
    run_folder::RunFolder,
};

/// A run of this machine with its store.
pub(crate) struct RecordedRun {
    pub(crate) folder: RunFolder,
    pub(crate) run: RunId,
    pub(crate) plan: Plan,
    embedded: Embedded,
}

impl RecordedRun {
    /// Opens a run by its folder or its id.
    pub(crate) async fn open(run: &str) -> anyhow::Result<Self> {
        if let (Some(folder), false) = (RunFolder::with_report(run), RunFolder::exists(run)) {
            return Err(usage(anyhow!(
                "{} holds the report of a run and not the run itself\nhint: a run of a coordinator keeps its conversations there; `gabfest run` keeps them in its folder",
                folder.display()
            )));
        }
        let folder = RunFolder::find(run)?;
        let store = embedded::open(&folder.store()).await?;
        let Some((id, plan)) = embedded::only_run(&store).await? else {
            return Err(usage(anyhow!("the run in {} was stopped before it began", folder.path.display())));
        };
        let embedded = Embedded::start(store, None, Observers::default()).await?;
        Ok(Self { folder, run: id, plan, embedded })
    }

    /// Passes each trial that ended to `take`, in the plan's order.
    pub(crate) async fn each(&mut self, mut take: impl FnMut(Exported)) -> anyhow::Result<()> {
        let run = self.run.clone();
        export::each_trial(self.embedded.client(), &run, 0, Patience::NONE, |exported| {
            take(exported);
            Ok(true)
        })
        .await
    }

    /// Its trials for a worker.
    pub(crate) fn recordings(&self) -> Recorded {
        Recorded { run: self.run.clone(), reading: Mutex::new(Reading::new(self.embedded.second_client())) }
    }

    pub(crate) async fn close(self) {
        self.embedded.stop().await;
    }
}

/// The trials of a recorded run, read once in the plan's order: as many are in memory as are judged at the same time.
pub(crate) struct Recorded {
    run: RunId,
    reading: Mutex<Reading>,
}

struct Reading {
    client: Client,
    trials: Option<Streaming<v1::ExportedTrial>>,
    /// The number that the stream has come to.
    next: u64,
    /// Read before they were asked for.
    ahead: BTreeMap<u64, Exported>,
}

impl fmt::Debug for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorded").field("run", &self.run).finish_non_exhaustive()
    }
}

#[async_trait]
impl Recordings for Recorded {
    async fn trial(&self, number: u64) -> Result<Option<(Trial, Vec<Turn>)>, String> {
        let mut reading = self.reading.lock().await;
        let found = reading.find(&self.run, number).await.map_err(|error| error.to_string())?;
        drop(reading);
        let Some(Exported { trial, turns, unreadable }) = found else { return Ok(None) };
        // Without its conversation, its record says how it ended.
        Ok(Some((trial, if unreadable.is_some() { Vec::new() } else { turns })))
    }
}

/// Why a conversation that was held cannot be read.
pub(crate) fn not_kept(trial: &Trial, turns: &[Turn]) -> Option<String> {
    (trial.turns > 0 && turns.is_empty()).then(|| "its conversation was not kept".to_owned())
}

impl Reading {
    fn new(client: Client) -> Self {
        Self { client, trials: None, next: 0, ahead: BTreeMap::new() }
    }

    async fn find(&mut self, run: &RunId, number: u64) -> anyhow::Result<Option<Exported>> {
        if let Some(found) = self.ahead.remove(&number) {
            return Ok(Some(found));
        }
        if self.trials.is_none() || number < self.next {
            // The first one, or one that is asked for again.
            let request = v1::ExportRequest { run: run.as_str().to_owned(), first: number };
            self.trials = Some(self.client.runs.export(request).await?.into_inner());
        }
        let Some(trials) = &mut self.trials else { return Ok(None) };
        while let Some(exported) = trials.message().await? {
            let exported = export::read(exported)?;
            self.next = exported.trial.number.saturating_add(1);
            match exported.trial.number.cmp(&number) {
                std::cmp::Ordering::Less => {
                    self.ahead.insert(exported.trial.number, exported);
                }
                std::cmp::Ordering::Equal => return Ok(Some(exported)),
                std::cmp::Ordering::Greater => {
                    self.ahead.insert(exported.trial.number, exported);
                    return Ok(None);
                }
            }
        }
        self.trials = None;
        Ok(None)
    }
}
