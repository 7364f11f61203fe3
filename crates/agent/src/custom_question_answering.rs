//! Custom question answering, the successor of QnA Maker: calls `:query-knowledgebases` of a project.

use llm::{
    http::{HeaderName, Url, address},
    key::KeyRef,
};
use record::answer::Answer;
use scenario::question;
use schemars::JsonSchema;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::knowledge::{Fault, Found, Knowledge, Service};
use crate::{
    section::{Connecting, Section, address_fault, keys_of},
    surroundings::Surroundings,
};

/// The version of the API.
const API_VERSION: &str = "2021-10-01";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    /// The address of the language resource.
    pub url: String,
    pub project: String,
    /// `production` or `test`.
    #[serde(default = "production")]
    pub deployment: String,
    /// The resource's key. Where it is kept, `env:NAME` or `file:PATH`; never the key.
    #[serde(default)]
    pub key: Option<KeyRef>,
    /// 0 to 1: answers with a smaller confidence are no match.
    #[serde(default)]
    pub confidence_threshold: Option<f64>,
    /// How many answers to request; the best one counts.
    #[serde(default)]
    pub top: Option<u32>,
}

#[derive(Debug)]
pub(crate) struct CustomQuestionAnswering {
    /// With all of its query but the project.
    url: Url,
    settings: Settings,
}

#[derive(Deserialize)]
struct Body {
    answers: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    answer: String,
    confidence_score: f64,
    id: i64,
}

impl Section for Settings {
    fn name(&self) -> &'static str {
        "custom-question-answering"
    }

    fn keys(&self) -> Vec<KeyRef> {
        keys_of(self.key.as_ref(), None, [])
    }

    fn fault(&self) -> Option<(&'static str, String)> {
        let threshold = || check_threshold(self.confidence_threshold).err();
        address_fault("url", &self.url).or_else(|| Some(("confidence_threshold", threshold()?)))
    }

    fn connect(&self, name: &str, surroundings: &Surroundings) -> Connecting {
        Ok(Box::new(connect(name, self, surroundings.keys.get(name))?))
    }
}

fn connect(
    name: &str,
    settings: &Settings,
    key: Option<&SecretString>,
) -> Result<Knowledge<CustomQuestionAnswering>, Fault> {
    let mut url = address(&settings.url).map_err(Fault::Url)?;
    let path = url.path().trim_end_matches('/').trim_end_matches("/language").to_owned();
    url.set_path(&format!("{path}/language/:query-knowledgebases"));
    let key = match (key, &settings.key) {
        (Some(key), _) => key.clone(),
        (None, Some(place)) => place.resolve().map_err(Fault::Key)?,
        (None, None) => return Err(Fault::NoKey),
    };
    let header = HeaderName::from_static("ocp-apim-subscription-key");
    Knowledge::new(name, CustomQuestionAnswering { url, settings: settings.clone() }, header, "", key)
}

fn check_threshold(threshold: Option<f64>) -> Result<(), String> {
    match threshold.filter(|threshold| !(0.0..=1.0).contains(threshold)) {
        Some(threshold) => Err(format!("is {threshold}, and must be from 0 to 1")),
        None => Ok(()),
    }
}

impl Service for CustomQuestionAnswering {
    fn ask(&self, question: &str, request: &question::Request) -> (Url, Value) {
        let mut url = self.url.clone();
        let project = request.knowledge_base.as_ref().unwrap_or(&self.settings.project);
        url.query_pairs_mut()
            .append_pair("projectName", project)
            .append_pair("deploymentName", &self.settings.deployment)
            .append_pair("api-version", API_VERSION);
        let mut body = json!({ "question": question });
        if let Some(top) = request.top.or(self.settings.top) {
            body["top"] = top.into();
        }
        if let Some(threshold) = self.settings.confidence_threshold {
            body["confidenceScoreThreshold"] = threshold.into();
        }
        if !request.strict_filters.is_empty() {
            let entry = |filter: &question::Filter| json!({ "key": filter.name, "value": filter.value });
            let metadata: Vec<Value> = request.strict_filters.iter().map(entry).collect();
            body["filters"] = json!({ "metadataFilter": { "metadata": metadata, "logicalOperation": "AND" } });
        }
        (url, body)
    }

    fn answers(&self, body: &[u8]) -> Result<Vec<Found>, serde_json::Error> {
        let body: Body = serde_json::from_slice(body)?;
        let found = body.answers.into_iter().map(|entry| Found {
            text: entry.answer,
            answer: Answer { id: entry.id, score: entry.confidence_score * 100.0 },
        });
        Ok(found.collect())
    }
}

fn production() -> String {
    "production".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_project_is_in_the_address_and_filters_in_the_body() {
        let settings: Settings = serde_json::from_value(
            json!({ "url": "https://x.net/", "project": "a b", "confidence_threshold": 0.5, "top": 3 }),
        )
        .expect("settings");
        let url = address("https://x.net/language/:query-knowledgebases").expect("an address");
        let service = CustomQuestionAnswering { url, settings };
        let filter = question::Filter { name: "k".to_owned(), value: "v".to_owned() };
        let (url, body) = service.ask("hi", &question::Request { strict_filters: vec![filter], ..Default::default() });
        assert_eq!(
            url.as_str(),
            "https://x.net/language/:query-knowledgebases?projectName=a+b&deploymentName=production&api-version=2021-10-01"
        );
        let expected = json!({ "question": "hi", "top": 3, "confidenceScoreThreshold": 0.5, "filters": {
            "metadataFilter": { "metadata": [{ "key": "k", "value": "v" }], "logicalOperation": "AND" } } });
        assert_eq!(body, expected);
        let found = service
            .answers(br#"{"answers":[{"id":7,"answer":"Yes","confidenceScore":0.9201,"metadata":{}}]}"#)
            .expect("answers");
        assert_eq!((found[0].answer.to_string(), found[0].text.as_str()), ("7(92.01)".to_owned(), "Yes"));
    }
}
