//! Everything that processes leave behind, by name: files, printed output, answers, and sent messages.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{Read as _, Write as _},
    net::TcpStream,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use super::planted;
use crate::process::{Place, Process};

/// Names and bytes.
#[derive(Default)]
pub(super) struct Sinks(BTreeMap<String, Vec<u8>>);

impl Sinks {
    pub(super) fn add(&mut self, name: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        let before = self.0.insert(name.into(), bytes.into());
        assert!(before.is_none(), "two sinks have one name");
    }

    /// Every file below a folder.
    pub(super) fn add_folder(&mut self, place: &Place, folder: &str) {
        for entry in std::fs::read_dir(place.path().join(folder)).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{folder}/{}", entry.file_name().display());
            if entry.file_type().unwrap().is_dir() {
                self.add_folder(place, &name);
            } else {
                self.add(name, std::fs::read(entry.path()).unwrap());
            }
        }
    }

    /// Every table of a schema on PostgreSQL, as the bytes of its fields. `store`: its address, as gabfest takes it.
    pub(super) fn add_tables(&mut self, store: &str) {
        let server = std::env::var("GABFEST_POSTGRES").unwrap();
        let (_, schema) = store.rsplit_once("[search_path]=").unwrap();
        let ask = |statement: &str| {
            let said = Command::new("psql").args([server.as_str(), "-qAt", "-c", statement]).output().unwrap();
            assert!(said.status.success(), "{said:?}");
            said.stdout
        };
        let tables = ask(&format!("select tablename from pg_tables where schemaname = '{schema}'"));
        for table in String::from_utf8(tables).unwrap().lines() {
            self.add(format!("table/{table}"), ask(&format!("copy {schema}.{table} to stdout (format binary)")));
        }
    }

    pub(super) fn text(&self, name: &str) -> String {
        let bytes = self.0.get(name).unwrap_or_else(|| panic!("no {name} among {:?}", self.0.keys()));
        let mut text = String::from_utf8_lossy(bytes).into_owned();
        if name.contains(".db") || name.ends_with(".parquet") || name.starts_with("table/") {
            unpacked(bytes).iter().for_each(|turns| text += &String::from_utf8_lossy(turns));
        }
        text
    }

    /// Checks that a text is in at least one sink whose name starts with `names`.
    pub(super) fn assert_somewhere(&self, names: &str, text: &str) {
        let of_name: Vec<&String> = self.0.keys().filter(|name| name.starts_with(names)).collect();
        assert!(of_name.iter().any(|name| self.text(name).contains(text)), "{text:?} is in none of {of_name:?}");
    }

    /// That no sink holds a key, the first half of one or its second half.
    pub(super) fn assert_clean(&self) {
        let mut found = Vec::new();
        for name in self.0.keys() {
            let text = self.text(name);
            for (_, key) in planted() {
                for half in halves(key) {
                    if let Some(at) = text.find(half) {
                        let from = text.floor_char_boundary(at.saturating_sub(100));
                        let to = text.ceil_char_boundary((at + 100).min(text.len()));
                        found.push(format!("{name}: …{}…", &text[from..to]));
                    }
                }
            }
        }
        assert!(found.is_empty(), "keys were found:\n{}", found.join("\n"));
    }
}

/// What the frames of compressed turns in a store, or of pages in a Parquet file, contain, as far as a frame lies in one piece.
fn unpacked(store: &[u8]) -> Vec<Vec<u8>> {
    const MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
    const DICTIONARY: &[u8] = include_bytes!("../../../../store/turns.dict");
    let frames = store.windows(MAGIC.len()).enumerate().filter(|(_, bytes)| *bytes == MAGIC);
    let unpacked = frames.map(|(at, _)| {
        let mut turns = Vec::new();
        let frame = zstd::Decoder::with_dictionary(&store[at..], DICTIONARY);
        let _ = frame.and_then(|frame| frame.single_frame().read_to_end(&mut turns));
        turns
    });
    unpacked.collect()
}

/// The first and the last letters: no encoding changes them, and each is enough to recognise a key.
fn halves(key: &str) -> [&str; 2] {
    [&key[..6], &key[key.len() - 6..]]
}

/// A role that runs until it is stopped.
pub(super) struct Role {
    process: Process,
    name: &'static str,
    /// The first address that it said.
    pub(super) address: String,
    page: String,
}

impl Role {
    /// Waits until it has printed its address and that of its page of metrics.
    pub(super) fn start(place: &Place, name: &'static str, command: &mut Command) -> Self {
        let file = |stream: &str| File::create(place.path().join(format!("{name}.{stream}"))).unwrap();
        command.args(["--metrics-listen", "127.0.0.1:0"]).stdout(file("stdout")).stderr(file("stderr"));
        let mut process = Process(command.stdin(Stdio::null()).spawn().unwrap());
        for _ in 0..1_000 {
            let said = ["stdout", "stderr"].map(|stream| printed(place, name, stream)).concat();
            let words: Vec<&str> = said.split([' ', ',', '\n']).filter(|word| word.starts_with("http://")).collect();
            if let Some(page) = words.iter().find(|word| word.ends_with("/metrics")) {
                return Self { process, name, address: words[0].to_owned(), page: (*page).to_owned() };
            }
            assert!(process.0.try_wait().unwrap().is_none(), "{name} ended: {said}");
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("{name} names no page of metrics");
    }

    /// Reads what it serves while it runs.
    pub(super) fn look(&self, sinks: &mut Sinks) {
        sinks.add(format!("{}/metrics", self.name), get(&self.page));
        sinks.add(format!("{}/healthz", self.name), get(&self.page.replace("/metrics", "/healthz")));
    }

    /// Stops it, and collects its output.
    pub(super) fn stop(mut self, place: &Place, sinks: &mut Sinks) {
        self.process.signal("TERM");
        assert_eq!(self.process.wait(Duration::from_secs(20)), 0, "{}", self.name);
        for stream in ["stdout", "stderr"] {
            sinks.add(format!("{}/{stream}", self.name), printed(place, self.name, stream));
        }
    }
}

fn printed(place: &Place, name: &str, stream: &str) -> String {
    std::fs::read_to_string(Path::new(&place.path()).join(format!("{name}.{stream}"))).unwrap()
}

fn get(url: &str) -> Vec<u8> {
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    answer
}
