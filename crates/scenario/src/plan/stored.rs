//! The stored and sent form of a plan: versioned JSON, and its digest.

use serde::Deserialize;
use serde_json::Value;

use super::{Plan, VERSION, bounds};
use crate::{Digest, objective};

const NEWEST: u64 = VERSION as u64;

/// A stored plan that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("read the plan's JSON")]
    Malformed(#[from] serde_json::Error),
    #[error("read a plan of version {found}; this build reads versions 1 to {VERSION}")]
    Version { found: u64 },
    #[error("use the plan: {0}")]
    Inconsistent(String),
}

impl Plan {
    /// SHA-256 over the plan's canonical JSON: equal plans have equal digests.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let value = serde_json::to_value(self).expect("a plan has text keys only, so JSON can hold it");
        Digest::of_json(&value)
    }

    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a plan has text keys only, so JSON can hold it")
    }

    /// # Errors
    /// The text is not JSON, the plan is of another version, or its parts do not fit together.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        let value: Value = serde_json::from_str(text)?;
        // Check the version first: a later format may not even parse.
        match value.get("version").and_then(Value::as_u64) {
            Some(1..=NEWEST) => {}
            found => return Err(Error::Version { found: found.unwrap_or(0) }),
        }
        let plan = Self::deserialize(value)?;
        plan.consistent().map_err(Error::Inconsistent)?;
        Ok(plan)
    }

    /// Checks what the arithmetic of the numbers relies on.
    fn consistent(&self) -> Result<(), String> {
        if self.agents.is_empty() {
            return Err("it names no agent".to_owned());
        }
        if self.gates.objectives.len() > objective::MOST {
            return Err(format!("it has more than {} objectives", objective::MOST));
        }
        for group in &self.groups {
            let key = &group.key;
            if group.repeats == 0 || group.personas.is_empty() {
                return Err(format!("group `{key}` has no repeats or no personas"));
            }
            if let Some(axis) = group.axes.iter().find(|axis| axis.values.is_empty()) {
                return Err(format!("axis `{}` of group `{key}` has no values", axis.parameter));
            }
            if group.extra.iter().any(|values| values.len() != group.axes.len()) {
                return Err(format!("an added combination of group `{key}` does not have a value for each axis"));
            }
            if let Some(rows) = &group.rows {
                rows.consistent().map_err(|fault| format!("group `{key}`: {fault}"))?;
            }
            if let Some(name) = group.personas.iter().flatten().find(|name| !self.personas.contains_key(*name)) {
                return Err(format!("group `{key}` names the persona `{name}`, which the plan does not hold"));
            }
            let cells = self.cells_of(group);
            if cells == u64::MAX {
                return Err(format!("group `{key}` has more cases than can be numbered"));
            }
            if let Some(selection) = &group.selection {
                let ascending = selection.windows(2).all(|pair| pair[0] < pair[1]);
                if !ascending || selection.last().is_some_and(|last| *last >= cells) {
                    return Err(format!("the selection of group `{key}` does not fit its cases"));
                }
            }
        }
        if let Some(objection) = self.objection_to_decide() {
            return Err(objection);
        }
        if let Some(load) = &self.load {
            load.consistent(|group| self.groups.get(group).map(|group| self.cases_of(group)))?;
        } else if self.repeated() == u64::MAX {
            return Err("it has more trials than can be numbered".to_owned());
        }
        if let Some(fault) = bounds::long_text(self) {
            return Err(format!("{}: {}", fault.path, fault.message));
        }
        Ok(())
    }
}
