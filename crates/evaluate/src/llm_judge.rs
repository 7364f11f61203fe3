//! `llm_judge`: a language model answers a question of the scenario's author about the agent's work.

mod sheet;

use scenario::check::{Expected, JudgeRule};

use self::sheet::{Capability, Sheet};
use crate::{
    error::Error,
    evaluator::{Behaviour, Found},
    excerpt::{SHORT_BYTES, excerpt},
    judge_pool::JudgePool,
    outcome::Outcome,
    question::{self, Form, Material, Question},
    subject::Subject,
};

#[derive(Debug)]
pub(crate) struct LlmJudge {
    /// The author's question, then the listed capabilities.
    text: String,
    expected: Expected,
    model_type: Option<String>,
    temperature: Option<f64>,
    capabilities: Vec<String>,
    form: Form,
}

impl LlmJudge {
    pub(crate) fn new(rule: &JudgeRule) -> Result<Self, Error> {
        Ok(Self {
            text: sheet::question(rule),
            expected: rule.expected.clone(),
            model_type: rule.model_type.clone(),
            temperature: rule.temperature,
            capabilities: rule.capabilities.clone(),
            form: sheet::form(rule)?,
        })
    }

    /// Only `expected` decides: `yes` and `no` by the judgment, numbers by the confidence. The judge never sees it,
    /// because models take "expected: no" for a request. Capabilities are a checklist that does not affect the finding:
    /// the score is the share achieved. Without capabilities, the score is the confidence.
    async fn ask(&self, subject: &Subject<'_>, pool: &dyn JudgePool) -> Outcome {
        let material = Material::of(subject);
        let question = Question {
            text: &self.text,
            material: &material,
            model_type: self.model_type.as_deref(),
            temperature: self.temperature,
            scope: subject.scope,
        };
        let read = |text: &str| Sheet::read(self.form.read(text)?, &self.expected, self.capabilities.len());
        match question::ask(&question, &self.form, pool, read).await {
            Ok(sheet) => self.decide(&sheet),
            Err(error) => error.into(),
        }
    }

    fn decide(&self, sheet: &Sheet) -> Outcome {
        let (holds, mut reason) = self.compare(sheet);
        let mut score = sheet.confidence;
        if !sheet.capabilities.is_empty() {
            let achieved = sheet.capabilities.iter().filter(|capability| capability.achieved).count();
            reason.push_str(&format!("; {achieved} of {} capabilities achieved", sheet.capabilities.len()));
            score = Some(achieved as f64 / sheet.capabilities.len() as f64);
        }
        if !sheet.reasoning.is_empty() {
            reason.push_str(": ");
            reason.push_str(&excerpt(&sheet.reasoning, 8 * SHORT_BYTES));
        }
        let outcome = Outcome::decided(holds, reason).with_evidence(&self.evidence(sheet));
        Outcome { score, ..outcome }
    }

    fn compare(&self, sheet: &Sheet) -> (bool, String) {
        let judgment = excerpt(&sheet.judgment, SHORT_BYTES);
        let confidence = sheet.confidence.unwrap_or_default();
        match &self.expected {
            Expected::Yes => (sheet.says("yes"), format!("the judge says {judgment:?}, expected yes")),
            Expected::No => (sheet.says("no"), format!("the judge says {judgment:?}, expected no")),
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
                let said = sheet.judgment.to_lowercase().contains(&word.to_lowercase());
                let word = excerpt(word, SHORT_BYTES);
                (said, format!("the judge says {judgment:?}, expected {word:?} in it"))
            }
        }
    }

    /// The checklist, one line per capability, then the judge's reply.
    fn evidence(&self, sheet: &Sheet) -> String {
        let mut text = String::new();
        for (name, Capability { achieved, reasoning }) in self.capabilities.iter().zip(&sheet.capabilities) {
            let mark = if *achieved { "achieved" } else { "not achieved" };
            let reasoning = excerpt(reasoning, 4 * SHORT_BYTES);
            text.push_str(&format!("{mark}: {} ({reasoning})\n", excerpt(name, SHORT_BYTES)));
        }
        text.push_str(&sheet.raw);
        text
    }
}

impl Behaviour for LlmJudge {
    fn find<'a>(&'a self, subject: &'a Subject<'a>, pool: &'a dyn JudgePool) -> Found<'a> {
        Found::asking(self.ask(subject, pool))
    }
}
