//! A store under test, and how to close and open it again.

use store::{Memory, Sqlite, Store};
use tempfile::TempDir;

pub(crate) trait Stand: Sized {
    type Store: Store;

    async fn new() -> Self;
    fn store(&self) -> &Self::Store;
    /// As after a restart of the process; the model has nothing to come back from.
    async fn reopen(self) -> Self;
}

pub(crate) struct InMemory(Memory);

impl Stand for InMemory {
    type Store = Memory;

    async fn new() -> Self {
        Self(Memory::new())
    }

    fn store(&self) -> &Memory {
        &self.0
    }

    async fn reopen(self) -> Self {
        self
    }
}

pub(crate) struct OnDisk {
    store: Sqlite,
    folder: TempDir,
}

impl Stand for OnDisk {
    type Store = Sqlite;

    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Sqlite::open(&folder.path().join("gabfest.db")).await.unwrap();
        Self { store, folder }
    }

    fn store(&self) -> &Sqlite {
        &self.store
    }

    /// Dropped, not closed: what a killed process leaves behind has to be enough.
    async fn reopen(self) -> Self {
        let Self { store, folder } = self;
        drop(store);
        let store = Sqlite::open(&folder.path().join("gabfest.db")).await.unwrap();
        Self { store, folder }
    }
}
