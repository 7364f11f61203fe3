//! Limits how many bytes of results are in flight, so that a heartbeat behind them arrives in time.
//!
//! Nothing can overtake bytes that a connection has accepted: they are in buffers of this machine and of the network.
//! So the coordinator reports what it has read, and only then the worker sends more. A quick answer doubles the room, a
//! slow one halves it.
//!
//! HTTP/2's own window does not help: it is far larger than what a slow link carries in time.

use std::{collections::VecDeque, time::Duration};

use proto::{
    Chunks,
    v1::{self, worker_message::Body as Word},
};
use tokio::time::Instant;

/// The room on a new stream, whose speed is unknown.
const FIRST_BYTES: u64 = 16 << 10;
/// What a link of 3 KB/s transfers in three seconds.
const LEAST_BYTES: u64 = 8 << 10;
/// A heartbeat behind this much still arrives in time on a link that suddenly slows to 10 KB/s.
const MOST_BYTES: u64 = 128 << 10;
/// Bytes that are read within this double the room.
const QUICK: Duration = Duration::from_millis(500);
/// Bytes that take longer than this halve it.
const SLOW: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct Pipe {
    /// The rest of the batch that is being sent.
    rest: Chunks,
    sent: u64,
    received: u64,
    /// Bytes that may be in flight.
    room: u64,
    /// What the coordinator has not read.
    on_their_way: VecDeque<OnItsWay>,
    /// At the last answer, [`MOST_BYTES`] would have been read within [`QUICK`].
    is_quick: bool,
}

/// A part that was sent.
#[derive(Debug)]
struct OnItsWay {
    /// The number of its last byte.
    end: u64,
    sent_at: Instant,
    /// How many bytes the coordinator had read then.
    received: u64,
}

impl Pipe {
    /// The pipe of a new stream.
    pub(super) fn new() -> Self {
        let on_their_way = VecDeque::new();
        Self { rest: Chunks::default(), sent: 0, received: 0, room: FIRST_BYTES, on_their_way, is_quick: false }
    }

    pub(super) fn has_room(&self) -> bool {
        self.sent - self.received < self.room
    }

    /// Whether the link is known to carry [`MOST_BYTES`] within [`QUICK`]. Of a link with little to carry it is not known.
    pub(super) fn is_quick(&self) -> bool {
        self.is_quick
    }

    /// The next part of an encoded batch. `None`: there is no room, or no batch.
    pub(super) fn next(&mut self, batch: impl FnOnce() -> Option<Chunks>, now: Instant) -> Option<Word> {
        if !self.has_room() {
            return None;
        }
        if self.rest.is_empty() {
            self.rest = batch()?;
        }
        let data = self.rest.split_to(proto::PART_BYTES);
        self.send(data.len(), now);
        Some(Word::Part(v1::Part { data, last: self.rest.is_empty() }))
    }

    /// The coordinator has read this many bytes since the stream began.
    pub(super) fn received(&mut self, bytes: u64, now: Instant) {
        self.received = self.received.max(bytes.min(self.sent));
        let mut last = None;
        while self.on_their_way.front().is_some_and(|part| part.end <= self.received) {
            last = self.on_their_way.pop_front();
        }
        let took = last.as_ref().map(|part| now.duration_since(part.sent_at));
        if let (Some(part), Some(took)) = (&last, took) {
            let read = u128::from(self.received - part.received);
            self.is_quick = read * QUICK.as_micros() >= u128::from(MOST_BYTES) * took.as_micros();
        }
        match took {
            Some(took) if took < QUICK => self.room = (self.room * 2).min(MOST_BYTES),
            Some(took) if took > SLOW => self.room = (self.room / 2).max(LEAST_BYTES),
            _ => {}
        }
    }

    fn send(&mut self, bytes: usize, now: Instant) {
        self.sent += bytes as u64;
        self.on_their_way.push_back(OnItsWay { end: self.sent, sent_at: now, received: self.received });
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn batch(bytes: usize) -> Bytes {
        let segment = vec![7; bytes].into();
        proto::batch_to_bytes(&v1::Batch { sequence: 1, segment, ..v1::Batch::default() })
    }

    #[tokio::test(start_paused = true)]
    async fn a_large_batch_goes_in_parts_and_a_small_one_is_one_part() {
        let now = Instant::now();
        let mut pipe = Pipe::new();
        assert_eq!(
            pipe.next(|| Some(batch(100).into()), now),
            Some(Word::Part(v1::Part { data: batch(100), last: true }))
        );
        let large = batch(10_000);
        let (mut bytes, mut parts) = (Vec::new(), 0);
        loop {
            let Some(Word::Part(part)) = pipe.next(|| Some(large.clone().into()), now) else { panic!("no part") };
            parts += 1;
            assert!(part.data.len() <= proto::PART_BYTES);
            bytes.extend_from_slice(&part.data);
            if part.last {
                break;
            }
        }
        assert_eq!((parts, Bytes::from(bytes)), (3, large));
        assert_eq!(pipe.next(|| None, now), None);
    }

    /// The most bytes in flight after a while on a link of this speed.
    async fn on_its_way(bytes_a_second: u64) -> u64 {
        let mut pipe = Pipe::new();
        let (mut most, mut read) = (0, 0);
        for round in 0..200 {
            while pipe.next(|| Some(batch(3_000).into()), Instant::now()).is_some() {}
            if round > 100 {
                most = most.max(pipe.sent - read);
            }
            let next = (pipe.sent - read).min(3_000);
            tokio::time::sleep(Duration::from_secs_f64(next as f64 / bytes_a_second as f64)).await;
            read += next;
            pipe.received(read, Instant::now());
        }
        most
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_link_has_little_on_its_way_and_a_fast_one_much() {
        for (bytes_a_second, seconds) in [(3_000, 5.0), (8_000, 4.0), (100_000, 2.0)] {
            let most = on_its_way(bytes_a_second).await;
            let waits = most as f64 / bytes_a_second as f64;
            assert!(waits <= seconds, "a heartbeat waits {waits} s at {bytes_a_second} bytes a second");
        }
        assert!(on_its_way(100_000_000).await >= MOST_BYTES);
    }

    #[tokio::test(start_paused = true)]
    async fn a_link_is_quick_by_what_it_carries_and_not_by_how_soon_it_answers() {
        for (bytes_a_second, is_quick) in [(8_000, false), (100_000, false), (1_000_000, true), (100_000_000, true)] {
            // One small batch at a time: each is read soon.
            let mut pipe = Pipe::new();
            assert!(!pipe.is_quick(), "nothing is known");
            for _ in 0..9 {
                pipe.next(|| Some(batch(1_000).into()), Instant::now());
                tokio::time::sleep(Duration::from_secs_f64(1_000.0 / f64::from(bytes_a_second))).await;
                pipe.received(pipe.sent, Instant::now());
                assert_eq!(pipe.is_quick(), is_quick, "{bytes_a_second} bytes a second");
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_goes_before_there_is_room() {
        let now = Instant::now();
        let mut pipe = Pipe::new();
        let mut words = 0;
        while pipe.next(|| Some(batch(1_000_000).into()), now).is_some() {
            words += 1;
        }
        assert_eq!(words, 4, "16 KB in parts of 4 KB");
        pipe.received(proto::PART_BYTES as u64, now + SLOW * 2);
        assert!(!pipe.has_room(), "it took long, so there is less room now");
        pipe.received(u64::MAX, now + SLOW * 3);
        assert!(pipe.has_room(), "and nobody reads more than was sent");
    }
}
