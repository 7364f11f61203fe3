//! The version of a store's schema.

use sqlx::migrate::Migrator;

use crate::{Error, refusal};

/// What a store has of this program's schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    /// The steps that it has; 0: it is empty.
    pub applied: usize,
    /// The steps that it lacks, in order.
    pub pending: Vec<SchemaStep>,
}

/// One step to a newer schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaStep {
    pub version: i64,
    pub name: String,
}

impl Schema {
    /// [`Error::Version`] if a newer program made it.
    pub(crate) fn of(ours: &Migrator, applied: &[i64]) -> Result<Self, Error> {
        if applied.iter().any(|version| !ours.version_exists(*version)) {
            let known = ours.iter().map(|step| step.version).max();
            return Err(refusal::newer(applied.iter().copied().max().zip(known)));
        }
        let pending = ours.iter().filter(|step| !applied.contains(&step.version));
        let pending = pending.map(|step| SchemaStep { version: step.version, name: step.description.to_string() });
        Ok(Self { applied: applied.len(), pending: pending.collect() })
    }
}
