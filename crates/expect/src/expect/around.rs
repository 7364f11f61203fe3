//! The environment of a test: its folder and its environment variables.

use std::{
    collections::BTreeMap,
    env,
    hash::{BuildHasher as _, Hasher as _, RandomState},
    path::PathBuf,
};

use scenario::RunId;

/// If this variable is `1`, a test without a judge is skipped with a message instead of failing.
pub(super) const SKIP: &str = "GABFEST_EXPECT_SKIP";
pub(super) const KEY: &str = "OPENAI_API_KEY";
pub(super) const URL: &str = "OPENAI_BASE_URL";
pub(super) const MODEL: &str = "OPENAI_MODEL";

#[derive(Debug, Clone)]
pub(super) struct Around {
    /// Unique for each run, because agents key their state by it.
    pub(super) run: RunId,
    /// The folder in which the search for `gabfest.yaml` starts; it continues in the folders above.
    pub(super) folder: PathBuf,
    variables: BTreeMap<String, String>,
}

impl Around {
    pub(super) fn of_this_process() -> Self {
        let set = |name: &str| Some((name.to_owned(), env::var(name).ok()?));
        let variables = [SKIP, KEY, URL, MODEL].into_iter().filter_map(set).collect();
        let chance = RandomState::new().build_hasher().finish();
        let run = RunId::new(format!("expect-{chance:016x}"));
        Self { run, folder: env::current_dir().unwrap_or_default(), variables }
    }

    /// The value of a variable; `None` if it is unset or empty.
    pub(super) fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
    }

    pub(super) fn may_skip(&self) -> bool {
        self.variable(SKIP) == Some("1")
    }

    #[cfg(test)]
    pub(super) fn with(folder: impl Into<PathBuf>, variables: &[(&str, &str)]) -> Self {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Self { run: RunId::new("expect"), folder: folder.into(), variables }
    }
}
