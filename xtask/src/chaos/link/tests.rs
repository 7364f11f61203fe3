use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    time::Duration,
};

use super::*;
use crate::chaos::clock;

const LONG: Duration = Duration::from_secs(20);

/// A connection through a link, and its two ends.
struct Line {
    link: Link,
    listener: TcpListener,
    client: TcpStream,
    server: TcpStream,
}

impl Line {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let link = Link::to(listener.local_addr().unwrap(), 0).unwrap();
        let client = TcpStream::connect(link.address).unwrap();
        let (server, _) = listener.accept().unwrap();
        for stream in [&client, &server] {
            stream.set_read_timeout(Some(LONG)).unwrap();
        }
        let mut line = Self { link, listener, client, server };
        line.carries(b"hello");
        line
    }

    fn carries(&mut self, words: &[u8]) {
        self.client.write_all(words).unwrap();
        let mut heard = vec![0; words.len()];
        self.server.read_exact(&mut heard).unwrap();
        assert_eq!(heard, words);
        self.server.write_all(words).unwrap();
        self.client.read_exact(&mut heard).unwrap();
        assert_eq!(heard, words);
    }
}

#[test]
fn a_clear_link_carries_both_ways_and_counts_and_passes_on_the_end() {
    let mut line = Line::new();
    let words = vec![7; 100_000];
    line.client.write_all(&words).unwrap();
    let mut heard = vec![0; words.len()];
    line.server.read_exact(&mut heard).unwrap();
    assert_eq!(line.link.carried_bytes(), 100_005);
    drop(line.client);
    assert_eq!(line.server.read(&mut heard).unwrap(), 0);
}

#[test]
fn slowness_takes_its_time() {
    let mut line = Line::new();
    line.link.set(Weather::Slow(Pace {
        delay: Duration::from_millis(100),
        bytes_per_second: Some(8_192),
        stall: Duration::ZERO,
    }));
    // Data in flight may still be from before the change.
    line.carries(b"x");
    let began = clock::now();
    line.carries(&[1; 4_096]);
    // Half a second and a tenth each way, at least.
    assert!(began.elapsed() >= Duration::from_millis(1_000), "{:?}", began.elapsed());
    line.link.set(Weather::Clear);
    line.carries(&[1; 4_096]);
}

#[test]
fn a_cut_ends_both_sides_and_refuses_until_it_heals() {
    let mut line = Line::new();
    line.link.cut();
    assert_eq!(line.client.read(&mut [0]).unwrap_or(0), 0);
    assert_eq!(line.server.read(&mut [0]).unwrap_or(0), 0);
    let mut refused = TcpStream::connect(line.link.address).unwrap();
    refused.set_read_timeout(Some(LONG)).unwrap();
    assert_eq!(refused.read(&mut [0]).unwrap_or(0), 0);
    line.link.set(Weather::Clear);
    line.client = TcpStream::connect(line.link.address).unwrap();
    line.server = line.listener.accept().unwrap().0;
    line.carries(b"again");
}

#[test]
fn a_reset_is_one() {
    let mut line = Line::new();
    line.link.reset();
    let error = line.client.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    let error = line.server.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
}

#[test]
fn half_open_connections_carry_nothing_and_stay_open() {
    let mut line = Line::new();
    line.link.half_open();
    line.client.write_all(b"is anybody there?").unwrap();
    let silent = |stream: &mut TcpStream| {
        stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        let error = stream.read(&mut [0]).unwrap_err();
        assert!(matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut), "{error}");
    };
    silent(&mut line.server);
    silent(&mut line.client);
    let mut new = TcpStream::connect(line.link.address).unwrap();
    new.write_all(b"and now?").unwrap();
    silent(&mut new);
    line.link.set(Weather::Clear);
    silent(&mut line.server);
    line.client = TcpStream::connect(line.link.address).unwrap();
    line.server = line.listener.accept().unwrap().0;
    line.carries(b"again");
}
