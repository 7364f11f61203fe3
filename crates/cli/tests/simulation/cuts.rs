//! Connections of a worker that break at once on both sides, unlike those of a partition.

use std::{
    io,
    pin::Pin,
    sync::{Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::{machine::Sockets, process};

/// What cuts the connections of one worker.
#[derive(Debug, Default)]
pub(crate) struct Cuts(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    refused_until: Duration,
    broken: CancellationToken,
}

impl Cuts {
    /// Breaks all connections. New ones are refused until `end`.
    pub(crate) fn cut_until(&self, end: Duration) {
        let mut state = self.0.lock().unwrap();
        state.refused_until = state.refused_until.max(end);
        std::mem::take(&mut state.broken).cancel();
    }

    pub(crate) async fn connect(&self, sockets: &Sockets, to: &str) -> io::Result<Breakable> {
        let broken = {
            let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if process::now() < state.refused_until {
                return Err(io::ErrorKind::ConnectionRefused.into());
            }
            state.broken.clone()
        };
        let stream = sockets.connect(to).await?;
        Ok(Breakable { stream, broken: Box::pin(broken.cancelled_owned()) })
    }
}

/// A connection that can be cut.
#[derive(Debug)]
pub(crate) struct Breakable {
    stream: DuplexStream,
    broken: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl Breakable {
    fn check(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        match self.broken.as_mut().poll(cx) {
            Poll::Ready(()) => Err(io::ErrorKind::ConnectionReset.into()),
            Poll::Pending => Ok(()),
        }
    }
}

impl AsyncRead for Breakable {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.check(cx)?;
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Breakable {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.check(cx)?;
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check(cx)?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
