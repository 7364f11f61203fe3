//! How late this machine is: a loop that sleeps until each start is due, and then waits for one answer of the server.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    thread::sleep,
    time::Duration,
};

use anyhow::Context as _;
use serde_json::json;
use tokio::time::Instant;

use crate::script::LINES;

/// How late each start was.
pub(crate) fn play(url: &str, rate: u32, seconds: u32) -> anyhow::Result<Vec<Duration>> {
    let (host, path) = url.strip_prefix("http://").and_then(|rest| rest.split_once('/')).context("not an address")?;
    let mut stream = TcpStream::connect(host)?;
    stream.set_nodelay(true)?;
    let mut answers = BufReader::new(stream.try_clone()?);
    let body = json!({ "model": "bench", "messages": [{ "role": "user", "content": LINES[0] }] }).to_string();
    let head = format!("POST /{path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n");
    let request = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
    let begin = Instant::now() + Duration::from_millis(10);
    let mut late = Vec::new();
    for number in 0..rate * seconds {
        let due = begin + Duration::from_secs(1) * number / rate;
        sleep(due.saturating_duration_since(Instant::now()));
        late.push(due.elapsed());
        stream.write_all(request.as_bytes())?;
        read_answer(&mut answers)?;
    }
    Ok(late)
}

fn read_answer(answers: &mut BufReader<TcpStream>) -> anyhow::Result<()> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        answers.read_line(&mut line)?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => length = value.parse()?,
            Some(_) => {}
            None if line == "\r\n" => break,
            None => anyhow::ensure!(line.starts_with("HTTP/1.1 200"), "the server answered {line:?}"),
        }
    }
    answers.read_exact(&mut vec![0; length])?;
    Ok(())
}
