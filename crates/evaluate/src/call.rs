//! `call`: a model stands for a function, gets its arguments, and what it returns is checked.

use std::sync::LazyLock;

use scenario::check::CallRule;
use serde_json::{Value, json};

use crate::{
    Bench, Subject, compile,
    nested::Nested,
    outcome::Outcome,
    question::{Form, Material, Question, ask},
};

/// Of the function's result.
const RESULT_TOKENS: u32 = 1_000;

static FORM: LazyLock<Form> = LazyLock::new(|| {
    let meaning = "`result`: what the function returns, and nothing else.".to_owned();
    Form::of_properties(json!({ "result": { "type": "string" } }), meaning, RESULT_TOKENS)
        .expect("the schema is written here")
});

#[derive(Debug)]
pub(crate) struct Call {
    /// The model type that is asked, where the settings know it.
    plugin: String,
    question: String,
    result_name: String,
    arguments: Vec<(String, String)>,
    checks: Nested,
}

impl Call {
    pub(crate) fn new(rule: &CallRule) -> Result<Self, compile::Error> {
        let name = format!("{}.{}", rule.plugin, rule.function);
        let names: Vec<String> = rule.arguments.iter().map(|(name, _)| format!("`{name}`")).collect();
        Ok(Self {
            plugin: rule.plugin.clone(),
            question: format!(
                "You stand for the function `{name}`. Its arguments are the fields of the material: {}. \
                 By the function's name and its arguments, what does it return?",
                names.join(", ")
            ),
            result_name: format!("the result of {name}"),
            arguments: rule.arguments.clone(),
            checks: Nested::new(&rule.checks, "checks")?,
        })
    }

    pub(crate) async fn find(&self, subject: &Subject<'_>, bench: &dyn Bench) -> Outcome {
        let texts: Vec<(&str, &str)> =
            self.arguments.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let material = Material::of_texts(&texts);
        let question = Question {
            text: &self.question,
            material: &material,
            model_type: Some(&self.plugin),
            temperature: None,
            scope: subject.scope,
        };
        let read = |text: &str| match FORM.read(text)?.get("result") {
            Some(Value::String(result)) => Ok(result.clone()),
            _ => Err("the reply has no `result`".to_owned()),
        };
        let result = match ask(&question, &FORM, bench, read).await {
            Ok(result) => result,
            Err(error) => return error.into(),
        };
        let name = format!("{} is {result:?}", self.result_name);
        let outcome = Nested::all(vec![(name, result.clone(), &self.checks)], subject, bench).await;
        // A rule without checks is not compiled.
        let outcome = outcome.unwrap_or_else(|| Outcome::pass(self.result_name.clone()));
        Outcome { evidence: outcome.evidence.or(Some(result)), ..outcome }
    }
}
