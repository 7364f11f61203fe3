//! The mock judge's decision: a reply with the unhelpful phrase is bad, any other is good. Its skill can be lowered.

use crate::{chat::Request, message::Message};

use super::{
    UNHELPFUL,
    behaviour::JudgeSkill,
    chance::Key,
    measure,
    schema::{self, Finding},
    words,
};

/// The start of a `CALL`'s question. It has no yes-or-no answer, and any other answer would be made up.
const FUNCTION: &str = "Question: You act as the function `";
/// The start and end of a question's evidence: the question and its solved examples are not judged.
const MATERIAL: (&str, &str) = ("<<<material ", "\nmaterial ");

/// The judge's whole answer, and whether it was cut.
pub(crate) fn speak(request: &Request, skill: JudgeSkill, key: Key) -> (String, bool) {
    let mut text = answer(request, skill, key);
    let is_cut = request.schema.is_some() && key.text("cut").happens(skill.cut_rate);
    if is_cut {
        text.truncate(text.floor_char_boundary(text.len() / 2));
    }
    (text, is_cut)
}

fn answer(request: &Request, skill: JudgeSkill, key: Key) -> String {
    if key.text("malformed").happens(skill.malformed_rate) {
        return "Well, that is hard to tell: there are arguments on either side, and I would rather not commit."
            .to_owned();
    }
    if request.messages.iter().any(|message| message.content.starts_with(FUNCTION)) {
        return "Nobody has written down what this function returns, and the mock model knows no functions.".to_owned();
    }
    if let Some(scores) = request.schema.as_ref().and_then(|schema| measure::scores(schema, &request.messages)) {
        return scores.to_string();
    }
    let bad = request.messages.iter().any(|message| to_judge(&message.content).contains(UNHELPFUL));
    let found_right = key.text("skill").happens(if bad { skill.sensitivity } else { skill.specificity });
    let good = found_right != bad;
    let good = if skill.alternates && request.context.call % 2 == 1 { !good } else { good };
    let quote = if key.text("false quote").happens(skill.false_quote_rate) {
        Some("words that nobody said".to_owned())
    } else {
        quote(&request.messages)
    };
    let cannot_tell = key.text("cannot tell").happens(skill.cannot_tell_rate);
    let finding = Finding { good, cannot_tell, evidence: evidence(&request.messages, bad), quote, key };
    match &request.schema {
        Some(schema) if key.text("missing field").happens(skill.missing_field_rate) => {
            without_last_field(schema::satisfy(schema, &finding)).to_string()
        }
        Some(schema) => schema::satisfy(schema, &finding).to_string(),
        None => plain(&request.messages, &finding),
    }
}

fn to_judge(text: &str) -> &str {
    let after = text.split_once(MATERIAL.0).map_or(text, |(_, after)| after);
    after.rsplit_once(MATERIAL.1).map_or(after, |(material, _)| material)
}

/// The evidence that a judge would name: the bad phrase if there is one, or else the agent's last message.
fn evidence(messages: &[Message], bad: bool) -> String {
    if bad {
        return UNHELPFUL.to_owned();
    }
    let texts = || messages.iter().rev().map(|message| message.content.as_str());
    let said = texts().find_map(said_in_json).or_else(|| texts().find_map(said_in_lines));
    let said = said.or_else(|| texts().next()?.lines().next().map(str::to_owned));
    words::shorten(&said.unwrap_or_default(), 60)
}

/// Words of the agent's last message, if it has any.
fn quote(messages: &[Message]) -> Option<String> {
    let said = messages.iter().rev().find_map(|message| said_in_json(&message.content))?;
    let words = words::shorten(&said, 60);
    // A single word is not evidence unless it is the whole message.
    (words.split_whitespace().count() >= 2 || words == said).then_some(words)
}

fn without_last_field(mut value: serde_json::Value) -> serde_json::Value {
    if let Some(fields) = value.as_object_mut()
        && let Some(last) = fields.keys().next_back().cloned()
    {
        fields.remove(&last);
    }
    value
}

