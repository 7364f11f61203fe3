//! Puts files in their place.

use std::io::{Read as _, Seek as _, SeekFrom};

use object_store::{ObjectStoreExt as _, PutPayload, WriteMultipart, path::Path};

use crate::{Error, Place, file::Whole};

/// A file up to this size is sent in one request. A part of a larger one has this size.
const CHUNK_BYTES: usize = 8 << 20;
/// Parts in flight.
const AT_ONCE: usize = 4;

/// Uploads a file whole or not at all.
pub(crate) async fn put(place: &Place, path: &Path, mut whole: Whole) -> Result<(), Error> {
    let file = whole.file.as_file_mut();
    file.seek(SeekFrom::Start(0))?;
    let mut chunk = read(file)?;
    if (chunk.len() as u64) == whole.bytes {
        return text(place, path, chunk).await;
    }
    let failed = |error: object_store::Error| place.unreachable(&error);
    let upload = place.store.put_multipart(path).await.map_err(failed)?;
    let mut parts = WriteMultipart::new_with_chunk_size(upload, CHUNK_BYTES);
    while !chunk.is_empty() {
        parts.wait_for_capacity(AT_ONCE).await.map_err(failed)?;
        parts.put(chunk.into());
        chunk = read(file)?;
    }
    parts.finish().await.map_err(failed)?;
    Ok(())
}

/// Uploads a small file.
pub(crate) async fn text(place: &Place, path: &Path, bytes: Vec<u8>) -> Result<(), Error> {
    place.store.put(path, PutPayload::from(bytes)).await.map_err(|error| place.unreachable(&error))?;
    Ok(())
}

fn read(file: &mut std::fs::File) -> Result<Vec<u8>, Error> {
    let mut chunk = Vec::with_capacity(CHUNK_BYTES);
    file.take(CHUNK_BYTES as u64).read_to_end(&mut chunk)?;
    Ok(chunk)
}
