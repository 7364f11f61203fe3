//! The file of the history: writes, reads, merges and removes runs.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::{Value, json};
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection, query, query_as, sqlite::SqliteConnectOptions};
use statistics::nights::{Night, NightCell, NightFailure, NightRun};

use crate::{
    Error,
    schema::{self, Refusal},
};

/// A run waits so long for another one that is writing.
const BUSY: Duration = Duration::from_secs(30);

/// An open history.
#[derive(Debug)]
pub struct History {
    connection: SqliteConnection,
    path: PathBuf,
    /// An older file that is only read has no failures.
    has_failures: bool,
}

/// What became of runs that were added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Added {
    pub new: u64,
    pub replaced: u64,
    /// The history has them as they are, or has a later end of them.
    pub known: u64,
}

impl History {
    /// Opens the file to write, and creates it with its folder if there is none.
    ///
    /// # Errors
    /// The file cannot be made or opened, or is not a history of this version or an earlier one.
    pub async fn open(path: &Path) -> Result<Self, Error> {
        if let Some(folder) = path.parent() {
            let folder_of = |source| Error::Folder { file: path.display().to_string(), source };
            fs::create_dir_all(folder).map_err(folder_of)?;
        }
        let mut history = Self::connect(path, SqliteConnectOptions::new().create_if_missing(true)).await?;
        schema::migrate(&mut history.connection).await.map_err(|refusal| history.refused(refusal))?;
        Ok(history)
    }

    /// Opens the file to read.
    ///
    /// # Errors
    /// There is no such file, or it is not a history of this version or an earlier one.
    pub async fn read(path: &Path) -> Result<Self, Error> {
        let missing = || Error::Missing(path.display().to_string());
        if !path.is_file() {
            return Err(missing());
        }
        let mut history = Self::connect(path, SqliteConnectOptions::new().read_only(true)).await?;
        let version = schema::check(&mut history.connection).await.map_err(|refusal| history.refused(refusal))?;
        history.has_failures = version >= schema::WITH_FAILURES;
        if version == 0 { Err(missing()) } else { Ok(history) }
    }

    async fn connect(path: &Path, options: SqliteConnectOptions) -> Result<Self, Error> {
        let options = options.filename(path).busy_timeout(BUSY).foreign_keys(true).disable_statement_logging();
        let failed = |source| Error::Failed { file: path.display().to_string(), source };
        let connection = options.connect().await.map_err(failed)?;
        Ok(Self { connection, path: path.to_path_buf(), has_failures: true })
    }

