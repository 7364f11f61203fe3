//! QnA Maker: calls `generateAnswer` of a published knowledge base, or of its test index.

use llm::{
    http::{AUTHORIZATION, Url, address},
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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    /// The host of the service, with or without `/qnamaker` behind it.
    pub url: String,
    /// The id of the knowledge base.
    pub knowledge_base: String,
    /// The endpoint key. Where it is kept, `env:NAME` or `file:PATH`; never the key.
    #[serde(default)]
    pub key: Option<KeyRef>,
    /// 0 to 100: answers with a smaller score are no match.
    #[serde(default)]
    pub score_threshold: Option<f64>,
    /// How many answers to request; the best one counts.
    #[serde(default)]
    pub top: Option<u32>,
    /// Ask the test index instead of the published one.
    #[serde(default)]
    pub test_index: bool,
}

#[derive(Debug)]
pub(crate) struct QnaMaker {
    /// Up to `/knowledgebases`.
    url: Url,
    settings: Settings,
}

#[derive(Deserialize)]
struct Body {
    answers: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    answer: String,
    score: f64,
    id: i64,
}

impl Section for Settings {
    fn name(&self) -> &'static str {
        "qnamaker"
    }

    fn keys(&self) -> Vec<KeyRef> {
        keys_of(self.key.as_ref(), None, [])
    }

    fn fault(&self) -> Option<(&'static str, String)> {
        let threshold = || check_threshold(self.score_threshold).err().map(|reason| ("score_threshold", reason));
        address_fault("url", &self.url).or_else(threshold)
    }

    fn connect(&self, name: &str, surroundings: &Surroundings) -> Connecting {
        Ok(Box::new(connect(name, self, surroundings.keys.get(name))?))
    }
}

/// `key` takes precedence over the key in the settings.
fn connect(name: &str, settings: &Settings, key: Option<&SecretString>) -> Result<Knowledge<QnaMaker>, Fault> {
    let mut url = address(&settings.url).map_err(Fault::Url)?;
    let path = url.path().trim_end_matches('/').trim_end_matches("/qnamaker").to_owned();
    url.set_path(&format!("{path}/qnamaker/knowledgebases"));
    let key = match (key, &settings.key) {
        (Some(key), _) => key.clone(),
        (None, Some(place)) => place.resolve().map_err(Fault::Key)?,
        (None, None) => return Err(Fault::NoKey),
    };
    Knowledge::new(name, QnaMaker { url, settings: settings.clone() }, AUTHORIZATION, "EndpointKey ", key)
}

/// QnA Maker's scores go up to 100, those of its successor to 1: a threshold of one would be silently wrong for the
/// other.
fn check_threshold(threshold: Option<f64>) -> Result<(), String> {
    match threshold {
        Some(score) if score > 0.0 && score <= 1.0 => Err(format!(
            "is {score}: scores go from 0 to 100, and with so small a one everything matches; write {} if that is meant",
            score * 100.0
        )),
        Some(score) if !(0.0..=100.0).contains(&score) => Err(format!("is {score}, and must be from 0 to 100")),
        _ => Ok(()),
    }
}

impl Service for QnaMaker {
    fn ask(&self, question: &str, request: &question::Request) -> (Url, Value) {
        let mut url = self.url.clone();
        let knowledge_base = request.knowledge_base.as_ref().unwrap_or(&self.settings.knowledge_base);
        // An address with a host has segments.
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.push(knowledge_base).push("generateAnswer");
        }
        let mut body = json!({ "question": question, "isTest": self.settings.test_index });
        if let Some(top) = request.top.or(self.settings.top) {
            body["top"] = top.into();
        }
        if let Some(threshold) = self.settings.score_threshold {
            body["scoreThreshold"] = threshold.into();
        }
        if !request.strict_filters.is_empty() {
            let filter = |filter: &question::Filter| json!({ "name": filter.name, "value": filter.value });
            body["strictFilters"] = request.strict_filters.iter().map(filter).collect();
        }
        (url, body)
    }

    fn answers(&self, body: &[u8]) -> Result<Vec<Found>, serde_json::Error> {
        let body: Body = serde_json::from_slice(body)?;
        let found = body
            .answers
            .into_iter()
            .map(|entry| Found { text: entry.answer, answer: Answer { id: entry.id, score: entry.score } });
        Ok(found.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(url: &str) -> Settings {
        Settings {
            url: url.to_owned(),
            knowledge_base: "kb/1".to_owned(),
            key: None,
            score_threshold: None,
            top: None,
            test_index: false,
        }
    }

    fn connected(settings: &Settings) -> Result<Knowledge<QnaMaker>, Fault> {
        // A second installation is refused, and the first one is good enough.
        let _ = rustls::crypto::ring::default_provider().install_default();
        connect("kb", settings, Some(&SecretString::from("secret")))
    }

    #[test]
    fn hosts_are_taken_with_and_without_the_suffix() {
        for written in ["https://x.net", "https://x.net/", "https://x.net/qnamaker", "https://x.net/qnamaker/"] {
            let mut url = address(written).expect("an address");
            let path = url.path().trim_end_matches('/').trim_end_matches("/qnamaker").to_owned();
            url.set_path(&format!("{path}/qnamaker/knowledgebases"));
            let service = QnaMaker { url, settings: settings(written) };
            let (url, body) = service.ask("hi", &question::Request::default());
            assert_eq!(url.as_str(), "https://x.net/qnamaker/knowledgebases/kb%2F1/generateAnswer");
            assert_eq!(body, json!({ "question": "hi", "isTest": false }));
        }
        assert!(connected(&settings("x.net")).is_err());
    }

    #[test]
    fn a_threshold_that_is_meant_for_the_successor_is_refused() {
        for (threshold, fine) in
            [(0.0, true), (0.5, false), (1.0, false), (1.1, true), (100.0, true), (101.0, false), (-1.0, false)]
        {
            let settings = Settings { score_threshold: Some(threshold), ..settings("https://x.net") };
            assert_eq!(settings.fault().is_none(), fine, "{threshold}");
        }
    }

    #[test]
    fn filters_and_numbers_are_sent_and_answers_read() {
        let settings =
            Settings { score_threshold: Some(30.0), top: Some(2), test_index: true, ..settings("https://x.net") };
        let service = QnaMaker { url: address("https://x.net/qnamaker/knowledgebases").expect("an address"), settings };
        let request = question::Request {
            strict_filters: vec![question::Filter { name: "a".to_owned(), value: "b".to_owned() }],
            top: Some(3),
            knowledge_base: Some("other".to_owned()),
        };
        let (url, body) = service.ask("hi", &request);
        assert_eq!(url.path(), "/qnamaker/knowledgebases/other/generateAnswer");
        let expected = json!({ "question": "hi", "isTest": true, "top": 3, "scoreThreshold": 30.0,
            "strictFilters": [{ "name": "a", "value": "b" }] });
        assert_eq!(body, expected);
        let found =
            service.answers(br#"{"answers":[{"id":-1,"answer":"No","score":0,"metadata":[]}]}"#).expect("answers");
        assert_eq!(found, [Found { text: "No".to_owned(), answer: Answer { id: -1, score: 0.0 } }]);
        assert!(service.answers(b"{}").is_err());
    }
}
