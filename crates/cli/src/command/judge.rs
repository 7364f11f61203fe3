//! `gabfest judge`: how well a judge agrees with people, before a verdict rests on it.

mod agreement;
mod table;

use std::path::PathBuf;

use anyhow::anyhow;
use evaluate::calibration::{self, Answered, Calibration, Item, Label};
use futures_util::{StreamExt as _, stream};
use record::count::plural;
use scenario::{
    Asks,
    check::{Evidence, JudgeForm, Judging},
};
use worker::Models;

use self::agreement::{Agreement, Verdicts};
use crate::{
    args::{Capacity, Config, whole},
    assemble,
    calibration::{self as calibration_file, LEAST_OF_CRITERION, Measured, OfCriterion},
    clock, diagnostics,
    exit::{Exit, usage},
    labelled_judges::LabelledJudges,
    labels,
    references::fault_of_model_type,
    settings, stdout,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A file of labelled conversations, one JSON object a line
    #[arg(value_name = "LABELS")]
    file: PathBuf,
    /// The model type of the judge [default: the endpoint in `roles.judge`]
    #[arg(long, value_name = "TYPE")]
    model_type: Option<String>,
    /// Model types of several judges, each of which votes
    #[arg(long, value_name = "TYPE,…", value_delimiter = ',')]
    panel: Vec<String>,
    /// How often each judge votes on each item
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<u32>(1..=100))]
    votes: u32,
    /// Ask for the verdict before the reasoning
    #[arg(long)]
    verdict_first: bool,
    /// Do not ask for quotes
    #[arg(long)]
    no_quotes: bool,
    /// The language of the judge's reasons
    #[arg(long, value_name = "LANGUAGE")]
    language: Option<String>,
    /// How many solved examples each question shows, from the other half of the file
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<u8>(0..=6))]
    examples: u8,
    /// How many seeds each item is judged with, to count the verdicts that flip
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<u32>(1..=100))]
    seeds: u32,
    /// Judge items that are not met a second time, with an attack on the judge in the agent's last words
    #[arg(long)]
    attacks: bool,
    /// Exit with 1 if kappa is below this
    #[arg(long, value_name = "KAPPA", value_parser = kappa)]
    min_kappa: Option<f64>,
    /// Keep what is measured in the `calibration` file of the settings, for `gates.judges`
    #[arg(long)]
    save: bool,
    /// Print JSON, with the verdict on every item
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    config: Config,
}

/// The share of items that need a verdict before a measurement is stored.
const LEAST_ANSWERED: f64 = 0.9;

fn kappa(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.parse().ok();
    number.filter(|number| (-1.0..=1.0).contains(number)).ok_or_else(|| "kappa is a number from -1 to 1".to_owned())
}

pub(crate) async fn judge(args: Args) -> anyhow::Result<Exit> {
    let read = settings::read(&args.config, false)?;
    let named = args.model_type.iter().map(|name| ("--model-type", name));
    let mut named = named.chain(args.panel.iter().map(|name| ("--panel", name)));
    if let Some(fault) = named.find_map(|(option, name)| fault_of_model_type(option, name, &read.settings)) {
        return Err(usage(anyhow!("nothing was judged: {fault}")));
    }
    let (items, labels_digest) = labels::read(&args.file)?;
    let judging = Judging {
        votes: args.votes,
        panel: args.panel.clone(),
        form: if args.verdict_first { JudgeForm::VerdictFirst } else { JudgeForm::ReasonFirst },
        evidence: if args.no_quotes { Evidence::None } else { Evidence::Given },
        language: args.language.clone(),
        ..Judging::USUAL
    };
    let ballots = judging.ballots();
    let capacity = Capacity::default();
    let models = assemble::resources(&read, &[], &capacity, None).await?.models;
    let judges = judging.voters(args.model_type.as_deref()).map(|judge| judge.map(str::to_owned));
    if let Some(failure) = models.missing(&Asks { judges: judges.collect(), ..Asks::default() }) {
        return Err(usage(anyhow!("nothing was judged: {}", failure.message)));
    }
    let calibration = Calibration::new(judging, args.model_type.clone())
        .map_err(|error| usage(anyhow!("failed to {error}\nhint: {}", error.help())))?;
    let asking = Asking {
        items: &items,
        calibration: &calibration,
        models: &models,
        run: clock::new_run_id(),
        examples: usize::from(args.examples),
        slots: assemble::slots(&read, &capacity) as usize,
    };
    let mut verdicts: Vec<Verdicts> = items.iter().map(Verdicts::new).collect();
    for seed in 0..args.seeds {
        let answers = asking.ask(&format!("judge/{seed}"), |_| true, false).await;
        verdicts.iter_mut().zip(answers).for_each(|(verdict, answer)| verdict.heard(answer));
    }
    if args.attacks {
        let unmet =
            |place: usize| verdicts[place].first() == Some(Label::NotMet) && items[place].label == Label::NotMet;
        let answers = asking.ask("judge/attacked", unmet, true).await;
        verdicts.iter_mut().zip(answers).for_each(|(verdict, answer)| verdict.attacked(answer));
    }
    let found = Agreement::of(&items, &verdicts);
    if args.json {
        stdout::line(&record::visible::json(&redact::redact(&serde_json::to_string_pretty(&found)?)))?;
    } else {
        stdout::write(&redact::redact(&table::of(&found)))?;
    }
    if args.save {
        let labels = args.file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        save(&read, &found, Measurement { ballots, labels, labels_digest })?;
    }
    Ok(ending(&found, args.min_kappa))
}

