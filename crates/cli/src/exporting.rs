//! Writes a run as Parquet files, from wherever it is.

mod facts;
mod from_coordinator;
mod from_store;
mod setting;
mod source;

use std::collections::VecDeque;

use anyhow::anyhow;
use lake::{Attempt, Export, Manifest, Place, Played};
use scenario::Plan;

pub(crate) use self::{
    from_coordinator::FromCoordinator,
    from_store::FromStore,
    setting::{ExportTo, Settings},
    source::Source,
};
use crate::{exit::usage, export::Exported};

/// The place of a run's export, which credentials of its environment are kept out of every message.
pub(crate) fn place(text: &str, run: &str) -> anyhow::Result<Place> {
    for name in lake::SECRETS {
        if let Ok(secret) = std::env::var(name) {
            redact::register(&secret);
        }
    }
    Place::of(text, run).map_err(|error| usage(anyhow!("{}", redact::redact(&error.to_string()))))
}

/// Writes the run to its place. Nobody sees the export before it is whole.
pub(crate) async fn export(source: &mut impl Source, place: Place) -> anyhow::Result<Manifest> {
    let summary = source.summary().await?;
    let plan = source.plan(&summary).await?;
    let run = facts::of(&summary);
    let mut export = Export::begin(place, run, facts::cases(&plan, &summary)).await.map_err(of_place)?;
    let mut others = Others::default();
    while let Some(exported) = source.next().await? {
        let Exported { trial, turns, unreadable } = exported;
        for unended in others.before(source, trial.number).await? {
            add_unended(&mut export, &plan, &unended)?;
        }
        let of_trial = others.of(source, trial.number).await?;
        let unreadable = unreadable.as_deref();
        export.add(&Played { trial: &trial, turns: &turns, unreadable, others: &of_trial })?;
        if export.waits() {
            export.upload().await.map_err(of_place)?;
        }
    }
    for unended in others.before(source, u64::MAX).await? {
        add_unended(&mut export, &plan, &unended)?;
    }
    let spend = source.spend().await?;
    export.finish(&spend).await.map_err(of_place)
}

/// The attempts at a trial that did not end.
fn add_unended(export: &mut Export, plan: &Plan, attempt: &Attempt) -> anyhow::Result<()> {
    if let Some(trial) = plan.trial(attempt.number) {
        export.add_unended((trial.number, &trial.case_id), trial.case, std::slice::from_ref(attempt))?;
    }
    Ok(())
}

fn of_place(error: lake::Error) -> anyhow::Error {
    let text = redact::redact(&error.to_string()).into_owned();
    match error {
        lake::Error::Taken { .. } => {
            usage(anyhow!("{text}\nhint: choose another --out; `{{run}}` in it stands for the run's id"))
        }
        lake::Error::Place(_) | lake::Error::Manifest { .. } => usage(anyhow!("{text}")),
        _ => anyhow!("{text}\nhint: an export that broke off has no {}; export the run again", lake::MANIFEST),
    }
}

/// The attempts that do not count, read as the trials come.
#[derive(Default)]
struct Others {
    read: VecDeque<Attempt>,
    after: Option<(u64, u32)>,
    is_end: bool,
}

impl Others {
    /// Those of trials before this number, which did not end.
    async fn before(&mut self, source: &mut impl Source, number: u64) -> anyhow::Result<Vec<Attempt>> {
        self.take(source, |attempt| attempt.number < number).await
    }

    async fn of(&mut self, source: &mut impl Source, number: u64) -> anyhow::Result<Vec<Attempt>> {
        self.take(source, |attempt| attempt.number == number).await
    }

    async fn take(
        &mut self,
        source: &mut impl Source,
        wanted: impl Fn(&Attempt) -> bool,
    ) -> anyhow::Result<Vec<Attempt>> {
        let mut taken = Vec::new();
        loop {
            if self.read.is_empty() && !self.is_end {
                self.read = source.attempts(self.after).await?.into();
                self.is_end = self.read.is_empty();
                self.after = self.read.back().map(|last| (last.number, last.epoch)).or(self.after);
            }
            match self.read.pop_front_if(|attempt| wanted(attempt)) {
                Some(attempt) => taken.push(attempt),
                None => return Ok(taken),
            }
        }
    }
}
