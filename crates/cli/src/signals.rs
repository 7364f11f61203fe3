//! Ctrl-C and SIGTERM: the first finishes the running trials, the second stops. A file that grows too large ends nothing.

use std::thread;

use tokio::{
    runtime,
    signal::unix::{SignalKind, signal},
    sync::watch,
};

/// A write beyond `ulimit -f` fails like one to a full disk, with an error that is reported. By default, SIGXFSZ ends the
/// process without a message. A handler does this, and programs that gabfest starts do not inherit it.
///
/// # Errors
/// The system refuses the handler.
pub(crate) fn outlive_file_limits() -> std::io::Result<()> {
    // The handler stays when its stream is dropped.
    signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())).map(drop)
}

/// How many signals came so far.
#[derive(Debug, Clone)]
pub(crate) struct Interrupts {
    count: watch::Receiver<u32>,
}

impl Interrupts {
    /// Listens from now on; the third signal ends the process at once.
    pub(crate) fn listen() -> Self {
        let (sender, count) = watch::channel(0);
        // Opened here, not in the task: when this returns, a signal no longer ends the process by default.
        let streams = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
        let counting = async move {
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
        };
        match runtime::Builder::new_current_thread().enable_io().build() {
            // On one core, writing a large report would otherwise hold up the third signal.
            Ok(runtime) => drop(thread::spawn(move || runtime.block_on(counting))),
            Err(_) => drop(tokio::spawn(counting)),
        }
        Self { count }
    }

    pub(crate) fn count(&self) -> u32 {
        *self.count.borrow()
    }

    /// Returns after at least `times` signals.
    pub(crate) async fn reached(&self, times: u32) {
        let mut count = self.count.clone();
        if count.wait_for(|count| *count >= times).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_file_that_grows_too_large_does_not_end_the_process() {
        outlive_file_limits().unwrap();
        let own = rustix::process::getpid();
        rustix::process::kill_process(own, rustix::process::Signal::XFSZ).unwrap();
    }
}