/// How a measurement was made.
struct Measurement {
    ballots: u64,
    labels: String,
    labels_digest: String,
}

/// A judge that answers only easy items could reach any kappa, so most items need a verdict.
fn save(read: &settings::Read, found: &Agreement, made: Measurement) -> anyhow::Result<()> {
    let Agreement { items, answered, .. } = *found;
    if found.kappa.estimate.is_none() || (answered as f64) < LEAST_ANSWERED * items as f64 {
        diagnostics::note(&format!(
            "nothing was saved: {answered} of {items} items got a verdict, and kappa needs 90 % of them and different labels"
        ));
        return Ok(());
    }
    let path = calibration_file::path(read);
    let Measurement { ballots, labels, labels_digest } = made;
    let measured = Measured {
        judges: found.judges.iter().cloned().collect(),
        models: found.models.iter().cloned().collect(),
        ballots,
        date: clock::today(),
        labels,
        labels_digest,
        items,
        answered,
        kappa: found.kappa.clone(),
        sensitivity: found.sensitivity.clone(),
        specificity: found.specificity.clone(),
        seed_flips: found.seed_flips.clone(),
        attacks: found.attacks.clone(),
        criteria: of_criteria(found),
    };
    calibration_file::keep(&path, measured)?;
    diagnostics::note(&format!("saved in {}", path.display()));
    Ok(())
}

fn of_criteria(found: &Agreement) -> Vec<OfCriterion> {
    let enough = found.criteria.iter().filter(|(_, group)| group.items >= LEAST_OF_CRITERION);
    enough
        .map(|(criterion, group)| OfCriterion {
            criterion: criterion.clone(),
            items: group.items,
            kappa: group.kappa.clone(),
            sensitivity: group.sensitivity.clone(),
            specificity: group.specificity.clone(),
        })
        .collect()
}

fn ending(found: &Agreement, min_kappa: Option<f64>) -> Exit {
    if let Some(first) = found.unanswered.first() {
        let count = plural(found.unanswered.len() as u64, "item", "items");
        let reason = redact::redact(&first.reason).into_owned();
        diagnostics::note(&format!("{count} got no verdict; the first, line {}: {reason}", first.line));
    }
    match (found.kappa.estimate, min_kappa) {
        (None, _) => Exit::NotEnoughEvidence,
        (Some(kappa), Some(least)) if kappa < least => {
            diagnostics::note(&format!("kappa is {kappa:.3}, below {least}"));
            Exit::GateFailed
        }
        _ if found.unanswered.is_empty() => Exit::Held,
        _ => Exit::NotEnoughEvidence,
    }
}

struct Asking<'a> {
    items: &'a [Item],
    calibration: &'a Calibration,
    models: &'a Models,
    run: scenario::RunId,
    examples: usize,
    slots: usize,
}

/// `None`: the item was not asked.
type Answer = Option<Result<Answered, evaluate::question::Error>>;

impl Asking<'_> {
    /// One answer for each item, in the order of the file.
    async fn ask(&self, purpose: &str, wanted: impl Fn(usize) -> bool, attack: bool) -> Vec<Answer> {
        let asked = self.items.iter().enumerate().map(|(place, item)| {
            let is_wanted = wanted(place);
            let judges = LabelledJudges::new(self.models, &self.run, purpose, place as u64);
            let attack = attack.then(|| attack_on(item, place));
            async move {
                if !is_wanted {
                    return None;
                }
                let examples = calibration::examples(self.items, item, self.examples);
                Some(self.calibration.ask(item, &examples, attack, &judges).await)
            }
        });
        stream::iter(asked).buffered(self.slots).collect().await
    }
}

/// Each item gets another attack in its own language, as far as they go.
fn attack_on(item: &Item, place: usize) -> &'static calibration::Attack {
    let attacks = calibration::attacks_in(&item.language);
    attacks[place % attacks.len()]
}
