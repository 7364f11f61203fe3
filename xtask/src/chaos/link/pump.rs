//! One direction of a connection: a thread that reads, and one that writes the data after the delay.

use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::{Shutdown, TcpStream},
    sync::{
        Arc,
        atomic::Ordering,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    time::{Duration, Instant},
};

use super::{super::clock::now, Chance, Fate, Pace, Pair, Shared, Weather};

/// How often a waiting thread looks at the fate of its connection.
pub(super) const LOOK: Duration = Duration::from_millis(50);
/// So many pieces are on the way.
const PIECES: usize = 8;
const PIECE_BYTES: usize = 16 * 1024;
const SLOW_PIECE_BYTES: usize = 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// From the worker to the coordinator.
    Up,
    Down,
}

struct Piece {
    due: Instant,
    bytes: Vec<u8>,
    pace: Option<Pace>,
}

pub(super) fn start(shared: &Arc<Shared>, pair: &Arc<Pair>, way: Way, chance: Chance) {
    let (sender, receiver) = sync_channel(PIECES);
    let (shared, reading, writing) = (Arc::clone(shared), Arc::clone(pair), Arc::clone(pair));
    std::thread::spawn(move || read(&shared, &reading, way, &sender));
    std::thread::spawn(move || write(&writing, way, &receiver, chance));
}

impl Pair {
    const fn ends(&self, way: Way) -> (&TcpStream, &TcpStream) {
        match way {
            Way::Up => (&self.client, &self.server),
            Way::Down => (&self.server, &self.client),
        }
    }
}

fn read(shared: &Shared, pair: &Pair, way: Way, sender: &SyncSender<Piece>) {
    let (mut from, _) = pair.ends(way);
    let mut buffer = vec![0; PIECE_BYTES];
    while pair.fate() == Fate::Alive {
        let pace = match shared.weather() {
            Weather::Slow(pace) => Some(pace),
            _ => None,
        };
        let paced = pace.is_some_and(|pace| pace.bytes_per_second.is_some());
        let most = if paced { SLOW_PIECE_BYTES } else { PIECE_BYTES };
        match from.read(&mut buffer[..most]) {
            Ok(0) => return,
            Ok(count) => {
                if way == Way::Up {
                    shared.carried_bytes.fetch_add(count as u64, Ordering::Relaxed);
                }
                let due = now() + pace.map_or(Duration::ZERO, |pace| pace.delay);
                if sender.send(Piece { due, bytes: buffer[..count].to_vec(), pace }).is_err() {
                    return;
                }
            }
            Err(error) if waits(&error) => {}
            Err(_) => return,
        }
    }
}

fn write(pair: &Pair, way: Way, receiver: &Receiver<Piece>, mut chance: Chance) {
    let (_, to) = pair.ends(way);
    for piece in receiver {
        wait_until(pair, piece.due);
        if let Some(Pace { bytes_per_second: Some(rate), stall, .. }) = piece.pace {
            let lost = if chance.one_in(10) { stall } else { Duration::ZERO };
            wait_until(pair, now() + Duration::from_secs_f64(piece.bytes.len() as f64 / f64::from(rate)) + lost);
        }
        match pair.fate() {
            Fate::Alive if send(pair, to, &piece.bytes) => {}
            Fate::Reset => {
                // In the middle of its data.
                let half = piece.bytes.len().div_ceil(2);
                let mut to = to;
                let _ = to.write(&piece.bytes[..half]);
                return;
            }
            Fate::Alive | Fate::Dead | Fate::Cut => return,
        }
    }
    // The reader saw the end, so the other side must see it too, unless the connection is dead.
    if pair.fate() == Fate::Alive {
        let _ = to.shutdown(Shutdown::Write);
    }
}

/// Whether all of it went.
fn send(pair: &Pair, mut to: &TcpStream, mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() && pair.fate() == Fate::Alive {
        match to.write(bytes) {
            Ok(0) => return false,
            Ok(count) => bytes = &bytes[count..],
            Err(error) if waits(&error) => {}
            Err(_) => return false,
        }
    }
    bytes.is_empty()
}

fn wait_until(pair: &Pair, due: Instant) {
    while pair.fate() == Fate::Alive {
        let left = due.saturating_duration_since(now());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(LOOK));
    }
}

fn waits(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