    /// Stores a run that ended. It replaces what was stored of the run before, as after `gabfest resume`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub async fn keep(&mut self, night: &Night) -> Result<(), Error> {
        self.write(&[night]).await
    }

    /// Adds runs from elsewhere. A run that is known is replaced if only the added one was played to its end, or if the known one
    /// was not, and they differ.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub async fn add(&mut self, nights: &[Night]) -> Result<Added, Error> {
        let runs = self.runs().await?;
        let mut known: BTreeMap<String, NightRun> = runs.into_iter().map(|run| (run.id.clone(), run)).collect();
        let mut added = Added::default();
        let mut written = Vec::new();
        for night in nights {
            let is_whole = |run: &NightRun| run.state == NightRun::WHOLE;
            // A whole run, and one of a version that kept failures, is not replaced by less.
            let says_less = |run: &NightRun| {
                is_whole(run) && (!is_whole(&night.run) || (run.knows_failures && !night.run.knows_failures))
            };
            match known.get(&night.run.id) {
                None => added.new += 1,
                Some(run) if *run == night.run || says_less(run) => {
                    added.known += 1;
                    continue;
                }
                Some(_) => added.replaced += 1,
            }
            known.insert(night.run.id.clone(), night.run.clone());
            written.push(night);
        }
        self.write(&written).await?;
        Ok(added)
    }

    /// All runs without their cells, the earliest first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub async fn runs(&mut self) -> Result<Vec<NightRun>, Error> {
        let rows: Result<Vec<(String, String)>, _> =
            query_as("select id, facts from run order by started_at, id").fetch_all(&mut self.connection).await;
        let rows = rows.map_err(|error| self.failed(error))?;
        rows.into_iter().map(|(id, facts)| self.parsed(&id, &facts)).collect()
    }

    /// The runs with their cells, in the order of `runs`. A run that is no longer there has no cells.
    ///
    /// # Errors
    /// The file cannot be read.
    pub async fn nights(&mut self, runs: Vec<NightRun>) -> Result<Vec<Night>, Error> {
        let mut nights = Vec::with_capacity(runs.len());
        for run in runs {
            let rows: Result<Vec<(String,)>, _> = query_as("select figures from cell where run = ?1 order by place")
                .bind(&run.id)
                .fetch_all(&mut self.connection)
                .await;
            let rows = rows.map_err(|error| self.failed(error))?;
            let cells: Result<Vec<NightCell>, Error> =
                rows.into_iter().map(|(figures,)| self.parsed(&run.id, &figures)).collect();
            let (cells, failures) = (cells?, self.failures(&run.id).await?);
            nights.push(Night { run, cells, failures });
        }
        Ok(nights)
    }

    async fn failures(&mut self, run: &str) -> Result<Vec<NightFailure>, Error> {
        if !self.has_failures {
            return Ok(Vec::new());
        }
        let rows: Result<Vec<(String,)>, _> = query_as("select facts from failure where run = ?1 order by place")
            .bind(run)
            .fetch_all(&mut self.connection)
            .await;
        let rows = rows.map_err(|error| self.failed(error))?;
        rows.into_iter().map(|(facts,)| self.parsed(run, &facts)).collect()
    }

    /// Removes runs by their ids. Returns how many there were.
    ///
    /// # Errors
    /// The file cannot be written.
    pub async fn remove(&mut self, ids: &[String]) -> Result<u64, Error> {
        let gone = query("delete from run where id in (select value from json_each(?1))")
            .bind(json!(ids).to_string())
            .execute(&mut self.connection)
            .await;
        let gone = gone.map_err(|error| self.failed(error))?.rows_affected();
        // Gives the room back to the file system.
        query("vacuum").execute(&mut self.connection).await.map_err(|error| self.failed(error))?;
        Ok(gone)
    }

    /// Closes the file. Dropping a history loses nothing either.
    ///
    /// # Errors
    /// The file cannot be closed.
    pub async fn close(self) -> Result<(), Error> {
        let Self { connection, path, .. } = self;
        connection.close().await.map_err(|source| Error::Failed { file: path.display().to_string(), source })
    }

    /// All or none.
    async fn write(&mut self, nights: &[&Night]) -> Result<(), Error> {
        if nights.is_empty() {
            return Ok(());
        }
        let written = self.write_rows(nights).await;
        if written.is_err() {
            // SQLite may have rolled back itself, as on a full disk.
            let _ = query("rollback").execute(&mut self.connection).await;
        }
        written.map_err(|error| self.failed(error))
    }

    async fn write_rows(&mut self, nights: &[&Night]) -> Result<(), sqlx::Error> {
        query("begin immediate").execute(&mut self.connection).await?;
        for night in nights {
            let run = &night.run;
            query("delete from run where id = ?1").bind(&run.id).execute(&mut self.connection).await?;
            query(
                "insert into run (id, name, started_at, state, verdict, exit_code, facts)
                 values (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )
            .bind(&run.id)
            .bind(&run.name)
            .bind(&run.started_at)
            .bind(word(&json!(run.state)))
            .bind(run.verdict.name())
            .bind(i64::from(run.exit_code))
            .bind(json!(run).to_string())
            .execute(&mut self.connection)
            .await?;
            let cells: Vec<Value> = night.cells.iter().map(|cell| json!(cell)).collect();
            query(
                "insert into cell (run, place, scenario, persona, agent, planned, passed, failed, figures)
                 select ?1, key, value ->> '$.cell.scenario', value ->> '$.cell.persona', value ->> '$.agent',
                     value ->> '$.planned', value ->> '$.passed', value ->> '$.failed', value
                 from json_each(?2)",
            )
            .bind(&run.id)
            .bind(Value::Array(cells).to_string())
            .execute(&mut self.connection)
            .await?;
            let failures: Vec<Value> = night.failures.iter().map(|failure| json!(failure)).collect();
            query(
                "insert into failure (run, place, signature, agent, trials, facts)
                 select ?1, key, value ->> '$.signature', value ->> '$.agent', value ->> '$.trials', value
                 from json_each(?2)",
            )
            .bind(&run.id)
            .bind(Value::Array(failures).to_string())
            .execute(&mut self.connection)
            .await?;
        }
        query("commit").execute(&mut self.connection).await?;
        Ok(())
    }

    fn parsed<T: serde::de::DeserializeOwned>(&self, run: &str, text: &str) -> Result<T, Error> {
        let file = || self.path.display().to_string();
        serde_json::from_str(text).map_err(|source| Error::Row { file: file(), run: run.to_owned(), source })
    }

    fn failed(&self, source: sqlx::Error) -> Error {
        Error::Failed { file: self.path.display().to_string(), source }
    }

    fn refused(&self, refusal: Refusal) -> Error {
        match refusal {
            Refusal::Foreign(why) => Error::Foreign { file: self.path.display().to_string(), why },
            Refusal::Failed(error) => self.failed(error),
        }
    }
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
