//! One export: rows in, files and then the manifest out.

use std::collections::BTreeSet;

use object_store::ObjectStoreExt as _;
use record::call::Spend;
use scenario::CaseId;

use crate::{
    Attempt, Case, Error, Facts, MANIFEST, Manifest, Part, Place, Played,
    columns::{self, TABLES},
    manifest::{FORMAT, VERSION},
    table::{Bounds, Table},
    upload,
};

/// So many digits of a digest name a file.
const NAME_DIGITS: usize = 32;
/// A manifest is not larger.
const MOST_MANIFEST_BYTES: u64 = 64 << 20;

/// An export that is being made. Trials come in the plan's order.
#[derive(Debug)]
pub struct Export {
    place: Place,
    manifest: Manifest,
    /// By the number of the case.
    cases: Vec<Case>,
    runs: Table,
    trials: Table,
    turns: Table,
    judgments: Table,
    attempts: Table,
    spend: Table,
    /// Files of an export that was here before.
    before: BTreeSet<String>,
}

impl Export {
    /// Begins the export of a run.
    ///
    /// # Errors
    /// [`Error::Taken`] if the place holds another run's export, [`Error::Unreachable`].
    pub async fn begin(place: Place, run: Facts, cases: Vec<Case>) -> Result<Self, Error> {
        Self::bounded(place, run, cases, Bounds::USUAL).await
    }

    async fn bounded(place: Place, run: Facts, cases: Vec<Case>, bounds: Bounds) -> Result<Self, Error> {
        let before = match there(&place).await? {
            Some(there) if there.run.id != run.id => {
                return Err(Error::Taken { place: place.to_string(), run: there.run.id });
            }
            Some(there) => there.files().map(|part| part.path.clone()).filter(|path| is_of_export(path)).collect(),
            None => BTreeSet::new(),
        };
        let [runs, trials, turns, judgments, attempts, spend] = TABLES;
        let table = |(name, columns)| Table::new(name, columns, bounds);
        Ok(Self {
            place,
            manifest: Manifest::of(run),
            cases,
            runs: table(runs)?,
            trials: table(trials)?,
            turns: table(turns)?,
            judgments: table(judgments)?,
            attempts: table(attempts)?,
            spend: table(spend)?,
            before,
        })
    }

    /// Adds a trial that ended.
    pub fn add(&mut self, played: &Played<'_>) -> Result<(), Error> {
        let Self { manifest: Manifest { run, .. }, cases, .. } = self;
        let (trial, unknown) = (played.trial, Case::default());
        let case = usize::try_from(trial.case).ok().and_then(|number| cases.get(number)).unwrap_or(&unknown);
        self.trials.push(columns::trial(run, case, played))?;
        for row in columns::turns(run, case, played) {
            self.turns.push(row)?;
        }
        for (place, judgment) in trial.judgments.iter().enumerate() {
            self.judgments.push(columns::judgment(run, case, trial, place, judgment))?;
        }
        let of = (trial.number, &trial.case_id);
        for row in columns::attempts(run, case, of, Some(trial), played.others) {
            self.attempts.push(row)?;
        }
        Ok(())
    }

    /// Adds the attempts at a trial that did not end: its number and its case.
    pub fn add_unended(&mut self, of: (u64, &CaseId), case: u64, attempts: &[Attempt]) -> Result<(), Error> {
        let (run, unknown) = (&self.manifest.run, Case::default());
        let case = usize::try_from(case).ok().and_then(|number| self.cases.get(number)).unwrap_or(&unknown);
        for row in columns::attempts(run, case, of, None, attempts) {
            self.attempts.push(row)?;
        }
        Ok(())
    }

