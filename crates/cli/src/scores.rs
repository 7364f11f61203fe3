//! `scores` of `gabfest.yaml`: the model of each measurement.

use std::sync::Arc;

use anyhow::anyhow;
use embed::catalogue::SENTENCES;
use evaluate::scorer::Models;
use llm::{
    Absent, Measures,
    cassette::Tape,
    endpoint::Endpoint,
    measure::{Embed, Extract, Follow, Measurement, Moderate},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The source of each score that checks compare with a threshold.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct Settings {
    /// How similar two texts are in meaning. An endpoint is asked for embeddings.
    pub(crate) similarity: Source,
    /// The part of a text that answers a question. No endpoint offers this.
    pub(crate) answer: Source,
    /// How well a reply follows the conversation. No endpoint offers this.
    pub(crate) next_sentence: Source,
    /// Seven scores of harm. An endpoint is asked for moderations.
    pub(crate) toxicity: Source,
    /// The address from which known models are downloaded.
    pub(crate) hub: Option<String>,
}

/// Where a score comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Source {
    /// The endpoint of `roles.judge`, asked in plain language.
    #[default]
    Judge,
    /// An endpoint with embeddings or moderations, by its name.
    Endpoint(String),
    /// The default model for it, which runs in gabfest itself; missing sentence embeddings are downloaded.
    Embedded,
    /// Another model on this machine, by its name in `gabfest models list`.
    Model(String),
    /// The default model if it is on this machine, or else the judge.
    Auto,
}

/// One measurement, and the name of the usual model for it.
#[derive(Debug, Clone, Copy)]
struct MeasureSection<'a> {
    name: &'static str,
    source: &'a Source,
    model: &'static str,
    /// The server's address for it, if servers offer one.
    address: Option<Address>,
}

/// The kinds of calls to an endpoint that scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Address {
    Embeddings,
    Moderations,
}

impl Settings {
    fn measures(&self) -> [MeasureSection<'_>; 4] {
        let measure = |name, source, model, address| MeasureSection { name, source, model, address };
        [
            measure("similarity", &self.similarity, SENTENCES, Some(Address::Embeddings)),
            measure("answer", &self.answer, "question-answering", None),
            measure("next_sentence", &self.next_sentence, "next-sentence", None),
            measure("toxicity", &self.toxicity, "toxicity", Some(Address::Moderations)),
        ]
    }

    /// The kind of calls to the endpoint of this name, if it scores.
    pub(crate) fn address_of(&self, endpoint: &str) -> Option<Address> {
        let named = |source: &Source| matches!(source, Source::Endpoint(name) if name == endpoint);
        self.measures().into_iter().find(|measure| named(measure.source))?.address
    }

    /// Each measurement that names an endpoint, with that name.
    ///
    /// # Errors
    /// The key and the reason: it names an endpoint for something that endpoints do not offer, or the hub's address is
    /// invalid.
    pub(crate) fn endpoints(&self) -> Result<Vec<(&'static str, &str)>, (&'static str, String)> {
        if let Some(hub) = &self.hub
            && !matches!(embed::fetch::Source::parse(hub), Ok(embed::fetch::Source::Hub(_)))
        {
            return Err(("hub", format!("is {hub:?}, and must be an address such as https://models.example.com")));
        }
        let mut named = Vec::new();
        for measure in self.measures() {
            let Source::Endpoint(name) = measure.source else { continue };
            if measure.address.is_none() {
                return Err((measure.name, no_address(&measure, name)));
            }
            named.push((measure.name, name.as_str()));
        }
        Ok(named)
    }
}

fn no_address(MeasureSection { name: measure, .. }: &MeasureSection<'_>, endpoint: &str) -> String {
    format!(
        "names the endpoint {endpoint:?}, and endpoints have no address for that\nhint: write `{measure}: judge`, or `{measure}: auto` for a model that is kept on this machine"
    )
}

/// An endpoint, or its missing key.
type Opened = Result<Arc<Endpoint>, Absent>;

/// The models that the settings choose, each endpoint opened by `open`.
pub(crate) async fn models(
    settings: &Settings,
    tape: &Tape,
    open: &mut dyn FnMut(&str) -> anyhow::Result<Opened>,
) -> anyhow::Result<Models> {
    if tape.is_replay() {
        return Ok(recorded(settings, tape));
    }
    let hub = settings.hub.as_deref();
    let [similarity, answer, next_sentence, toxicity] = settings.measures();
    let embeddings = match similarity.source {
        Source::Endpoint(name) => Some(embeddings(open(name)?)),
        _ => on_this_machine::<Embed>(&similarity, hub).await?,
    };
    let moderations = match toxicity.source {
        Source::Endpoint(name) => Some(moderations(open(name)?)),
        _ => on_this_machine::<Moderate>(&toxicity, hub).await?,
    };
    let answers = on_this_machine::<Extract>(&answer, hub).await?;
    let following = on_this_machine::<Follow>(&next_sentence, hub).await?;
    Ok(Models {
        similarity: embeddings.map(|model| tape.measures(model)),
        answer: answers.map(|model| tape.measures(model)),
        next_sentence: following.map(|model| tape.measures(model)),
        toxicity: moderations.map(|model| tape.measures(model)),
    })
}

