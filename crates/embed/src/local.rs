//! A model of the shelf as one that can be asked: its work is done on threads of its own, a bounded number at once.

use std::{fmt, path::Path, sync::Arc, thread, time::Duration};

use async_trait::async_trait;
use llm::{Model, Reply, Request, Task, Timing, Usage};
use tokio::{
    sync::Semaphore,
    task::spawn_blocking,
    time::{Instant, timeout},
};

use crate::{
    Shelf,
    heads::{Classifier, Extractor, Follower},
    sentences::Sentences,
    shelf,
};

/// A model in memory that does one task.
pub struct Local {
    name: String,
    task: Task,
    work: Arc<Work>,
    /// One for each of the machine's processors: more calls at once would only slow each other down.
    permits: Arc<Semaphore>,
}

enum Work {
    Embed(Sentences),
    Extract(Box<Extractor>),
    Follow(Follower),
    Classify(Classifier),
}

/// Why a model cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Shelf(#[from] shelf::Error),
    #[error("there is no model {name:?} in {folder}")]
    Absent { name: String, folder: String },
    #[error("{0}")]
    Unusable(String),
}

impl Local {
    /// Reads a model into memory, which takes a moment and as much memory as its weights.
    ///
    /// # Errors
    /// When it is not on the shelf, or its files are not those of a model that does the task.
    pub fn open(shelf: &Shelf, name: &str, task: Task) -> Result<Self, Error> {
        let kept = shelf
            .find(name)?
            .ok_or_else(|| Error::Absent { name: name.to_owned(), folder: shelf.folder().display().to_string() })?;
        let work = Work::open(&kept.folder, task)?;
        let permits = thread::available_parallelism().map_or(1, usize::from);
        Ok(Self { name: name.to_owned(), task, work: Arc::new(work), permits: Arc::new(Semaphore::new(permits)) })
    }
}

impl Work {
    fn open(folder: &Path, task: Task) -> Result<Self, Error> {
        Ok(match task {
            Task::Embed => Self::Embed(Sentences::open(folder)?),
            Task::Extract => Self::Extract(Box::new(Extractor::open(folder)?)),
            Task::Follow => Self::Follow(Follower::open(folder)?),
            Task::Moderate => Self::Classify(Classifier::open(folder)?),
            Task::Complete => return Err(Error::Unusable("no model here holds conversations".to_owned())),
        })
    }

    fn measure(&self, texts: &[String]) -> Result<Reply, Error> {
        let text = |index: usize| texts.get(index).map_or("", String::as_str);
        let mut reply = Reply::default();
        reply.usage.input_tokens = match self {
            Self::Embed(model) => {
                let (vectors, tokens) = model.embed(texts)?;
                reply.vectors = vectors;
                tokens
            }
            Self::Extract(model) => {
                let (answer, tokens) = model.extract(text(0), text(1))?;
                reply.text = answer;
                tokens
            }
            Self::Follow(model) => {
                let (log_odds, tokens) = model.follow(text(0), text(1))?;
                reply.labels = vec![("follows".to_owned(), log_odds)];
                tokens
            }
            Self::Classify(model) => {
                let (labels, tokens) = model.classify(text(0))?;
                reply.labels = labels;
                tokens
            }
        };
        Ok(reply)
    }
}

#[async_trait]
impl Model for Local {
    fn endpoint(&self) -> &str {
        &self.name
    }

    async fn ask(&self, request: &Request) -> Result<Reply, llm::Error> {
        let endpoint = || self.name.clone();
        if request.task != self.task {
            let message = format!("it was opened for another task ({:?})", self.task);
            return Err(llm::Error::Refused { endpoint: endpoint(), status: 501, message });
        }
        let began = Instant::now();
        let permit = Arc::clone(&self.permits).acquire_owned().await.expect("the semaphore is never closed");
        let started = Instant::now();
        let texts: Vec<String> = request.messages.iter().map(|message| message.content.clone()).collect();
        let work = Arc::clone(&self.work);
        let measured = spawn_blocking(move || {
            // Held as long as the work takes, also where nobody waits for it any more.
            let _permit = permit;
            work.measure(&texts)
        });
        let limit = request.timeout.unwrap_or(Duration::MAX);
        let measured = timeout(limit, measured).await.map_err(|_| llm::Error::TimedOut {
            endpoint: endpoint(),
            place: String::new(),
            limit,
        })?;
        let malformed = |message| llm::Error::Malformed { endpoint: endpoint(), message, partial: String::new() };
        let reply = measured
            .map_err(|_| malformed("the model panicked".to_owned()))?
            .map_err(|error| malformed(error.to_string()))?;
        Ok(Reply {
            usage: Usage { estimated: false, ..reply.usage },
            model: endpoint(),
            timing: Timing { wait: started - began, total: started.elapsed(), ..Timing::default() },
            tries: 1,
            cost_nanos: Some(0),
            ..reply
        })
    }
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local").field("name", &self.name).field("task", &self.task).finish_non_exhaustive()
    }
}

impl From<candle_core::Error> for Error {
    fn from(error: candle_core::Error) -> Self {
        // With a backtrace of many lines, of which the first says what is wrong.
        Self::Unusable(error.to_string().lines().next().unwrap_or_default().to_owned())
    }
}

impl From<tokenizers::Error> for Error {
    fn from(error: tokenizers::Error) -> Self {
        Self::Unusable(error.to_string())
    }
}
