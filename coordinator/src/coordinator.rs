//! The coordinator as a whole: opened on a store, run until drained, reached through a handle.

use std::sync::Arc;

use store::Store;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::{
    Clock, Config, Handle, Observers,
    dispatcher::{Dispatcher, Error, command::Command},
};

/// How many commands may wait: enough that streams do not wait for each other, few enough to stay in memory.
const WAITING_COMMANDS: usize = 256;

#[derive(Debug)]
pub struct Coordinator<S> {
    dispatcher: Dispatcher<S>,
    commands: mpsc::Receiver<Command>,
}

impl<S: Store> Coordinator<S> {
    /// Continues the runs that are running in the store.
    pub async fn open(
        store: Arc<S>,
        config: Config,
        clock: Clock,
        observers: Observers,
    ) -> Result<(Self, Handle<S>), Error> {
        let (sender, commands) = mpsc::channel(WAITING_COMMANDS);
        let mut dispatcher = Dispatcher::new(Arc::clone(&store), config, clock.clone(), observers);
        dispatcher.recover().await?;
        let (began, room) = (dispatcher.began(), dispatcher.room());
        Ok((Self { dispatcher, commands }, Handle::new(sender, store, room, config, clock, began)))
    }

    /// Runs until `drain` is cancelled or the last handle is dropped. Everything that workers have sent is stored and
    /// acknowledged first; sessions stay in the store for the next coordinator.
    pub async fn run(self, drain: CancellationToken) {
        self.dispatcher.run(self.commands, drain).await;
    }
}
