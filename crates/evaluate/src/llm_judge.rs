//! `llm_judge`: a language model answers a question of the scenario's author about the agent's work.

mod sheet;

use scenario::check::{Expected, JudgeRule, Judging};

use self::sheet::{Capability, Sheet};
use crate::{
    error::Error,
    evaluator::{Behaviour, Found},
    excerpt::{SHORT_BYTES, excerpt},
    judge_pool::JudgePool,
    outcome::Outcome,
    question::{
        self, Ballot, Counted, Form, Material, Question, Scale, Verdict, Votes, counted, form_of_ballot, majority,
    },
    subject::Subject,
};

#[derive(Debug)]
pub(crate) struct LlmJudge {
    /// The author's question; with a sheet, the listed capabilities too.
    text: String,
    expected: Expected,
    model_type: Option<String>,
    temperature: Option<f64>,
    capabilities: Vec<String>,
    asking: Asking,
}

#[derive(Debug)]
enum Asking {
    /// The question, and each capability as a question of its own.
    OneByOne { form: Box<Form>, capabilities: Vec<String>, form_of_capability: Box<Form> },
    /// The author's schema, or the question and all capabilities on one sheet.
    Sheet(Form),
}

impl LlmJudge {
    pub(crate) fn new(rule: &JudgeRule, judging: &Judging) -> Result<Self, Error> {
        let asking = if rule.json_schema.is_some() || (rule.batch && !rule.capabilities.is_empty()) {
            Asking::Sheet(sheet::form(rule)?)
        } else {
            let question =
                |capability: &String| format!("Does the agent's work show this capability? {}", capability.trim());
            Asking::OneByOne {
                form: Box::new(form_of_ballot(scale(&rule.expected), judging)?),
                capabilities: rule.capabilities.iter().map(question).collect(),
                form_of_capability: Box::new(form_of_ballot(Scale::YesNo, judging)?),
            }
        };
        let text = match &asking {
            Asking::Sheet(_) => sheet::question(rule),
            Asking::OneByOne { .. } => rule.prompt.trim().to_owned(),
        };
        Ok(Self {
            text,
            expected: rule.expected.clone(),
            model_type: rule.model_type.clone(),
            temperature: rule.temperature,
            capabilities: rule.capabilities.clone(),
            asking,
        })
    }

    /// Only `expected` decides: `yes` and `no` by the judgment, numbers by the probability of a yes. The judge never sees it,
    /// because models take "expected: no" for a request. Capabilities are a checklist that does not affect the finding:
    /// the score is the share achieved. Without capabilities, the score is the probability.
    async fn ask(&self, subject: &Subject<'_>, pool: &dyn JudgePool) -> Outcome {
        let material = Material::of(subject);
        let asked = match &self.asking {
            Asking::OneByOne { form, capabilities, form_of_capability } => {
                self.ballots(subject, &material, form, capabilities, form_of_capability, pool).await
            }
            Asking::Sheet(form) => self.sheets(subject, &material, form, pool).await,
        };
        match asked {
            Ok(asked) => self.decide(&asked),
            Err(error) => error.into(),
        }
    }

    async fn ballots(
        &self,
        subject: &Subject<'_>,
        material: &Material,
        form: &Form,
        capabilities: &[String],
        form_of_capability: &Form,
        pool: &dyn JudgePool,
    ) -> Result<Asked, question::Error> {
        let (judging, scale) = (subject.judging, scale(&self.expected));
        let question = self.question(subject, &self.text, material);
        let read = |text: &str| Ballot::read(&form.read(text)?, scale, judging, material);
        let votes = question::ask(&question, form, pool, read).await?;
        let mut ballots = record(&votes, "");
        let mut found = Vec::with_capacity(capabilities.len());
        for (name, text) in self.capabilities.iter().zip(capabilities) {
            let question = self.question(subject, text, material);
            let read = |text: &str| Ballot::read(&form_of_capability.read(text)?, Scale::YesNo, judging, material);
            let votes = question::ask(&question, form_of_capability, pool, read).await?;
            let achieved = majority(votes.answers().map(|it| it.verdict == Verdict::Met)) == Counted::Majority(true);
            let agreeing = votes.answers().find(|it| (it.verdict == Verdict::Met) == achieved);
            found.push(Capability { achieved, reasoning: agreeing.map(Ballot::shown).unwrap_or_default() });
            ballots.extend(record(&votes, name));
        }
        let votes = votes.answers().map(|ballot| Vote {
            verdict: ballot.verdict.clone(),
            probability: ballot.probability(),
            reasoning: ballot.reasoning.clone(),
            shown: ballot.shown(),
        });
        Ok(Asked { votes: votes.collect(), capabilities: found, ballots })
    }

