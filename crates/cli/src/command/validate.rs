//! `gabfest validate`: how well a threshold agrees with people, before anything is judged by it.

mod agreement;
mod table;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use anyhow::anyhow;
use evaluate::{
    JudgePool as _,
    labelled::{self, LabelledMeasure, Sample},
    scorer,
};
use formats::read;
use futures_util::{StreamExt as _, stream};
use record::Scope;
use record::count::plural;
use scenario::{Asks, Diagnostic, battery::Thresholds};
use statistics::threshold::{self, Confusion, Labelled, Side};

use self::agreement::{Agreement, NotScored, Scored};
use crate::{
    args::{Capacity, Config},
    assemble, clock, diagnostics,
    exit::{Exit, usage},
    labelled_judges::LabelledJudges,
    settings, stdout,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A CSV, YAML or JSON file of labelled texts (`-` reads YAML or JSON from stdin)
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The threshold to test [default: the one that batteries use]
    #[arg(short, long, value_name = "X", value_parser = finite)]
    threshold: Option<f64>,
    /// Print JSON, with the score of every text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    config: Config,
}

fn finite(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.parse().ok();
    number.filter(|number| number.is_finite()).ok_or_else(|| "a threshold is a number such as 0.6".to_owned())
}

/// A sample and its score.
type Answered = (Sample, Result<scorer::Score, scorer::Error>);

pub(crate) async fn validate(args: Args) -> anyhow::Result<Exit> {
    let read = settings::read(&args.config, false)?;
    let samples = samples(&args.file)?;
    let thresholds = thresholds(&samples, args.threshold)?;
    let capacity = Capacity::default();
    let models = assemble::resources(&read, &[], &capacity, None).await?.models;
    if let Some(failure) = models.missing(&asks(&samples)) {
        return Err(usage(anyhow!("nothing was measured: {}", failure.message)));
    }
    let run = clock::new_run_id();
    let slots = assemble::slots(&read, &capacity) as usize;
    let asked = stream::iter(samples).enumerate().map(|(place, sample)| {
        let judges = LabelledJudges::new(&models, &run, "validate", place as u64);
        async move {
            let score = sample.score(&*judges.scorer(Scope::Turn { step: 1, turn: 1 })).await;
            (sample, score)
        }
    });
    let answered: Vec<_> = asked.buffered(slots).collect().await;
    let mut by_measure: BTreeMap<LabelledMeasure, Vec<Answered>> = BTreeMap::new();
    for (sample, score) in answered {
        by_measure.entry(sample.measure).or_default().push((sample, score));
    }
    let found: Vec<Agreement> =
        by_measure.into_iter().map(|(measure, answered)| found(measure, thresholds[&measure], answered)).collect();
    if args.json {
        let text = serde_json::to_string_pretty(&serde_json::json!({ "measures": found }))?;
        stdout::line(&record::visible::json(&text))?;
    } else {
        stdout::write(&found.iter().map(table::of).collect::<Vec<_>>().join("\n"))?;
    }
    let without: usize = found.iter().map(|found| found.not_scored.len()).sum();
    if let Some(first) = found.iter().find_map(|found| found.not_scored.first()) {
        let texts = plural(without as u64, "sample", "samples");
        let line = first.line;
        diagnostics::note(&redact::redact(&format!("{texts} got no score; the first, line {line}: {}", first.reason)));
        return Ok(Exit::NotEnoughEvidence);
    }
    Ok(Exit::Held)
}

/// The model that gives the scores.
fn asks(samples: &[Sample]) -> Asks {
    let measures = samples.iter().flat_map(|sample| match sample.measure {
        LabelledMeasure::Similarity => vec![scenario::Measure::Similarity],
        LabelledMeasure::NextSentence => vec![scenario::Measure::NextSentence],
        LabelledMeasure::Toxicity(_) => vec![scenario::Measure::Toxicity],
        LabelledMeasure::Answer => vec![scenario::Measure::Answer, scenario::Measure::Similarity],
    });
    Asks { measures: measures.collect(), ..Asks::default() }
}

fn samples(path: &Path) -> anyhow::Result<Vec<Sample>> {
    let shown = path.to_string_lossy();
    let is_table = shown.to_lowercase().ends_with(".csv");
    let (samples, found) = match read::text_of(path, if is_table { labelled::MAX_BYTES } else { yaml::MAX_BYTES }) {
        Err(fault) => (Vec::new(), vec![fault]),
        Ok((text, warning)) => {
            let (samples, found) = labelled::read(&text, &shown);
            (samples, warning.into_iter().chain(found).collect())
        }
    };
    diagnostics::print(&found);
    if found.iter().any(Diagnostic::is_error) {
        return Err(usage(anyhow!("nothing was measured: {}", diagnostics::count(&found))));
    }
    Ok(samples)
}

/// The threshold of each measure.
fn thresholds(samples: &[Sample], wanted: Option<f64>) -> anyhow::Result<BTreeMap<LabelledMeasure, f64>> {
    let usual = Thresholds::default();
    let keys: BTreeSet<&str> = samples.iter().map(|sample| sample.measure.threshold(&usual).0).collect();
    if wanted.is_some() && keys.len() > 1 {
        let keys = keys.into_iter().collect::<Vec<_>>().join(", ");
        return Err(usage(anyhow!(
            "--threshold is one number, and the file needs several: {keys}\nhint: put the measures into files of their own"
        )));
    }
    let threshold = |measure: LabelledMeasure| (measure, wanted.unwrap_or(measure.threshold(&usual).1));
    Ok(samples.iter().map(|sample| threshold(sample.measure)).collect())
}

fn found(measure: LabelledMeasure, threshold: f64, answered: Vec<Answered>) -> Agreement {
    let passes = if measure.is_harm() { Side::AtMost } else { Side::AtLeast };
    let (mut models, mut samples, mut not_scored) = (BTreeSet::new(), Vec::new(), Vec::new());
    let mut labelled = Vec::new();
    for (sample, score) in answered {
        let line = sample.line;
        match score {
            Ok(score) => {
                models.insert(score.model);
                labelled.push(Labelled { score: score.value, is_good: sample.is_good });
                let label = if sample.is_good { "pass" } else { "fail" };
                samples.push(Scored { line, label, score: score.value });
            }
            Err(error) => not_scored.push(NotScored { line, reason: error.to_string() }),
        }
    }
    let confusion = Confusion::of(&labelled, passes, threshold);
    Agreement {
        measure: measure.name(),
        models,
        passes,
        threshold,
        confusion,
        worth: confusion.worth(),
        best: threshold::best(&labelled, passes),
        samples,
        not_scored,
    }
}
