//! `call`: a model acts as a function; its result must satisfy checks.

use std::sync::LazyLock;

use scenario::check::CallRule;
use serde_json::{Value, json};

use crate::{
    error::Error,
    evaluator::{Behaviour, Compile, Found},
    judge_pool::{JudgePool, objection},
    nested::Nested,
    outcome::Outcome,
    question::{Form, Material, Question, ask_one, recorded_one},
    subject::Subject,
};

/// The token limit of the function's result.
const RESULT_TOKENS: u32 = 1_000;
/// The argument that lists the possible results, separated by commas.
const OPTIONS: &str = "options";

/// Reads every result. A form with options only restricts the request.
static FORM: LazyLock<Form> = LazyLock::new(|| form(&[]).expect("the schema is written here"));

#[derive(Debug)]
pub(crate) struct Call {
    /// The model type to ask, if the settings have it.
    plugin: String,
    question: String,
    result_name: String,
    arguments: Vec<(String, String)>,
    /// Empty: any text can be the result.
    options: Vec<String>,
    form: Form,
    checks: Nested,
}

impl Call {
    pub(crate) fn new(rule: &CallRule, compile: Compile) -> Result<Self, Error> {
        let name = format!("{}.{}", rule.plugin, rule.function);
        let options = options(&rule.arguments);
        let mut question_end = String::new();
        if !options.is_empty() {
            question_end = format!(" It returns exactly one of these: {}.", options.join(", "));
        }
        let names: Vec<String> = rule.arguments.iter().map(|(name, _)| format!("`{name}`")).collect();
        Ok(Self {
            plugin: rule.plugin.clone(),
            question: format!(
                "You act as the function `{name}`. Its arguments are the fields of the material: {}. \
                 By the function's name and its arguments, what does it return?{question_end}",
                names.join(", ")
            ),
            result_name: format!("the result of {name}"),
            arguments: rule.arguments.clone(),
            form: form(&options)?,
            options,
            checks: Nested::new(&rule.checks, "checks", compile)?,
        })
    }

    async fn ask(&self, subject: &Subject<'_>, pool: &dyn JudgePool) -> Outcome {
        let texts: Vec<(&str, &str)> =
            self.arguments.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let material = Material::of_texts(&texts);
        let question =
            Question { model_type: Some(&self.plugin), ..Question::new(&self.question, &material, subject.scope) };
        let heard = match ask_one(&question, &self.form, pool, |text| self.read(text)).await {
            Ok(heard) => heard,
            Err(error) => return error.into(),
        };
        let ballots = vec![recorded_one(&heard, "", |result| (result.clone(), None, String::new()))];
        let uncalibrated = objection(pool, &ballots, 1);
        let result = heard.answer;
        let name = format!("{} is {result:?}", self.result_name);
        let outcome = Nested::all(vec![(name, result.clone(), &self.checks)], subject, pool).await;
        // `Nested::new` refuses an empty list, so there is an outcome.
        let outcome = outcome.unwrap_or_else(|| Outcome::pass(self.result_name.clone()));
        let uncalibrated = outcome.uncalibrated.clone().or(uncalibrated).filter(|_| !outcome.has_failed());
        Outcome { evidence: outcome.evidence.clone().or(Some(result)), uncalibrated, ..outcome }.after(ballots)
    }

    /// The result of the function. A result that is none of its options is the judge's mistake, not the agent's.
    fn read(&self, text: &str) -> Result<String, String> {
        if let Some(option) = self.option(text) {
            return Ok(option);
        }
        let result = match FORM.read(text)?.remove("result") {
            Some(Value::String(result)) => result,
            _ => return Err("the reply has no `result`".to_owned()),
        };
        if self.options.is_empty() {
            return Ok(result);
        }
        let none = || format!("the result is none of the options {}", self.options.join(", "));
        self.option(&result).ok_or_else(none)
    }

    /// The option that equals the text, as the scenario writes it.
    fn option(&self, text: &str) -> Option<String> {
        let text = text.trim().trim_end_matches('.').trim_matches(['"', '\'', '`']).to_lowercase();
        self.options.iter().find(|option| option.to_lowercase() == text).cloned()
    }
}

impl Behaviour for Call {
    fn find<'a>(&'a self, subject: &'a Subject<'a>, pool: &'a dyn JudgePool) -> Found<'a> {
        Found::asking(self.ask(subject, pool))
    }
}

fn options(arguments: &[(String, String)]) -> Vec<String> {
    let listed = arguments.iter().find(|(name, _)| name.eq_ignore_ascii_case(OPTIONS));
    let options = listed.into_iter().flat_map(|(_, list)| list.split(','));
    options.map(str::trim).filter(|option| !option.is_empty()).map(str::to_owned).collect()
}

fn form(options: &[String]) -> Result<Form, Error> {
    let mut result = json!({ "type": "string" });
    if !options.is_empty() {
        result["enum"] = options.iter().map(String::as_str).collect();
    }
    let meaning = "`result`: what the function returns, and nothing else.".to_owned();
    Form::of_properties(json!({ "result": result }), meaning, RESULT_TOKENS)
}
