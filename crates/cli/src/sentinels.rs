//! Sentinels: labelled conversations that the judge of a run judges too, to tell a changed judge from a changed agent.
//!
//! They are judged before the run begins, with the same seeds every night: by `gabfest run`, and for a fleet by `gabfest submit --watch`, with the
//! judge of the settings there. The result is a file of the run's folder, from which its report, the history and comparisons take it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::Path,
};

use anyhow::{Context as _, anyhow};
use evaluate::calibration::{Calibration, Item};
use futures_util::{StreamExt as _, stream};
use history::History;
use scenario::{Asks, RunId, check::Judging};
use serde::{Deserialize, Serialize};
use statistics::sentinels::{self, NightSentinels, SentinelDrift, SentinelVerdict, SentinelsCompared};
use worker::Models;

use crate::{diagnostics, exit::usage, history_file::Place, labelled_judges::LabelledJudges, labels, settings::Read};

/// In the folder of a run.
const FILE: &str = "sentinels.json";
const VERSION: u32 = 1;
/// Each costs one question of the judge in every run, and a line in the history.
const MOST: usize = 500;
/// Nights that tonight's verdicts are compared with.
const MOST_BEFORE: usize = 90;

/// The sentinels of a run, as its folder has them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Judged {
    version: u32,
    run: String,
    /// Of the settings.
    file: String,
    night: NightSentinels,
    drift: SentinelDrift,
}

/// Judges the sentinels of the settings. `None`: there are none, or no judge can be asked.
pub(crate) async fn judge(
    read: &Read,
    models: &Models,
    slots: u32,
    run: &RunId,
    place: &Place,
) -> anyhow::Result<Option<Judged>> {
    let Some(file) = &read.settings.sentinels else { return Ok(None) };
    let (items, digest) = labels::read(&read.folder.join(file))?;
    if items.len() > MOST {
        let found = items.len();
        return Err(usage(anyhow!(
            "{} has {found} sentinels, and may have {MOST}\nhint: each is judged in every run; `gabfest judge` measures a judge with all labels",
            file.display()
        )));
    }
    if let Some(failure) = models.missing(&Asks { judges: [None].into(), ..Asks::default() }) {
        diagnostics::warn(&format!("the sentinels are not judged: {}", failure.message));
        return Ok(None);
    }
    let night = ask(&items, digest, models, slots, run).await?;
    let before = match before(place).await {
        Ok(before) => before,
        Err(error) => {
            diagnostics::warn(&format!("the history is not used: {}", diagnostics::error_text(&error)));
            Vec::new()
        }
    };
    let missing = items.len() - night.verdicts.len();
    if missing > 0 {
        diagnostics::warn(&format!("{missing} of {} sentinels got no verdict", items.len()));
    }
    let drift = sentinels::drift(&before, &night);
    let (run, file) = (run.to_string(), file.display().to_string());
    Ok(Some(Judged { version: VERSION, run, file, night, drift }))
}

/// For `submit` without `--watch`: nothing here would keep what the judge says.
pub(crate) fn announce_unused(read: &Read) -> anyhow::Result<()> {
    let Some(file) = &read.settings.sentinels else { return Ok(()) };
    labels::read(&read.folder.join(file))?;
    diagnostics::note(&format!("the sentinels of {} are judged by `gabfest submit --watch` only", file.display()));
    Ok(())
}

async fn ask(
    items: &[Item],
    digest: String,
    models: &Models,
    slots: u32,
    run: &RunId,
) -> anyhow::Result<NightSentinels> {
    let calibration = Calibration::new(Judging::USUAL, None)
        .map_err(|error| usage(anyhow!("failed to {error}\nhint: {}", error.help())))?;
    let calibration = &calibration;
    let asked = items.iter().enumerate().map(|(place, item)| {
        let judges = LabelledJudges::new(models, run, "sentinels", place as u64);
        async move { calibration.ask(item, &[], None, &judges).await }
    });
    let answers: Vec<_> = stream::iter(asked).buffered(slots.max(1) as usize).collect().await;
    let (mut judges, mut names, mut verdicts) = (BTreeSet::new(), BTreeSet::new(), BTreeMap::new());
    for (item, answer) in items.iter().zip(answers) {
        let Ok(answered) = answer else { continue };
        for ballot in &answered.ballots {
            judges.insert(ballot.judge.clone());
            names.insert(redact::redact(&ballot.model).into_owned());
        }
        if let Some(verdict) = answered.label {
            let of = SentinelVerdict { label: item.label.name().to_owned(), verdict: verdict.name().to_owned() };
            verdicts.insert(redact::redact(&item.id).into_owned(), of);
        }
    }
    Ok(NightSentinels { digest, judges: judges.into_iter().collect(), models: names.into_iter().collect(), verdicts })
}

/// The sentinels of the nights in the history, the earliest first.
async fn before(place: &Place) -> anyhow::Result<Vec<NightSentinels>> {
    let Some(path) = place.path().filter(|path| path.is_file()) else { return Ok(Vec::new()) };
    let mut history = History::read(&path).await?;
    let runs = history.runs().await?;
    history.close().await?;
    let mut nights: Vec<NightSentinels> = runs.into_iter().filter_map(|run| run.sentinels).collect();
    nights.drain(..nights.len().saturating_sub(MOST_BEFORE));
    Ok(nights)
}

impl Judged {
    /// Into the folder of the run.
    pub(crate) fn write(&self, folder: &Path) -> anyhow::Result<()> {
        let path = folder.join(FILE);
        let text = serde_json::to_string_pretty(self).context("failed to write the sentinels")?;
        fs::write(&path, text + "\n").with_context(|| format!("failed to write {}", path.display()))
    }
}

/// The verdicts of a run on its sentinels. A file that cannot be read is a warning.
pub(crate) fn night(folder: &Path, run: &str) -> Option<NightSentinels> {
    of(folder, run).map(|judged| judged.night)
}

/// What the nights before say about the judge of this run.
pub(crate) fn drift(folder: &Path, run: &str) -> Option<SentinelDrift> {
    of(folder, run).map(|judged| judged.drift)
}

/// The sentinels of two runs; `None` if one has none, or other ones.
pub(crate) fn between(base: (&Path, &str), new: (&Path, &str)) -> Option<SentinelsCompared> {
    let (base, new) = (of(base.0, base.1)?, of(new.0, new.1)?);
    sentinels::between(&base.night, &new.night, Some(&new.drift))
}

fn of(folder: &Path, run: &str) -> Option<Judged> {
    let path = folder.join(FILE);
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        text => text.context("read"),
    };
    let judged = text.and_then(|text| serde_json::from_str::<Judged>(&text).context("understand"));
    match judged {
        Ok(judged) => (judged.version == VERSION && judged.run == run).then_some(judged),
        Err(error) => {
            diagnostics::warn(&format!("failed to {error} {}: the sentinels count in nothing", path.display()));
            None
        }
    }
}