    /// Whether files wait to be uploaded.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.tables().iter().any(|table| !table.whole.is_empty())
    }

    /// Uploads the files that are whole.
    pub async fn upload(&mut self) -> Result<(), Error> {
        let Self { place, manifest, runs, trials, turns, judgments, attempts, spend, .. } = self;
        for table in [runs, trials, turns, judgments, attempts, spend] {
            for whole in table.whole.drain(..) {
                let path = format!("{}/{}.parquet", table.name, &whole.sha256[..NAME_DIGITS]);
                let (sha256, bytes, rows) = (whole.sha256.clone(), whole.bytes, whole.rows);
                upload::put(place, &place.file(&path), whole).await?;
                let files = manifest.tables.entry(table.name.to_owned()).or_default();
                files.rows += rows;
                files.files.push(Part { path, sha256, bytes, rows });
            }
        }
        Ok(())
    }

    /// Ends the export: uploads what is left, then the manifest, then removes the files of the export that was here before.
    pub async fn finish(mut self, spend: &Spend) -> Result<Manifest, Error> {
        let run = &self.manifest.run;
        self.runs.push(columns::run(run))?;
        for ((role, model), line) in &spend.lines {
            self.spend.push(columns::line(run, *role, model, line))?;
        }
        let written: BTreeSet<String> = self.manifest.tables.keys().cloned().collect();
        for table in [
            &mut self.runs,
            &mut self.trials,
            &mut self.turns,
            &mut self.judgments,
            &mut self.attempts,
            &mut self.spend,
        ] {
            table.finish(!written.contains(table.name))?;
        }
        self.upload().await?;
        let text = self.manifest.to_json().map_err(|error| Error::Place(error.to_string()))?;
        upload::text(&self.place, &self.place.file(MANIFEST), text.into_bytes()).await?;
        let now: BTreeSet<&str> = self.manifest.files().map(|part| part.path.as_str()).collect();
        for path in self.before.iter().filter(|path| !now.contains(path.as_str())) {
            match self.place.store.delete(&self.place.file(path)).await {
                Ok(()) | Err(object_store::Error::NotFound { .. }) => {}
                Err(error) => return Err(self.place.unreachable(&error)),
            }
        }
        Ok(self.manifest)
    }

    fn tables(&self) -> [&Table; 6] {
        [&self.runs, &self.trials, &self.turns, &self.judgments, &self.attempts, &self.spend]
    }
}

/// Nothing else is removed, whatever a manifest says.
fn is_of_export(path: &str) -> bool {
    let parts = path.strip_suffix(".parquet").and_then(|path| path.split_once('/'));
    parts.is_some_and(|(table, name)| {
        TABLES.iter().any(|(known, _)| *known == table) && name.chars().all(|letter| letter.is_ascii_hexdigit())
    })
}

/// The manifest that is at a place.
async fn there(place: &Place) -> Result<Option<Manifest>, Error> {
    let broken = |reason: String| Error::Manifest { place: place.to_string(), reason };
    let found = match place.store.get(&place.file(MANIFEST)).await {
        Ok(found) => found,
        Err(object_store::Error::NotFound { .. }) => return Ok(None),
        Err(error) => return Err(place.unreachable(&error)),
    };
    if found.meta.size > MOST_MANIFEST_BYTES {
        return Err(broken(format!("it has {} bytes", found.meta.size)));
    }
    let bytes = found.bytes().await.map_err(|error| place.unreachable(&error))?;
    let manifest: Manifest = serde_json::from_slice(&bytes).map_err(|error| broken(error.to_string()))?;
    if manifest.format != FORMAT || manifest.version > VERSION {
        return Err(broken(format!("its format is {} {}", manifest.format, manifest.version)));
    }
    Ok(Some(manifest))
}

impl Manifest {
    /// The manifest of the export at a place; `None` if there is none.
    ///
    /// # Errors
    /// [`Error::Unreachable`]; [`Error::Manifest`] if a file of that name is something else.
    pub async fn at(place: &Place) -> Result<Option<Self>, Error> {
        there(place).await
    }
}

#[cfg(test)]
mod tests {
    use record::{Failure, FailureKind, Trial, Turn, Verdict, summary::RunState, turn::Origin};
    use scenario::TrialId;

    use super::*;
    use crate::Ending;

