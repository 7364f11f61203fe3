//! A run's folder: whole files, the same bytes each time, and errors that name the file.

use std::{collections::BTreeMap, fs, path::Path};

use report::{Played, Writer};

use crate::sample::{self, Sample};

fn write(sample: &Sample, dir: &Path) -> report::Written {
    let mut writer = Writer::create(dir).unwrap();
    for (trial, turns) in &sample.trials {
        writer.add(&Played { trial, turns, unreadable: None }).unwrap();
    }
    writer.finish(&sample.summary).unwrap()
}

fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    entries.map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())).collect()
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let sample = sample::night();
    let (first, second) = (dir.path().join("a/deep/first"), dir.path().join("second"));
    let written = write(&sample, &first);
    write(&sample, &second);
    write(&sample, &second);
    let names: Vec<String> = files(&first).into_keys().collect();
    assert_eq!(names, ["junit.xml", "report.html", "report.json", "report.md", "transcripts.jsonl", "trials.jsonl"]);
    assert_eq!(files(&first), files(&second));
    assert_eq!(&written.found, sample.selection().found());
    let lines = fs::read_to_string(&written.files["trials"]).unwrap().lines().count();
    assert_eq!(lines, sample.trials.len());
}

#[test]
fn a_writer_that_does_not_finish_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let sample = sample::small();
    let mut writer = Writer::create(dir.path()).unwrap();
    let (trial, turns) = &sample.trials[0];
    writer.add(&Played { trial, turns, unreadable: None }).unwrap();
    drop(writer);
    assert!(files(dir.path()).is_empty());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_names_the_file() {
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/dev/full", dir.path().join(".transcripts.jsonl.part")).unwrap();
    let sample = sample::night();
    let mut writer = Writer::create(dir.path()).unwrap();
    let mut failed = None;
    for (trial, turns) in &sample.trials {
        if let Err(error) = writer.add(&Played { trial, turns, unreadable: None }) {
            failed = Some(error);
            break;
        }
    }
    let error = failed.or_else(|| writer.finish(&sample.summary).err()).expect("/dev/full takes nothing");
    assert!(error.to_string().ends_with("transcripts.jsonl"), "{error}");
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("No space left"), "{cause}");
}

#[test]
fn a_place_that_cannot_be_made_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("taken");
    fs::write(&file, "").unwrap();
    let error = Writer::create(&file.join("run")).unwrap_err();
    assert!(error.to_string().contains("taken"), "{error}");
}
