//! What reads and writes on a connection, in the task of the call that uses it.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use http_body_util::Full;
use hyper::client::conn::http1::Connection;
use tokio::task::unconstrained;

use super::super::stream::Stream;

type Http1 = Connection<Stream, Full<Bytes>>;

#[derive(Debug)]
pub(super) struct Work {
    /// `None` once it is closed.
    connection: Option<Pin<Box<Http1>>>,
    bell: Arc<Bell>,
    /// Rings the bell.
    waker: Waker,
}

/// Wakes the task of the call. While that task works on the connection, a ring is only noted: hyper rings when a piece of
/// an answer is taken, and the task that takes it would run once more for nothing.
#[derive(Debug, Default)]
struct Bell {
    task: AtomicWaker,
    state: AtomicU8,
}

const AT_WORK: u8 = 1;
const RUNG: u8 = 2;

impl Bell {
    /// Only notes rings from now on, and forgets those noted so far.
    fn note_rings(&self) {
        self.state.swap(AT_WORK, Ordering::AcqRel);
    }

    /// Rings wake the task from now on. Returns whether one was noted.
    fn wake_on_rings(&self) -> bool {
        self.state.swap(0, Ordering::AcqRel) & RUNG != 0
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.state.fetch_or(RUNG, Ordering::AcqRel) & AT_WORK == 0 {
            self.task.wake();
        }
    }
}

impl Work {
    pub(super) fn new(connection: Http1) -> Self {
        let bell = Arc::<Bell>::default();
        Self { connection: Some(Box::pin(connection)), waker: Waker::from(Arc::clone(&bell)), bell }
    }

    /// Reads and writes until `wait` is over, which must wait for nothing but this connection. So it needs no waker: it is
    /// polled after each work. It spends none of the task's budget either, for which it would need one.
    pub(super) async fn until<T>(&mut self, wait: impl Future<Output = T>) -> T {
        let Self { connection, bell, waker } = self;
        let mut wait = pin!(unconstrained(wait));
        poll_fn(|context| {
            let mut unheard = Context::from_waker(Waker::noop());
            bell.note_rings();
            if let over @ Poll::Ready(_) = wait.as_mut().poll(&mut unheard) {
                bell.wake_on_rings();
                return over;
            }
            // What rang until here is done now.
            bell.note_rings();
            go_on(connection, &mut Context::from_waker(waker));
            let waited = wait.as_mut().poll(&mut unheard);
            bell.task.register(context.waker());
            if bell.wake_on_rings() && waited.is_pending() {
                context.waker().wake_by_ref();
            }
            waited
        })
        .await
    }

    /// Whether the connection is open, after it has done what can be done now.
    pub(super) fn is_open(&mut self) -> bool {
        // Outside of the task's budget: when that is used up, a closed connection would look open.
        let look = pin!(unconstrained(poll_fn(|context| {
            go_on(&mut self.connection, context);
            Poll::Ready(())
        })));
        let _ = look.poll(&mut Context::from_waker(Waker::noop()));
        self.connection.is_some()
    }
}

/// Reads and writes what can be read and written now. An error closes the connection, and goes to the call that waits.
fn go_on(connection: &mut Option<Pin<Box<Http1>>>, context: &mut Context<'_>) {
    if connection.as_mut().is_some_and(|connection| connection.as_mut().poll(context).is_ready()) {
        *connection = None;
    }
}