    fn facts(id: &str) -> Facts {
        Facts {
            id: id.to_owned(),
            name: "night".to_owned(),
            state: RunState::Finished,
            verdict: "PASS".to_owned(),
            started_at_ms: 1_700_000_000_000,
            ended_at_ms: None,
            planned: 9,
            seed: u64::MAX,
            plan_digest: "d".to_owned(),
            gabfest_version: "0".to_owned(),
            unsettled_nanos: 0,
        }
    }

    fn trial(number: u64) -> Trial {
        let planned = scenario::Trial {
            number,
            id: TrialId::new(format!("t{number}")),
            case: 0,
            case_id: CaseId::new("c"),
            repeat: 0,
            seed: u64::MAX - number,
        };
        Trial::unplayed(&planned, 2, Verdict::Error, Failure::new(FailureKind::JudgeFailed, "away"))
    }

    async fn export(folder: &std::path::Path, run: &str, trials: u64) -> Result<Manifest, Error> {
        let place = Place::of(&folder.display().to_string(), run)?;
        let bounds = Bounds { group_bytes: 32 << 10, file_bytes: 64 << 10 };
        let axes = vec![("tone".to_owned(), "rude".to_owned()), ("budget".to_owned(), "3".to_owned())];
        let case = Case { scenario: "s".to_owned(), axes, ..Case::default() };
        let mut export = Export::bounded(place, facts(run), vec![case], bounds).await?;
        for number in 0..trials {
            let mut state = number;
            let text: String = (0..200)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    char::from(b'a' + u8::try_from((state >> 33) % 26).unwrap_or(0))
                })
                .collect();
            let turns = [1, 2].map(|turn| Turn::new(turn, 1, Origin::Scripted, text.clone(), 5));
            let lost = Attempt { number, epoch: 1, ending: Ending::Lost { begun: true, given_up: false, at: 7 } };
            let played = Played { trial: &trial(number), turns: &turns, unreadable: None, others: &[lost] };
            export.add(&played)?;
            if export.waits() {
                export.upload().await?;
            }
            assert!(export.turns.whole.is_empty());
        }
        export.finish(&Spend::default()).await
    }

    fn files(folder: &std::path::Path) -> BTreeSet<String> {
        let table = |table: std::fs::DirEntry| {
            let name = table.file_name().to_string_lossy().into_owned();
            let files = table
                .path()
                .read_dir()
                .unwrap()
                .map(move |file| format!("{name}/{}", file.unwrap().file_name().to_string_lossy()));
            files.collect::<Vec<_>>()
        };
        let tables = folder.read_dir().unwrap().map(|entry| entry.unwrap()).filter(|entry| entry.path().is_dir());
        tables.flat_map(table).collect()
    }

    #[tokio::test]
    async fn a_table_has_as_many_files_as_it_needs_and_an_export_takes_the_place_of_the_last_one() {
        let folder = tempfile::tempdir().unwrap();
        let first = export(folder.path(), "r", 900).await.unwrap();
        let rows = |name: &str| first.tables[name].rows;
        assert_eq!((rows("trials"), rows("turns"), rows("attempts"), rows("spend")), (900, 1_800, 1_800, 0));
        assert!(first.tables["turns"].files.len() > 2, "{:?}", first.tables["turns"]);
        let listed: BTreeSet<String> = first.files().map(|part| part.path.clone()).collect();
        assert_eq!(files(folder.path()), listed);
        let place = Place::of(&folder.path().display().to_string(), "r").unwrap();
        assert_eq!(Manifest::at(&place).await.unwrap(), Some(first.clone()));
        assert_eq!(export(folder.path(), "r", 900).await.unwrap(), first, "the same bytes");

        let error = export(folder.path(), "other", 1).await.unwrap_err();
        assert!(matches!(error, Error::Taken { run, .. } if run == "r"));
        let second = export(folder.path(), "r", 3).await.unwrap();
        let listed: BTreeSet<String> = second.files().map(|part| part.path.clone()).collect();
        assert_eq!(files(folder.path()), listed, "the files of the first one are gone");
        std::fs::write(folder.path().join(MANIFEST), "{}").unwrap();
        assert!(matches!(export(folder.path(), "r", 1).await, Err(Error::Manifest { .. })));
    }
}
