//! Ctrl-C and SIGTERM: once means finish what is being played, twice means stop.

use tokio::{
    signal::unix::{SignalKind, signal},
    sync::watch,
};

/// How many signals came so far.
#[derive(Debug, Clone)]
pub(crate) struct Interrupts {
    count: watch::Receiver<u32>,
}

impl Interrupts {
    /// Listens from now on; the third signal ends the process at once.
    pub(crate) fn listen() -> Self {
        let (sender, count) = watch::channel(0);
        // Opened here, not in the task: when this returns, a signal no longer ends the process by itself.
        let streams = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
        tokio::spawn(async move {
            let (Ok(mut interrupt), Ok(mut terminate)) = streams else { return };
            loop {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
                sender.send_modify(|count| *count += 1);
                if *sender.borrow() >= 3 {
                    std::process::exit(i32::from(crate::exit::Exit::Interrupted.code()));
                }
            }
        });
        Self { count }
    }

    pub(crate) fn count(&self) -> u32 {
        *self.count.borrow()
    }

    /// Returns when there were at least `times` signals.
    pub(crate) async fn reached(&self, times: u32) {
        let mut count = self.count.clone();
        if count.wait_for(|count| *count >= times).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
