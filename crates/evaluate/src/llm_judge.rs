//! `llm_judge`: a language model answers a question of the scenario's author about the agent's work.

mod capability;
mod sheet;

use scenario::check::{Expected, JudgeRule, Judging};

use self::{
    capability::Capability,
    sheet::{CAPABILITIES, Sheet},
};
use crate::{
    error::Error,
    evaluator::{Behaviour, Found},
    excerpt::{SHORT_BYTES, excerpt},
    judge_pool::JudgePool,
    outcome::Outcome,
    question::{
        self, Ballot, Counted, Fault, Form, Material, Open, Question, Scale, Verdict, Votes, counted, form_of_ballot,
        majority, read_entries, recorded,
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
    /// The question, and each capability as a separate question.
    OneByOne { form: Box<Form>, capabilities: Vec<String>, form_of_capability: Box<Form> },
    /// The question and all capabilities on one sheet.
    Together(Form),
    /// The author's schema.
    Own(Form),
}

impl LlmJudge {
    pub(crate) fn new(rule: &JudgeRule, judging: &Judging) -> Result<Self, Error> {
        let asking = if let Some(schema) = &rule.json_schema {
            Asking::Own(sheet::form_of_schema(rule, schema)?)
        } else if rule.batch && !rule.capabilities.is_empty() {
            Asking::Together(sheet::form(rule, scale(&rule.expected), judging)?)
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
            Asking::Together(_) | Asking::Own(_) => sheet::question(rule),
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
    /// the score is the share achieved of those that apply and are decided. Without capabilities, it is the probability.
    async fn ask(&self, subject: &Subject<'_>, pool: &dyn JudgePool) -> Outcome {
        let material = Material::of(subject);
        let asked = match &self.asking {
            Asking::OneByOne { form, capabilities, form_of_capability } => {
                self.ballots(subject, &material, form, capabilities, form_of_capability, pool).await
            }
            Asking::Together(form) => self.together(subject, &material, form, pool).await,
            Asking::Own(form) => self.sheets(subject, &material, form, pool).await,
        };
        match asked {
            Ok(asked) => self.decide(&asked),
            Err((error, earlier)) => Outcome::from(error).after(earlier),
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
    ) -> Result<Asked, Broken> {
        let (judging, scale) = (subject.judging, scale(&self.expected));
        let question = self.question(subject, &self.text, material);
        let read = |text: &str| Ballot::read(&form.read(text)?, scale, judging, material);
        let votes = question::ask(&question, form, pool, read).await;
        let votes = votes.map_err(|few| (few.recorded(|votes| recorded(votes, "")), Vec::new()))?;
        let mut ballots = recorded(&votes, "");
        let mut found = Vec::with_capacity(capabilities.len());
        for (name, text) in self.capabilities.iter().zip(capabilities) {
            let question = self.question(subject, text, material);
            let read = |text: &str| Ballot::read(&form_of_capability.read(text)?, Scale::YesNo, judging, material);
            let votes = match question::ask(&question, form_of_capability, pool, read).await {
                Ok(votes) => votes,
                Err(few) => return Err((few.recorded(|votes| recorded(votes, name)), ballots)),
            };
            let seen: Vec<Capability> = votes.answers().map(Capability::of).collect();
            found.push(Capability::by_most(&seen));
            ballots.extend(recorded(&votes, name));
        }
        Ok(Asked { votes: votes.answers().map(Vote::of).collect(), capabilities: found, ballots })
    }

    async fn together(
        &self,
        subject: &Subject<'_>,
        material: &Material,
        form: &Form,
        pool: &dyn JudgePool,
    ) -> Result<Asked, Broken> {
        let (judging, scale) = (subject.judging, scale(&self.expected));
        let (count, listed) = (self.capabilities.len(), Scale::YesNo);
        let question = self.question(subject, &self.text, material);
        let read = |text: &str| {
            let fields = form.read(text)?;
            let capabilities = read_entries(&fields, CAPABILITIES, count, listed, judging, material)?;
            Ok::<_, Fault>((Ballot::read(&fields, scale, judging, material)?, capabilities))
        };
        let recorded = |sheets: &Votes<(Ballot, Vec<Ballot>)>| {
            let told = |ballot: &Ballot| (ballot.verdict.answer(), ballot.probability(), ballot.shown());
            let mut ballots = sheets.recorded("", |(ballot, _)| told(ballot));
            for (index, name) in self.capabilities.iter().enumerate() {
                ballots.extend(sheets.recorded(name, |(_, capabilities)| told(&capabilities[index])));
            }
            ballots
        };
        let sheets = question::ask(&question, form, pool, read).await;
        let sheets = sheets.map_err(|few| (few.recorded(recorded), Vec::new()))?;
        let ballots = recorded(&sheets);
        let each = |(_, capabilities): &(Ballot, Vec<Ballot>)| capabilities.iter().map(Capability::of).collect();
        let capabilities = by_most(&sheets.answers().map(each).collect::<Vec<_>>());
        Ok(Asked { votes: sheets.answers().map(|(ballot, _)| Vote::of(ballot)).collect(), capabilities, ballots })
    }

    async fn sheets(
        &self,
        subject: &Subject<'_>,
        material: &Material,
        form: &Form,
        pool: &dyn JudgePool,
    ) -> Result<Asked, Broken> {
        let question = self.question(subject, &self.text, material);
        let read = |text: &str| Sheet::read(form.read(text)?, &self.expected, self.capabilities.len());
        let recorded = |sheets: &Votes<Sheet>| {
            sheets.recorded("", |sheet| (sheet.judgment.clone(), sheet.probability(), sheet.reasoning.clone()))
        };
        let sheets = question::ask(&question, form, pool, read).await;
        let sheets = sheets.map_err(|few| (few.recorded(recorded), Vec::new()))?;
        let ballots = recorded(&sheets);
        let votes = sheets.answers().map(|sheet| Vote {
            verdict: sheet.verdict(),
            probability: sheet.probability(),
            reasoning: sheet.reasoning.clone(),
            shown: sheet.raw.clone(),
        });
        let capabilities = by_most(&sheets.answers().map(|sheet| sheet.capabilities.clone()).collect::<Vec<_>>());
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
            let (score, counts) = capability::score(&asked.capabilities);
            outcome.reason.push_str(&format!("; {counts}"));
            outcome.score = score;
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
                Decision::Holds(verdict.answer().to_lowercase().contains(&word.to_lowercase()))
            }
            // The mean decides, below.
            (_, _) => Decision::Holds(true),
        };
        let decision = match majority(asked.votes.iter().map(holds)) {
            Counted::Majority(decision) => decision,
            Counted::Tie => {
                let names = asked.votes.iter().map(|vote| vote.verdict.answer());
                return Outcome::undecided(format!("the judges' votes tie: {}", counted(names)));
            }
        };
        match decision {
            Decision::NotApplicable => return Outcome::open(Open::NotApplicable),
            Decision::CannotTell => return Outcome::open(Open::CannotTell),
            Decision::Holds(_) => {}
        }
        let numbers: Vec<f64> = asked.votes.iter().filter_map(|vote| vote.probability).collect();
        let mean = (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64);
        let agreeing = asked.votes.iter().find(|vote| holds(vote) == decision);
        let judgment = agreeing.map(|vote| vote.verdict.answer()).unwrap_or_default();
        let judgment = excerpt(&judgment, SHORT_BYTES);
        let (holds, reason) = self.verdict(decision == Decision::Holds(true), &judgment, mean.unwrap_or_default());
        let mut outcome = Outcome::decided(holds, reason);
        outcome.score = mean;
        if asked.votes.len() > 1 {
            let names = asked.votes.iter().map(|vote| vote.verdict.answer());
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

    /// The checklist, one line per capability, then each judge's answer.
    fn evidence(&self, asked: &Asked) -> String {
        let mut text = String::new();
        for (name, capability) in self.capabilities.iter().zip(&asked.capabilities) {
            let reasoning = excerpt(&capability.reasoning, 4 * SHORT_BYTES);
            text.push_str(&format!("{}: {} ({reasoning})\n", capability.mark(), excerpt(name, SHORT_BYTES)));
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

/// A judge failed, after the votes on earlier questions.
type Broken = (question::Error, Vec<record::Ballot>);

/// The judges' answers to the question and to each capability.
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

impl Vote {
    fn of(ballot: &Ballot) -> Self {
        Self {
            verdict: ballot.verdict.clone(),
            probability: ballot.probability(),
            reasoning: ballot.reasoning.clone(),
            shown: ballot.shown(),
        }
    }
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

/// Each capability as most votes see it; none if the votes have none. All votes list the same ones.
fn by_most(votes: &[Vec<Capability>]) -> Vec<Capability> {
    let count = votes.first().map_or(0, Vec::len);
    let column = |index: usize| votes.iter().filter_map(|vote| vote.get(index).cloned()).collect::<Vec<_>>();
    (0..count).map(|index| Capability::by_most(&column(index))).collect()
}
