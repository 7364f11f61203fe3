//! A run that is read to be replayed or judged again: its plan and its trials with their turns. It is in a folder of this machine, or on a
//! coordinator.

use std::{collections::BTreeMap, fmt, path::Path};

use anyhow::anyhow;
use async_trait::async_trait;
use coordinator::Observers;
use proto::v1;
use record::{Trial, Turn, summary::RunState};
use scenario::{Plan, RunId};
use tokio::sync::Mutex;
use tonic::{Streaming, transport::Channel};
use worker::rerun::Recordings;

use crate::{
    client::{self, Client},
    embedded::{self, Embedded},
    exit::usage,
    export::{self, Exported},
    finish,
    patience::Patience,
    remote::{self, Identity},
    report_files,
    run_folder::{RUNS, RunFolder},
};

/// How long a coordinator may be away while its run is read.
const AWAY_SECONDS: u64 = 120;

/// Where a recorded run is.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Source {
    /// Get the recorded run from this coordinator; a run in a local folder takes precedence
    #[arg(long, value_name = "URL", env = "GABFEST_COORDINATOR", value_delimiter = ',')]
    pub(crate) coordinator: Vec<String>,
    #[command(flatten)]
    pub(crate) identity: Identity,
}

impl Source {
    /// The coordinator, and as whom to ask it.
    pub(crate) fn coordinator(&self) -> Option<(&[String], &Identity)> {
        (!self.coordinator.is_empty()).then_some((self.coordinator.as_slice(), &self.identity))
    }
}

/// A run with its trials.
pub(crate) struct RecordedRun {
    /// Of a run on a coordinator: the folder of its report.
    pub(crate) folder: RunFolder,
    pub(crate) run: RunId,
    pub(crate) plan: Plan,
    store: Store,
}

/// What answers for the run.
enum Store {
    /// Its folder.
    Here(Box<Embedded>),
    Coordinator(Box<Client>, Channel),
}

impl RecordedRun {
    /// Opens a run by its folder or its id. `coordinator`: where it is if no folder of this machine has it, and as whom to ask.
    pub(crate) async fn open(run: &str, coordinator: Option<(&[String], &Identity)>) -> anyhow::Result<Self> {
        if let Some((addresses, identity)) = coordinator.filter(|_| !RunFolder::exists(run)) {
            return Self::on_coordinator(run, &addresses.join(","), identity).await;
        }
        if let (Some(folder), false) = (RunFolder::with_report(run), RunFolder::exists(run)) {
            return Err(usage(anyhow!(
                "{} holds the report of a run and not the run itself\nhint: its coordinator keeps the conversations; name it with --coordinator URL",
                folder.display()
            )));
        }
        let folder = RunFolder::find(run)?;
        let store = embedded::open(&folder.store()).await?;
        let Some((id, plan)) = embedded::only_run(&store).await? else {
            return Err(usage(anyhow!("the run in {} was stopped before it began", folder.path.display())));
        };
        let embedded = Embedded::start(store, None, Observers::default()).await?;
        Ok(Self { folder, run: id, plan, store: Store::Here(Box::new(embedded)) })
    }

    /// A run by its id, or by the folder that `watch` wrote its report to.
    async fn on_coordinator(run: &str, address: &str, identity: &Identity) -> anyhow::Result<Self> {
        let channel = remote::connect(address, identity).await?;
        let mut client = client::of(channel.clone());
        let (folder, id) = match RunFolder::with_report(run) {
            Some(folder) => {
                let id = report_files::summary(&folder)?.run.id;
                (folder, id)
            }
            None => (Path::new(RUNS).join(run), RunId::new(run)),
        };
        let summary = finish::summary(&mut client, &id, Patience::NONE).await?;
        if summary.run.state == RunState::Running {
            return Err(usage(anyhow!(
                "run {id} is still being played\nhint: wait for its end with `gabfest watch {id} --coordinator {address}`"
            )));
        }
        let plan = client::plan(&mut client, &summary, Patience::NONE).await?;
        let store = Store::Coordinator(Box::new(client), channel);
        Ok(Self { folder: RunFolder { path: folder }, run: id, plan, store })
    }

    /// Passes each trial that ended to `take`, in the plan's order.
    pub(crate) async fn each(&mut self, mut take: impl FnMut(Exported)) -> anyhow::Result<()> {
        let run = self.run.clone();
        let (client, patience) = match &mut self.store {
            Store::Here(embedded) => (embedded.client(), Patience::NONE),
            Store::Coordinator(client, _) => (&mut **client, Patience::seconds(AWAY_SECONDS)),
        };
        export::each_trial(client, &run, 0, patience, |exported| {
            take(exported);
            Ok(true)
        })
        .await
    }

    /// Its trials for a worker.
    pub(crate) fn recordings(&self) -> Recorded {
        let client = match &self.store {
            Store::Here(embedded) => embedded.second_client(),
            Store::Coordinator(_, channel) => client::of(channel.clone()),
        };
        Recorded { run: self.run.clone(), reading: Mutex::new(Reading::new(client)) }
    }

    /// Whether its folder has its store.
    pub(crate) fn is_here(&self) -> bool {
        matches!(self.store, Store::Here(_))
    }

    pub(crate) async fn close(self) {
        if let Store::Here(embedded) = self.store {
            embedded.stop().await;
        }
    }
}

/// The trials of a recorded run, read once in the plan's order: as many are in memory as are judged at the same time.
pub(crate) struct Recorded {
    run: RunId,
    reading: Mutex<Reading>,
}

struct Reading {
    client: Client,
    trials: Option<Streaming<proto::ExportedTrial>>,
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
