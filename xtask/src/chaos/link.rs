//! A TCP proxy between a worker and the coordinator that can be slow, cut, half-open or reset.

mod pump;

use std::{
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::Context as _;
use socket2::{Domain, SockRef, Socket, Type};

use super::chance::Chance;

/// A link buffers little, so that data waits at its sender, as with a real link.
const BUFFER_BYTES: usize = 16 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weather {
    Clear,
    /// New connections are closed at once.
    Refuse,
    /// New connections are accepted, but no data passes.
    BlackHole,
    Slow(Pace),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pace {
    /// Each byte, each way.
    pub(crate) delay: Duration,
    /// Each way.
    pub(crate) bytes_per_second: Option<u32>,
    /// The delay of one piece in ten: the cost of a lost packet.
    pub(crate) stall: Duration,
}

impl Pace {
    pub(crate) const fn delayed(delay: Duration) -> Self {
        Self { delay, bytes_per_second: None, stall: Duration::ZERO }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Alive,
    /// Both sockets stay open, but no data passes.
    Dead,
    Cut,
    Reset,
}

/// One connection: the worker's socket and that to the coordinator.
#[derive(Debug)]
struct Pair {
    client: TcpStream,
    server: TcpStream,
    fate: Mutex<Fate>,
}

impl Pair {
    fn fate(&self) -> Fate {
        *self.fate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A dead connection stays dead.
    fn meets(&self, fate: Fate) {
        let mut now = self.fate.lock().unwrap_or_else(PoisonError::into_inner);
        if *now == Fate::Alive {
            *now = fate;
        }
        drop(now);
        for stream in [&self.client, &self.server] {
            let _ = match fate {
                Fate::Cut => stream.shutdown(Shutdown::Both),
                // Sent when the last thread lets go of the socket.
                Fate::Reset => SockRef::from(stream).set_linger(Some(Duration::ZERO)),
                Fate::Alive | Fate::Dead => Ok(()),
            };
        }
    }
}

#[derive(Debug)]
struct Shared {
    target: SocketAddr,
    weather: Mutex<Weather>,
    pairs: Mutex<Vec<Arc<Pair>>>,
    /// Sockets that are never closed.
    dead: Mutex<Vec<TcpStream>>,
    closing: AtomicBool,
    /// From workers to the coordinator.
    carried_bytes: AtomicU64,
    seed: u64,
}

impl Shared {
    fn weather(&self) -> Weather {
        *self.weather.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        for (number, client) in listener.incoming().enumerate() {
            if self.closing.load(Ordering::Relaxed) {
                return;
            }
            let Ok(client) = client else { continue };
            match self.weather() {
                Weather::Refuse => {}
                Weather::BlackHole => self.dead.lock().unwrap_or_else(PoisonError::into_inner).push(client),
                // A coordinator that is away closes it.
                Weather::Clear | Weather::Slow(_) => {
                    let _ = self.connect(client, number as u64);
                }
            }
        }
    }

    fn connect(self: &Arc<Self>, client: TcpStream, number: u64) -> std::io::Result<()> {
        let socket = Socket::new(Domain::for_address(self.target), Type::STREAM, None)?;
        socket.set_recv_buffer_size(BUFFER_BYTES)?;
        socket.connect_timeout(&self.target.into(), Duration::from_secs(5))?;
        let server = TcpStream::from(socket);
        for stream in [&client, &server] {
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(pump::LOOK))?;
            stream.set_write_timeout(Some(pump::LOOK))?;
        }
        let pair = Arc::new(Pair { client, server, fate: Mutex::new(Fate::Alive) });
        {
            let mut pairs = self.pairs.lock().unwrap_or_else(PoisonError::into_inner);
            // Connections that only this list holds have ended. Dead ones stay open.
            pairs.retain(|pair| Arc::strong_count(pair) > 1 || pair.fate() == Fate::Dead);
            pairs.push(Arc::clone(&pair));
        }
        pump::start(self, &pair, pump::Way::Up, Chance::new(self.seed, 2 * number));
        pump::start(self, &pair, pump::Way::Down, Chance::new(self.seed, 2 * number + 1));
        Ok(())
    }
}

/// Closed when it is dropped.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
}

impl Link {
    /// To `target`. The seed draws which pieces stall.
    pub(crate) fn to(target: SocketAddr, seed: u64) -> anyhow::Result<Self> {
        let socket = Socket::new(Domain::for_address(target), Type::STREAM, None)?;
        socket.set_recv_buffer_size(BUFFER_BYTES)?;
        socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into())?;
        socket.listen(64)?;
        let listener = TcpListener::from(socket);
        let address = listener.local_addr().context("a link without an address")?;
        let shared = Arc::new(Shared {
            target,
            weather: Mutex::new(Weather::Clear),
            pairs: Mutex::default(),
            dead: Mutex::default(),
            closing: AtomicBool::new(false),
            carried_bytes: AtomicU64::new(0),
            seed,
        });
        let accepting = Arc::clone(&shared);
        std::thread::spawn(move || accepting.accept(&listener));
        Ok(Self { address, shared })
    }

    /// Sets the weather of new connections; delays also apply to existing ones.
    pub(crate) fn set(&self, weather: Weather) {
        *self.shared.weather.lock().unwrap_or_else(PoisonError::into_inner) = weather;
    }

    pub(crate) fn cut(&self) {
        self.set(Weather::Refuse);
        self.all(Fate::Cut);
    }

    /// Existing connections never recover.
    pub(crate) fn half_open(&self) {
        self.set(Weather::BlackHole);
        self.all(Fate::Dead);
    }

    pub(crate) fn reset(&self) {
        self.all(Fate::Reset);
    }

    pub(crate) fn carried_bytes(&self) -> u64 {
        self.shared.carried_bytes.load(Ordering::Relaxed)
    }

    fn all(&self, fate: Fate) {
        let mut pairs = self.shared.pairs.lock().unwrap_or_else(PoisonError::into_inner);
        pairs.iter().for_each(|pair| pair.meets(fate));
        if fate != Fate::Dead {
            pairs.retain(|pair| pair.fate() == Fate::Dead);
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::Relaxed);
        self.all(Fate::Cut);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
    }
}

#[cfg(test)]
mod tests;