    async fn sheets(
        &self,
        subject: &Subject<'_>,
        material: &Material,
        form: &Form,
        pool: &dyn JudgePool,
    ) -> Result<Asked, question::Error> {
        let question = self.question(subject, &self.text, material);
        let read = |text: &str| Sheet::read(form.read(text)?, &self.expected, self.capabilities.len());
        let sheets = question::ask(&question, form, pool, read).await?;
        let ballots =
            sheets.recorded("", |sheet| (sheet.judgment.clone(), sheet.probability(), sheet.reasoning.clone()));
        let votes = sheets.answers().map(|sheet| Vote {
            verdict: sheet.verdict(),
            probability: sheet.probability(),
            reasoning: sheet.reasoning.clone(),
            shown: sheet.raw.clone(),
        });
        // A capability is achieved if most votes say so.
        let capabilities = sheets.answers().next().map_or_else(Vec::new, |first| first.capabilities.clone());
        let most = |index: usize, one: Capability| Capability {
            achieved: majority(sheets.answers().map(|sheet| sheet.capabilities[index].achieved))
                == Counted::Majority(true),
            ..one
        };
        let capabilities = capabilities.into_iter().enumerate().map(|(index, one)| most(index, one)).collect();
        Ok(Asked { votes: votes.collect(), capabilities, ballots })
    }

    fn question<'a>(&'a self, subject: &Subject<'a>, text: &'a str, material: &'a Material) -> Question<'a> {
        let model_type = self.model_type.as_deref();
        Question { model_type, temperature: self.temperature, ..Question::about(subject, text, material) }
    }

    fn decide(&self, asked: &Asked) -> Outcome {
        let outcome = self.compare(asked);
        let mut outcome = outcome.with_evidence(&self.evidence(asked)).with_ballots(asked.ballots.clone());
        if !self.capabilities.is_empty() && !asked.capabilities.is_empty() {
            let achieved = asked.capabilities.iter().filter(|capability| capability.achieved).count();
            let all = asked.capabilities.len();
            outcome.reason.push_str(&format!("; {achieved} of {all} capabilities achieved"));
            outcome.score = Some(achieved as f64 / all as f64);
        }
        let reasoning = asked.votes.first().map_or("", |vote| vote.reasoning.as_str());
        if !reasoning.is_empty() {
            outcome.reason.push_str(": ");
            outcome.reason.push_str(&excerpt(reasoning, 8 * SHORT_BYTES));
        }
        outcome
    }

