//! `scores` of `gabfest.yaml`: which model measures what.

use std::sync::Arc;

use anyhow::anyhow;
use embed::catalogue::SENTENCES;
use evaluate::scorer::Models;
use llm::{Model, Task};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who gives the scores that checks compare with a threshold.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct Settings {
    /// How alike two texts are in meaning. An endpoint is asked for embeddings.
    pub(crate) similarity: Source,
    /// What part of a text answers a question. No endpoint has an address for it.
    pub(crate) answer: Source,
    /// How well a reply follows what was said before. No endpoint has an address for it.
    pub(crate) next_sentence: Source,
    /// Seven scores of harm. An endpoint is asked for moderations.
    pub(crate) toxicity: Source,
    /// Where models are downloaded from that gabfest knows by name.
    pub(crate) hub: Option<String>,
}

/// Where a score comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Source {
    /// The endpoint of `roles.judge`, asked in words.
    #[default]
    Judge,
    /// An endpoint with embeddings or moderations, by its name.
    Endpoint(String),
    /// The usual model for it that runs in gabfest itself; sentence embeddings are downloaded where they are not kept.
    Embedded,
    /// Another model that is kept on this machine, by its name in `gabfest models list`.
    Model(String),
    /// The usual model if it is kept on this machine, else the judge.
    Auto,
}

/// What is measured, with the task that a model has then and the name of the usual model for it.
struct Measure<'a> {
    name: &'static str,
    source: &'a Source,
    task: Task,
    model: &'static str,
}

impl Settings {
    fn measures(&self) -> [Measure<'_>; 4] {
        let measure = |name, source, task, model| Measure { name, source, task, model };
        [
            measure("similarity", &self.similarity, Task::Embed, SENTENCES),
            measure("answer", &self.answer, Task::Extract, "question-answering"),
            measure("next_sentence", &self.next_sentence, Task::Follow, "next-sentence"),
            measure("toxicity", &self.toxicity, Task::Moderate, "toxicity"),
        ]
    }

    /// What an endpoint is asked for that measures.
    pub(crate) fn task_of(&self, endpoint: &str) -> Option<Task> {
        let named = |source: &Source| matches!(source, Source::Endpoint(name) if name == endpoint);
        self.measures().into_iter().find(|measure| named(measure.source)).map(|measure| measure.task)
    }

    /// Each measure that names an endpoint, with that name.
    ///
    /// # Errors
    /// When one names an endpoint for what endpoints cannot do, or the hub's address cannot be read.
    pub(crate) fn endpoints(&self) -> anyhow::Result<Vec<(&'static str, &str)>> {
        if let Some(hub) = &self.hub
            && !matches!(embed::fetch::Source::parse(hub), Ok(embed::fetch::Source::Hub(_)))
        {
            return Err(anyhow!("scores.hub is {hub:?}, and must be an address such as https://models.example.com"));
        }
        let mut named = Vec::new();
        for Measure { name: measure, source, task, .. } in self.measures() {
            let Source::Endpoint(name) = source else { continue };
            if matches!(task, Task::Extract | Task::Follow) {
                return Err(anyhow!(
                    "scores.{measure} names the endpoint {name:?}, and endpoints have no address for that\nhint: write `{measure}: judge`, or `{measure}: auto` for a model that is kept on this machine"
                ));
            }
            named.push((measure, name.as_str()));
        }
        Ok(named)
    }
}

/// The models that the settings choose, each endpoint opened by `open`.
pub(crate) async fn models(
    settings: &Settings,
    open: &mut dyn FnMut(&str) -> anyhow::Result<Arc<dyn Model>>,
) -> anyhow::Result<Models> {
    let mut chosen = Vec::new();
    for measure in settings.measures() {
        chosen.push(match measure.source {
            Source::Judge => None,
            Source::Endpoint(name) => Some(open(name)?),
            Source::Embedded => Some(local::open(&measure, measure.model, settings.hub.as_deref()).await?),
            Source::Model(name) => Some(local::open(&measure, name, settings.hub.as_deref()).await?),
            Source::Auto => local::open_if_kept(&measure).await?,
        });
    }
    let mut chosen = chosen.into_iter();
    let mut next = || chosen.next().flatten();
    Ok(Models { similarity: next(), answer: next(), next_sentence: next(), toxicity: next() })
}

#[cfg(feature = "candle")]
mod local {
    use std::sync::Arc;

    use anyhow::{Context as _, anyhow};
    use embed::{Local, Shelf, catalogue::known, fetch};
    use llm::Model;

    use crate::scores::Measure;
    use crate::{exit::usage, model_shelf::shelf};

    /// A model of this machine, downloaded if it is known and not there.
    pub(super) async fn open(measure: &Measure<'_>, name: &str, hub: Option<&str>) -> anyhow::Result<Arc<dyn Model>> {
        let shelf = shelf()?;
        if shelf.find(name).map_err(usage)?.is_none() {
            let Some(known) = known(name) else {
                return Err(usage(anyhow!(
                    "scores.{} needs the model {name:?}, which is not in {}\nhint: `gabfest models fetch {name} --from URL|PATH`, or write `{}: judge`",
                    measure.name,
                    shelf.folder().display(),
                    measure.name,
                )));
            };
            let source = fetch::Source::of(known, hub).map_err(usage)?;
            tracing::warn!(model = name, folder = %shelf.folder().display(), "downloading a model, once");
            embed::fetch(&shelf, name, &source, None).await.map_err(|error| {
                anyhow!(
                    "failed to fetch the model {name:?}, which scores.{} needs: {error}\nhint: where the hub cannot be reached, `gabfest models fetch {name} --from PATH` takes it from a folder or an archive",
                    measure.name
                )
            })?;
        }
        read(&shelf, measure, name).await
    }

    pub(super) async fn open_if_kept(measure: &Measure<'_>) -> anyhow::Result<Option<Arc<dyn Model>>> {
        let shelf = shelf()?;
        match shelf.find(measure.model)? {
            Some(kept) => read(&shelf, measure, &kept.name).await.map(Some),
            None => Ok(None),
        }
    }

    async fn read(shelf: &Shelf, measure: &Measure<'_>, name: &str) -> anyhow::Result<Arc<dyn Model>> {
        let (shelf, owned, task) = (shelf.clone(), name.to_owned(), measure.task);
        let opened = tokio::task::spawn_blocking(move || Local::open(&shelf, &owned, task)).await;
        let opened = opened.with_context(|| format!("failed to read the model {name:?}"))?;
        let model = opened
            .with_context(|| format!("failed to use the model {name:?} for scores.{}", measure.name))
            .map_err(usage)?;
        Ok(Arc::new(model))
    }
}

#[cfg(not(feature = "candle"))]
mod local {
    use std::sync::Arc;

    use anyhow::anyhow;
    use llm::Model;

    use crate::exit::usage;
    use crate::scores::Measure;

    pub(super) async fn open(measure: &Measure<'_>, name: &str, _: Option<&str>) -> anyhow::Result<Arc<dyn Model>> {
        Err(usage(anyhow!(
            "scores.{} wants the model {name:?} in gabfest itself, and this gabfest was built without models (task {:?})\nhint: build it with `--features candle`, or write `{}: judge`",
            measure.name,
            measure.task,
            measure.name,
        )))
    }

    pub(super) async fn open_if_kept(_: &Measure<'_>) -> anyhow::Result<Option<Arc<dyn Model>>> {
        Ok(None)
    }
}