/// The last `"agent":"…"`, `"reply":"…"` or `"text":"…"` of material that is JSON.
fn said_in_json(text: &str) -> Option<String> {
    let start = ["\"agent\":\"", "\"reply\":\"", "\"text\":\""]
        .iter()
        .filter_map(|mark| Some(text.rfind(mark)? + mark.len() - 1))
        .max()?;
    let value = serde_json::Deserializer::from_str(&text[start..]).into_iter::<String>().next();
    value?.ok().filter(|said| !said.is_empty())
}

/// The last line `Agent: …` of a transcript.
fn said_in_lines(text: &str) -> Option<String> {
    text.lines().rev().find_map(|line| {
        let (who, said) = line.trim().split_once(':')?;
        let spoken = ["agent", "assistant", "reply"].iter().any(|name| who.eq_ignore_ascii_case(name));
        (spoken && !said.trim().is_empty()).then(|| said.trim().to_owned())
    })
}

/// Without a schema: a number or a yes or no, as the question asks.
fn plain(messages: &[Message], finding: &Finding) -> String {
    let question = messages.iter().rev().map(|message| message.content.as_str());
    let asks = |part: &str| question.clone().any(|text| words::contains_ignoring_case(text, part));
    let yes_or_no = asks("'yes'") || asks("\"yes\"") || asks("yes or no") || asks("yes/no");
    if !yes_or_no && (asks("number") || asks("0 to 1") || asks("0.0") || asks("between 0")) {
        return schema::confidence(finding.good, finding.key).to_string();
    }
    if finding.good { "yes" } else { "no" }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(prompt: &str, skill: JudgeSkill, seed: u64) -> String {
        let request = Request { messages: vec![Message::user(prompt)], ..Request::default() };
        speak(&request, skill, Key::new(seed)).0
    }

    #[test]
    fn without_a_schema_it_answers_as_asked() {
        let skill = JudgeSkill::default();
        assert_eq!(asked("Is it good? Respond with only 'yes' or 'no'.", skill, 1), "yes");
        assert_eq!(asked(&format!("Agent: {UNHELPFUL}\nRespond with yes or no"), skill, 1), "no");
        let high: f64 = asked("Give a number between 0 and 1", skill, 1).parse().expect("a number");
        let low: f64 = asked(&format!("{UNHELPFUL} Give a number from 0 to 1"), skill, 1).parse().expect("a number");
        assert!((0.85..=0.98).contains(&high) && (0.05..=0.2).contains(&low), "{high} {low}");
    }

    #[test]
    fn its_accuracy_is_as_configured() {
        let skill = JudgeSkill { sensitivity: 0.8, specificity: 0.9, ..JudgeSkill::default() };
        let trials = 10_000;
        let count =
            |prompt: &str, answer: &str| (0..trials).filter(|seed| asked(prompt, skill, *seed) == answer).count();
        let rows = [(format!("{UNHELPFUL} yes or no?"), "no", 0.8), ("fine, yes or no?".to_owned(), "yes", 0.9)];
        for (prompt, answer, probability) in rows {
            let sigma = (trials as f64 * probability * (1.0 - probability)).sqrt();
            let found = count(&prompt, answer) as f64;
            assert!((found - trials as f64 * probability).abs() < 4.0 * sigma, "{answer}: {found}");
        }
    }

    #[test]
    fn malformed_is_neither_json_nor_a_word_to_be_found() {
        let skill = JudgeSkill { malformed_rate: 1.0, ..JudgeSkill::default() };
        let said = asked("yes or no?", skill, 3).to_lowercase();
        assert!(serde_json::from_str::<serde_json::Value>(&said).is_err());
        assert!(!said.contains("yes") && !said.split_whitespace().any(|word| word == "no"), "{said}");
    }

    #[test]
    fn evidence_is_the_agents_last_message() {
        let messages =
            [Message::user("Turn 1:\nUser: hi\nAgent: one\nTurn 2:\nUser: ho\nAgent: two: three\n\nDecide.")];
        assert_eq!(evidence(&messages, false), "two: three");
        let material = r#"Q <<<{"turns":[{"turn":1,"user":"a","agent":"he said \"no\""}]}>>> Agent: {"agent""#;
        assert_eq!(evidence(&[Message::user(material)], false), "he said \"no\"");
        assert_eq!(evidence(&[Message::user("just text")], false), "just text");
        assert_eq!(evidence(&[], false), "");
    }
}
