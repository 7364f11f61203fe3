//! Runs a model of the shelf in this process, on its own threads and with bounded concurrency.

use std::{fmt, path::Path, sync::Arc, thread, time::Duration};

use async_trait::async_trait;
use llm::{
    Call, Named, Receipt, Timing, Usage,
    measure::{Embed, Extract, Follow, Measurement, Moderate, Reply, Request},
};
use tokio::{
    sync::Semaphore,
    task::spawn_blocking,
    time::{Instant, timeout},
};

use crate::{
    error::Error,
    heads::{Classifier, Extractor, Follower},
    sentences::Sentences,
    shelf::Shelf,
};

/// A measurement that a model of the shelf can make.
pub trait Runnable: Measurement {
    /// Reads the model of a folder into memory.
    ///
    /// # Errors
    /// Its files are not those of a model with this measurement.
    fn open(folder: &Path) -> Result<Work<Self>, Error>;
}

/// Gives the value and the number of tokens that it read.
pub type Work<M> = Box<dyn Fn(&M) -> Result<(<M as Measurement>::Value, u64), Error> + Send + Sync>;

impl Runnable for Embed {
    fn open(folder: &Path) -> Result<Work<Self>, Error> {
        let model = Sentences::open(folder)?;
        Ok(Box::new(move |of: &Self| model.embed(&of.texts)))
    }
}

impl Runnable for Extract {
    fn open(folder: &Path) -> Result<Work<Self>, Error> {
        let model = Extractor::open(folder)?;
        Ok(Box::new(move |of: &Self| model.extract(&of.question, &of.context)))
    }
}

impl Runnable for Follow {
    fn open(folder: &Path) -> Result<Work<Self>, Error> {
        let model = Follower::open(folder)?;
        Ok(Box::new(move |of: &Self| model.follow(&of.context, &of.reply)))
    }
}

impl Runnable for Moderate {
    fn open(folder: &Path) -> Result<Work<Self>, Error> {
        let model = Classifier::open(folder)?;
        Ok(Box::new(move |of: &Self| model.classify(&of.text)))
    }
}

/// A model in memory that makes one kind of measurement.
pub struct Local<M: Measurement> {
    name: String,
    work: Arc<Work<M>>,
    /// One permit per processor: more simultaneous calls would only slow each other down.
    permits: Arc<Semaphore>,
}

impl<M: Runnable> Local<M> {
    /// Reads a model into memory, which takes a moment and as much memory as its weights.
    ///
    /// # Errors
    /// It is not on the shelf, or its files are not those of a model with this measurement.
    pub fn open(shelf: &Shelf, name: &str) -> Result<Self, Error> {
        let kept = shelf
            .find(name)?
            .ok_or_else(|| Error::Absent { name: name.to_owned(), folder: shelf.folder().display().to_string() })?;
        let work = M::open(&kept.folder)?;
        let permits = thread::available_parallelism().map_or(1, usize::from);
        Ok(Self { name: name.to_owned(), work: Arc::new(work), permits: Arc::new(Semaphore::new(permits)) })
    }
}

impl<M: Measurement> Named for Local<M> {
    fn endpoint(&self) -> &str {
        &self.name
    }
}

#[async_trait]
impl<M: Measurement> Call<Request<M>> for Local<M> {
    async fn ask(&self, request: &Request<M>) -> Result<Reply<M::Value>, llm::Error> {
        let endpoint = || self.name.clone();
        let began = Instant::now();
        let permit = Arc::clone(&self.permits).acquire_owned().await.expect("the semaphore is never closed");
        let started = Instant::now();
        let of = request.of.clone();
        let work = Arc::clone(&self.work);
        let measured = spawn_blocking(move || {
            // Held until the work is done, even if the caller has stopped waiting.
            let _permit = permit;
            work(&of)
        });
        let limit = request.timeout.unwrap_or(Duration::MAX);
        let measured = timeout(limit, measured).await.map_err(|_| llm::Error::TimedOut {
            endpoint: endpoint(),
            place: String::new(),
            limit,
        })?;
        let malformed = |message| llm::Error::Malformed { endpoint: endpoint(), message, partial: String::new() };
        let (value, input_tokens) = measured
            .map_err(|_| malformed("the model panicked".to_owned()))?
            .map_err(|error| malformed(error.to_string()))?;
        let receipt = Receipt {
            usage: Usage { input: input_tokens, ..Usage::default() },
            model: endpoint(),
            timing: Timing { wait: started - began, total: started.elapsed(), ..Timing::default() },
            tries: 1,
            cost_nanos: Some(0),
            ..Receipt::default()
        };
        Ok(Reply { value, receipt })
    }
}

impl<M: Measurement> fmt::Debug for Local<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local").field("name", &self.name).finish_non_exhaustive()
    }
}
