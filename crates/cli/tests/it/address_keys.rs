//! A key in the query of an agent's address: read from its place, refused if it is written out, and absent from
//! everything that a run leaves behind, whatever form the agent echoes it in.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::Path,
    sync::{Arc, Mutex},
};

use crate::process::{Ended, Place};

const KEY: &str = "kP7wQz4mNx2rTb9v";
/// `printf KEY | base64 | base64`, without the last digits.
const TWICE: &str = "YTFBM2QxRjZORzFPZURKeVZHSTVk";
const ASK: &str = "name: ask\ndescription: d\nrun:\n  - name: one\n    input: hello\n    evaluations:\n      - { type: string_contains, value: nothing }\njudgment: { strategy: all_pass }\n";

/// An agent that says this of the path that it was asked at, and its address with the paths that it saw.
pub(crate) fn agent(says: fn(&str) -> String) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let paths = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&paths);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            drop(answer(&stream.unwrap(), &seen, says));
        }
    });
    (address, paths)
}

fn answer(stream: &TcpStream, seen: &Mutex<Vec<String>>, says: fn(&str) -> String) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or_default();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    reader.read_exact(&mut vec![0; length])?;
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    let content = says(&path);
    seen.lock().unwrap().push(path);
    let body = serde_json::json!({ "model": content, "choices": [{ "message": { "role": "assistant", "content": content } }] });
    let body = body.to_string();
    let length = body.len();
    write!(
        &*stream,
        "HTTP/1.1 200 X\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

/// The ways to write the key.
fn forms() -> Vec<String> {
    let hexadecimal: String = KEY.bytes().map(|byte| format!("{byte:02x}")).collect();
    let percent: String = KEY.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let upper = hexadecimal.to_uppercase();
    vec![KEY.to_owned(), hexadecimal, upper, percent, KEY.to_uppercase(), TWICE.to_owned()]
}

fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            if path.is_dir() { files(&path) } else { vec![(path.display().to_string(), std::fs::read(&path).unwrap())] }
        })
        .collect()
}

/// The file and the form of the key in it.
fn leak(place: &Place, ended: &Ended) -> Option<(String, String)> {
    let mut all = files(place.path());
    all.push(("stdout".to_owned(), ended.stdout.clone().into_bytes()));
    all.push(("stderr".to_owned(), ended.stderr.clone().into_bytes()));
    let holds = |bytes: &[u8], form: &str| bytes.windows(form.len()).any(|window| window == form.as_bytes());
    let found = |(name, bytes): &(String, Vec<u8>)| {
        forms().into_iter().find(|form| holds(bytes, form)).map(|form| (name.clone(), form))
    };
    all.iter().find_map(found)
}

#[test]
fn a_key_in_the_query_of_an_address_is_nowhere() {
    let (address, paths) = agent(|path| forms().join(" and ") + path);
    let place = Place::new();
    place.write("ask.scenario.yaml", ASK);
    let written = format!("{address}/v1?api_key={KEY}");
    for args in [
        &["-vvv", "run", "ask.scenario.yaml", "--out", "out", "--agent", &written][..],
        &["run", "ask.scenario.yaml", "--dry-run", "--agent", &written],
        &["submit", "ask.scenario.yaml", "--agent", &written],
        &["worker", "--agent", &written],
        &["ping", &written],
    ] {
        let ended = place.run(args);
        assert_eq!(ended.code, 2, "{args:?}: {}{}", ended.stdout, ended.stderr);
        assert!(ended.stderr.contains("api_key=env:NAME"), "{args:?}: {}", ended.stderr);
        assert_eq!(leak(&place, &ended), None, "{args:?}");
    }
    assert!(paths.lock().unwrap().is_empty(), "a refused address is not asked");

    let placed = format!("{address}/v1?api_key=env:KEY_IN_ADDRESS");
    let args = ["-vvv", "run", "ask.scenario.yaml", "--out", "out", "--log", "skunit", "--agent", &placed];
    let ended = Ended::from(place.gabfest(&args).env("KEY_IN_ADDRESS", KEY).output().unwrap());
    assert_eq!(ended.code, 1, "{}{}", ended.stdout, ended.stderr);
    assert_eq!(*paths.lock().unwrap(), [format!("/v1/chat/completions?api_key={KEY}")]);
    let transcripts = std::fs::read_to_string(place.path().join("out/transcripts.jsonl")).unwrap();
    assert!(transcripts.contains("[redacted] and [redacted] and [redacted]"), "{transcripts}");
    assert_eq!(leak(&place, &ended), None);
}
