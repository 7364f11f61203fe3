//! The mock scorer: compares texts by shared words, and by a list of rude words.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::{
    measure::{Embed, Measurement, Moderate, Request},
    message::{Message, MessageRole},
};

use super::{UNHELPFUL, behaviour::Role, chance::Key, words};

/// The length of an embedding: enough that most words of a paragraph get different positions.
const DIMENSIONS: usize = 256;

/// The length of a word's stem; the rest is mostly grammar.
const STEM_CHARS: usize = 5;

/// A measurement that the mock makes.
pub(crate) trait Mocked: Measurement {
    fn value(&self) -> Self::Value;
}

impl Mocked for Embed {
    fn value(&self) -> Vec<Vec<f32>> {
        self.texts.iter().map(|text| embedding(text)).collect()
    }
}

impl Mocked for Moderate {
    fn value(&self) -> Vec<(String, f64)> {
        categories(&self.text)
    }
}

/// The call's own key: the same for every try, at any place and time. Each text counts as a message of the user.
pub(crate) fn key_of<M: Measurement>(request: &Request<M>) -> Key {
    let key = Key::of_call(request.seed, Role::Scorer.name(), &request.context);
    request.of.texts().into_iter().fold(key, |key, text| key.text(MessageRole::User.name()).text(text))
}

/// The judge's values for the forms of gabfest's own scorer; `None` for every other form.
pub(crate) fn scores(schema: &Value, messages: &[Message]) -> Option<Value> {
    let properties = schema.get("properties")?.as_object()?;
    let material = messages.iter().rev().find_map(|message| material(&message.content))?;
    let text = |name: &str| material.get(name).and_then(Value::as_str).unwrap_or_default();
    let has = |name: &str| properties.contains_key(name);
    let fields: Map<String, Value> = if has("similarity") && material.contains_key("second") {
        let (first, second) = (embedding(text("first")), embedding(text("second")));
        let cosine: f32 = first.iter().zip(&second).map(|(a, b)| a * b).sum();
        [("similarity".to_owned(), rounded(f64::from(cosine)))].into_iter().collect()
    } else if has("part") && material.contains_key("question") {
        [("part".to_owned(), extract(text("question"), text("text")).into())].into_iter().collect()
    } else if has("follows") && material.contains_key("reply") {
        [("follows".to_owned(), rounded(follows(text("context"), text("reply"))))].into_iter().collect()
    } else if has("severe_toxicity") && material.contains_key("text") {
        let found = rudeness(text("text"));
        properties.keys().map(|name| (name.clone(), rounded(found.toxicity(name)))).collect()
    } else {
        return None;
    };
    Some(Value::Object(fields))
}

/// The JSON between the marker lines of a question.
fn material(text: &str) -> Option<Map<String, Value>> {
    let (_, rest) = text.split_once("<<<material ")?;
    serde_json::from_str(rest.lines().nth(1)?).ok()
}

fn rounded(number: f64) -> Value {
    Value::from((number.clamp(0.0, 1.0) * 1_000.0).round() / 1_000.0)
}

/// A bag of words, hashed, of length 1; all zero for a text without words.
fn embedding(text: &str) -> Vec<f32> {
    let mut vector = vec![0.0_f32; DIMENSIONS];
    for stem in stems(text) {
        let place = Key::new(0).text("embedding").text(&stem).value() % DIMENSIONS as u64;
        vector[place as usize] += 1.0;
    }
    let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|number| *number /= length);
    }
    vector
}

/// The stems of the salient words, or of all words if none is salient.
fn stems(text: &str) -> Vec<String> {
    let stem = |word: &str| word.to_lowercase().chars().take(STEM_CHARS).collect::<String>();
    let salient = words::salient(text, usize::MAX);
    if salient.is_empty() { words::words(text).map(stem).collect() } else { salient.into_iter().map(stem).collect() }
}

/// The sentence that shares most words with the question.
fn extract(question: &str, context: &str) -> String {
    let wanted = stems(question);
    let shared = |sentence: &&str| stems(sentence).iter().filter(|stem| wanted.contains(stem)).count();
    // The first of equals: `max_by_key` would take the last.
    let best = words::sentences(context).collect::<Vec<_>>().into_iter().rev().max_by_key(shared);
    best.filter(|sentence| shared(sentence) > 0).unwrap_or_default().trim().to_owned()
}

fn follows(context: &str, reply: &str) -> f64 {
    if reply.trim().is_empty() || reply.contains(UNHELPFUL) {
        return 0.001;
    }
    let known = stems(context);
    if stems(reply).iter().any(|stem| known.contains(stem)) { 0.95 } else { 0.7 }
}

/// The number of words of each kind of rudeness.
#[derive(Debug, Default)]
struct Rudeness {
    insults: u32,
    hate: u32,
    threats: u32,
    obscene: u32,
    sexual: u32,
}

