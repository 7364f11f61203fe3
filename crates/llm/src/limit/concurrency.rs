//! Concurrent calls: a number of slots, of which this process uses its share. Calls in flight finish when the share
//! shrinks.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::share::Share;

/// Far more calls than one process can have in flight, and less than a semaphore can count.
const MOST: u64 = 1 << 20;

#[derive(Debug)]
pub(super) struct Slots {
    free: Arc<Semaphore>,
    size: Mutex<Size>,
}

#[derive(Debug)]
struct Size {
    /// Of all processes together.
    most: u64,
    share: Share,
    slots: usize,
    /// Calls in flight beyond them: their slots disappear when they end.
    surplus: usize,
}

/// Taken for one call.
#[derive(Debug)]
pub(super) struct Slot {
    slots: Arc<Slots>,
    permit: Option<OwnedSemaphorePermit>,
}

impl Slots {
    pub(super) fn new(most: u64) -> Arc<Self> {
        let slots = count(most);
        let size = Mutex::new(Size { most, share: Share::WHOLE, slots, surplus: 0 });
        Arc::new(Self { free: Arc::new(Semaphore::new(slots)), size })
    }

    pub(super) fn most(&self) -> u64 {
        self.lock().most
    }

    /// Of this process now.
    pub(super) fn size(&self) -> u64 {
        self.lock().slots as u64
    }

    pub(super) async fn take(self: &Arc<Self>) -> Slot {
        let permit = Arc::clone(&self.free).acquire_owned().await.expect("the semaphore is never closed");
        Slot { slots: Arc::clone(self), permit: Some(permit) }
    }

    pub(super) fn set_share(&self, share: Share) {
        let mut size = self.lock();
        size.share = share;
        self.resize(size);
    }

    pub(super) fn set_most(&self, most: u64) {
        let mut size = self.lock();
        size.most = most;
        self.resize(size);
    }

    fn resize(&self, mut size: MutexGuard<'_, Size>) {
        let slots = count(size.share.calls_of(size.most));
        if slots >= size.slots {
            let more = slots - size.slots;
            let kept = more.min(size.surplus);
            size.surplus -= kept;
            self.free.add_permits(more - kept);
        } else {
            let fewer = size.slots - slots;
            size.surplus += fewer - self.free.forget_permits(fewer);
        }
        size.slots = slots;
    }

    /// Whether no more calls are in flight than the share allows.
    pub(super) fn is_settled(&self) -> bool {
        self.lock().surplus == 0
    }

    /// Two numbers are consistent even if a holder of the lock panicked.
    fn lock(&self) -> MutexGuard<'_, Size> {
        self.size.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut size = self.slots.lock();
        if size.surplus > 0
            && let Some(permit) = self.permit.take()
        {
            size.surplus -= 1;
            permit.forget();
        }
    }
}

fn count(slots: u64) -> usize {
    usize::try_from(slots.min(MOST)).unwrap_or(usize::MAX)
}