/// Models whose scores are recorded: nothing is downloaded, loaded or connected.
fn recorded(settings: &Settings, tape: &Tape) -> Models {
    fn of<M: Measurement>(measure: &MeasureSection<'_>, tape: &Tape) -> Option<Arc<dyn Measures<M>>>
    where
        llm::measure::Request<M>: llm::cassette::Taped,
    {
        let name = match measure.source {
            Source::Judge => return None,
            // The same choice as in the recorded run, if the same models are on this machine.
            Source::Auto if !local::is_kept(measure) => return None,
            Source::Auto | Source::Embedded => measure.model,
            Source::Endpoint(name) | Source::Model(name) => name.as_str(),
        };
        Some(tape.measures(Arc::new(Absent::new(name, "its scores are recorded"))))
    }
    let [similarity, answer, next_sentence, toxicity] = settings.measures();
    Models {
        similarity: of(&similarity, tape),
        answer: of(&answer, tape),
        next_sentence: of(&next_sentence, tape),
        toxicity: of(&toxicity, tape),
    }
}

fn embeddings(opened: Opened) -> Arc<dyn Measures<Embed>> {
    match opened {
        Ok(endpoint) => endpoint.embeddings(),
        Err(absent) => Arc::new(absent),
    }
}

fn moderations(opened: Opened) -> Arc<dyn Measures<Moderate>> {
    match opened {
        Ok(endpoint) => endpoint.moderations(),
        Err(absent) => Arc::new(absent),
    }
}

/// A model on this machine; `None`: the judge scores.
async fn on_this_machine<M: local::Runnable>(
    measure: &MeasureSection<'_>,
    hub: Option<&str>,
) -> anyhow::Result<Option<Arc<dyn Measures<M>>>> {
    Ok(match measure.source {
        Source::Judge => None,
        Source::Endpoint(name) => return Err(anyhow!("scores.{} {}", measure.name, no_address(measure, name))),
        Source::Embedded => Some(local::open(measure, measure.model, hub).await?),
        Source::Model(name) => Some(local::open(measure, name, hub).await?),
        Source::Auto => local::open_if_kept(measure).await?,
    })
}

#[cfg(feature = "candle")]
mod local {
    use std::sync::Arc;

    use anyhow::{Context as _, anyhow};
    pub(super) use embed::Runnable;
    use embed::{Local, Shelf, catalogue::known, fetch};
    use llm::Measures;

    use crate::scores::MeasureSection;
    use crate::{exit::usage, model_shelf::shelf};

    /// A model on this machine, downloaded if it is known and missing.
    pub(super) async fn open<M: Runnable>(
        measure: &MeasureSection<'_>,
        name: &str,
        hub: Option<&str>,
    ) -> anyhow::Result<Arc<dyn Measures<M>>> {
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

    pub(super) async fn open_if_kept<M: Runnable>(
        measure: &MeasureSection<'_>,
    ) -> anyhow::Result<Option<Arc<dyn Measures<M>>>> {
        let shelf = shelf()?;
        match shelf.find(measure.model)? {
            Some(kept) => read(&shelf, measure, &kept.name).await.map(Some),
            None => Ok(None),
        }
    }

    pub(super) fn is_kept(measure: &MeasureSection<'_>) -> bool {
        shelf().is_ok_and(|shelf| shelf.find(measure.model).is_ok_and(|kept| kept.is_some()))
    }

    async fn read<M: Runnable>(
        shelf: &Shelf,
        measure: &MeasureSection<'_>,
        name: &str,
    ) -> anyhow::Result<Arc<dyn Measures<M>>> {
        let (shelf, owned) = (shelf.clone(), name.to_owned());
        let opened = tokio::task::spawn_blocking(move || Local::<M>::open(&shelf, &owned)).await;
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
    use llm::{Measures, measure::Measurement};

    use crate::exit::usage;
    use crate::scores::MeasureSection;

    pub(super) trait Runnable: Measurement {}

    impl<M: Measurement> Runnable for M {}

    pub(super) async fn open<M: Runnable>(
        measure: &MeasureSection<'_>,
        name: &str,
        _: Option<&str>,
    ) -> anyhow::Result<Arc<dyn Measures<M>>> {
        Err(usage(anyhow!(
            "scores.{} needs the model {name:?} in gabfest itself, and this gabfest was built without models\nhint: build it with `--features candle`, or write `{}: judge`",
            measure.name,
            measure.name,
        )))
    }

    pub(super) fn is_kept(_: &MeasureSection<'_>) -> bool {
        false
    }

    pub(super) async fn open_if_kept<M: Runnable>(
        _: &MeasureSection<'_>,
    ) -> anyhow::Result<Option<Arc<dyn Measures<M>>>> {
        Ok(None)
    }
}