/// Whether a text has a rude word.
pub(super) fn is_rude(text: &str) -> bool {
    rudeness(text).count() > 0
}

fn rudeness(text: &str) -> Rudeness {
    const INSULTS: [&str; 9] =
        ["idiot", "stupid", "moron", "dumb", "fool", "loser", "pathetic", "worthless", "imbecile"];
    const HATE: [&str; 4] = ["hate", "despise", "vermin", "subhuman"];
    const THREATS: [&str; 5] = ["kill", "murder", "strangle", "stab", "shoot"];
    const OBSCENE: [&str; 5] = ["fuck", "shit", "bastard", "bullshit", "asshole"];
    const SEXUAL: [&str; 4] = ["porn", "naked", "nude", "sex"];
    let mut found = Rudeness::default();
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for word in words::words(text) {
        *counts.entry(word.to_lowercase()).or_default() += 1;
    }
    let count = |list: &[&str]| {
        let begins = |word: &&String| list.iter().any(|rude| word.starts_with(rude));
        counts.iter().filter(|(word, _)| begins(word)).map(|(_, count)| count).sum()
    };
    found.insults = count(&INSULTS);
    found.hate = count(&HATE);
    found.threats = count(&THREATS);
    found.obscene = count(&OBSCENE);
    found.sexual = count(&SEXUAL);
    found
}

impl Rudeness {
    fn count(&self) -> u32 {
        self.insults + self.hate + self.threats + self.obscene + self.sexual
    }

    /// By the names of Detoxify's labels.
    fn toxicity(&self, name: &str) -> f64 {
        probability(match name {
            "toxicity" => self.count(),
            "severe_toxicity" => self.count().saturating_sub(2),
            "obscene" => self.obscene,
            "identity_attack" => self.hate,
            "insult" => self.insults,
            "threat" => self.threats,
            _ => self.sexual,
        })
    }
}

/// By the names of OpenAI's categories.
fn categories(text: &str) -> Vec<(String, f64)> {
    let found = rudeness(text);
    let rows = [
        ("harassment", found.insults + found.obscene),
        ("harassment/threatening", found.threats.min(found.insults)),
        ("hate", found.hate),
        ("hate/threatening", found.threats.min(found.hate)),
        ("sexual", found.sexual),
        ("violence", found.threats),
    ];
    rows.into_iter().map(|(name, count)| (name.to_owned(), probability(count))).collect()
}

/// Each rude word halves the remaining doubt.
fn probability(count: u32) -> f64 {
    if count == 0 { 0.001 } else { 1.0 - 0.2 * 0.5_f64.powi(i32::try_from(count).unwrap_or(i32::MAX)) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cosine(a: &str, b: &str) -> f32 {
        embedding(a).iter().zip(embedding(b)).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn texts_with_the_same_words_are_near() {
        assert!(cosine("I want to cancel my subscription.", "Cancelling the subscription!") > 0.9);
        assert!(cosine("I want to cancel my subscription.", "Cats sleep all day") < 0.3);
        assert_eq!(cosine("", "anything"), 0.0);
    }

    #[test]
    fn an_answer_is_the_sentence_about_the_question() {
        let context = "Hello there. My name is Ada. My name day is in May.";
        assert_eq!(extract("What is your name?", context), "My name is Ada.");
        assert_eq!(extract("What about trains?", context), "");
    }

    #[test]
    fn rude_words_are_found_as_words() {
        let of = |text: &str, name: &str| {
            categories(text).into_iter().find(|(known, _)| known == name).map(|(_, score)| score).expect("a category")
        };
        assert!(of("You are an IDIOT!", "harassment") > 0.8);
        assert!(of("I will kill you", "violence") > 0.8);
        assert!(categories("A skilled answer, whatever you say").iter().all(|(_, score)| *score < 0.01));
        assert!(categories("How can I help?").iter().all(|(_, score)| *score < 0.01));
    }

    #[test]
    fn only_the_scorers_forms_are_filled_so() {
        let asked = |material: Value| [Message::user(format!("Q\n<<<material ab\n{material}\nmaterial ab>>>"))];
        let form = |name: &str| json!({ "properties": { name: { "type": "number" } } });
        let two = asked(json!({ "first": "purple bicycle", "second": "purple elephant" }));
        assert_eq!(scores(&form("similarity"), &two), Some(json!({ "similarity": 0.5 })));
        assert_eq!(scores(&form("judgment"), &two), None);
        assert_eq!(scores(&form("similarity"), &asked(json!({ "turns": [] }))), None);
        let rude = scores(
            &json!({ "properties": { "insult": {}, "severe_toxicity": {} } }),
            &asked(json!({ "text": "fool" })),
        );
        assert_eq!(rude, Some(json!({ "insult": 0.9, "severe_toxicity": 0.001 })));
    }
}
