//! The folder of downloaded models.

use std::{env, path::PathBuf};

use anyhow::anyhow;
use embed::Shelf;

use crate::exit::usage;

/// The folder of models unless the environment names another one.
const BELOW_CACHE: &str = "gabfest/models";

/// `GABFEST_MODELS`, else a folder of the user's cache.
pub(crate) fn shelf() -> anyhow::Result<Shelf> {
    let named = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    named("GABFEST_MODELS")
        .or_else(|| Some(named("XDG_CACHE_HOME")?.join(BELOW_CACHE)))
        .or_else(|| Some(named("HOME")?.join(".cache").join(BELOW_CACHE)))
        .map(Shelf::new)
        .ok_or_else(|| usage(anyhow!("there is no folder for models\nhint: set GABFEST_MODELS to a folder")))
}