    fn compare(&self, asked: &Asked) -> Outcome {
        let holds = |vote: &Vote| match (&self.expected, &vote.verdict) {
            (_, Verdict::NotApplicable) => Decision::NotApplicable,
            (_, Verdict::CannotTell) => Decision::CannotTell,
            (Expected::Yes, verdict) => Decision::Holds(*verdict == Verdict::Met),
            (Expected::No, verdict) => Decision::Holds(*verdict == Verdict::NotMet),
            (Expected::Says(word), verdict) => {
                Decision::Holds(word_of(verdict).to_lowercase().contains(&word.to_lowercase()))
            }
            // The mean decides, below.
            (_, _) => Decision::Holds(true),
        };
        let decision = match majority(asked.votes.iter().map(holds)) {
            Counted::Majority(decision) => decision,
            Counted::Tie => {
                let names = asked.votes.iter().map(|vote| word_of(&vote.verdict));
                return Outcome::undecided(format!("the judges' votes tie: {}", counted(names)));
            }
        };
        match decision {
            Decision::NotApplicable => {
                return Outcome::not_applicable("the judge finds that the question does not apply");
            }
            Decision::CannotTell => return Outcome::undecided("the judge cannot tell by this conversation"),
            Decision::Holds(_) => {}
        }
        let numbers: Vec<f64> = asked.votes.iter().filter_map(|vote| vote.probability).collect();
        let mean = (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64);
        let agreeing = asked.votes.iter().find(|vote| holds(vote) == decision);
        let judgment = agreeing.map(|vote| word_of(&vote.verdict)).unwrap_or_default();
        let judgment = excerpt(&judgment, SHORT_BYTES);
        let (holds, reason) = self.verdict(decision == Decision::Holds(true), &judgment, mean.unwrap_or_default());
        let mut outcome = Outcome::decided(holds, reason);
        outcome.score = mean;
        if asked.votes.len() > 1 {
            let names = asked.votes.iter().map(|vote| word_of(&vote.verdict));
            outcome.reason.push_str(&format!(" ({})", counted(names)));
        }
        outcome
    }

    fn verdict(&self, holds: bool, judgment: &str, confidence: f64) -> (bool, String) {
        match &self.expected {
            Expected::Yes => (holds, format!("the judge says {judgment:?}, expected yes")),
            Expected::No => (holds, format!("the judge says {judgment:?}, expected no")),
            Expected::AtLeast(low) => {
                (confidence >= *low, format!("the judge's confidence is {confidence}, expected at least {low}"))
            }
            Expected::AtMost(high) => {
                (confidence <= *high, format!("the judge's confidence is {confidence}, expected at most {high}"))
            }
            Expected::Between(low, high) => (
                (*low..=*high).contains(&confidence),
                format!("the judge's confidence is {confidence}, expected {low} to {high}"),
            ),
            Expected::Says(word) => {
                let word = excerpt(word, SHORT_BYTES);
                (holds, format!("the judge says {judgment:?}, expected {word:?} in it"))
            }
        }
    }

    /// The checklist, one line per capability, then what each judge said.
    fn evidence(&self, asked: &Asked) -> String {
        let mut text = String::new();
        for (name, Capability { achieved, reasoning }) in self.capabilities.iter().zip(&asked.capabilities) {
            let mark = if *achieved { "achieved" } else { "not achieved" };
            let reasoning = excerpt(reasoning, 4 * SHORT_BYTES);
            text.push_str(&format!("{mark}: {} ({reasoning})\n", excerpt(name, SHORT_BYTES)));
        }
        for vote in &asked.votes {
            text.push_str(&vote.shown);
            text.push('\n');
        }
        text.truncate(text.trim_end().len());
        text
    }
}

impl Behaviour for LlmJudge {
    fn find<'a>(&'a self, subject: &'a Subject<'a>, pool: &'a dyn JudgePool) -> Found<'a> {
        Found::asking(self.ask(subject, pool))
    }
}

/// What the judges said of the question and of each capability.
struct Asked {
    votes: Vec<Vote>,
    /// None if the schema of the check does not ask for them.
    capabilities: Vec<Capability>,
    ballots: Vec<record::Ballot>,
}

struct Vote {
    verdict: Verdict,
    /// How probable a yes is.
    probability: Option<f64>,
    reasoning: String,
    /// For the evidence.
    shown: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Decision {
    Holds(bool),
    NotApplicable,
    CannotTell,
}

fn scale(expected: &Expected) -> Scale<'static> {
    match expected {
        Expected::Says(_) => Scale::Words,
        _ => Scale::YesNo,
    }
}

/// As the judge of a question says it.
fn word_of(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Met => "yes".to_owned(),
        Verdict::NotMet => "no".to_owned(),
        other => other.name(),
    }
}

fn record(votes: &Votes<Ballot>, criterion: &str) -> Vec<record::Ballot> {
    votes.recorded(criterion, |ballot| (word_of(&ballot.verdict), ballot.probability(), ballot.shown()))
}
