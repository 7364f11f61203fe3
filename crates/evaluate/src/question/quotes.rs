//! Verifies that a judge's quotes are in the material, in a message of the speaker that the judge names.
//!
//! Case, white space, punctuation and Unicode variants do not count, and `…` replaces omitted words. A quote has at least
//! two words, unless it is a whole message. The number of its turn is corrected, because judges miscount. The text before
//! the first turn is turn 0, and the end state was said by a tool.

use serde_json::Value;
use unicode_normalization::UnicodeNormalization as _;
use unicode_segmentation::UnicodeSegmentation as _;

use super::{error::Fault, material::Material};
use crate::excerpt::{SHORT_BYTES, excerpt};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Quote {
    /// 1 if the material has no turns.
    pub(crate) turn: u64,
    pub(crate) who: String,
    pub(crate) text: String,
}

/// The quotes with their turns.
pub(super) fn verified(quotes: &[Value], material: &Material) -> Result<Vec<Quote>, Fault> {
    if quotes.is_empty() {
        return Ok(Vec::new());
    }
    let messages = messages(material);
    quotes.iter().map(|quote| verify(quote, &messages)).collect()
}

/// A message of the material, folded.
struct Message {
    turn: u64,
    who: &'static str,
    text: String,
}

fn verify(quote: &Value, messages: &[Message]) -> Result<Quote, Fault> {
    let field = |name: &str| quote.get(name).and_then(Value::as_str);
    let (Some(text), Some(who)) = (field("text"), field("who")) else {
        return Err(Fault::Form("a quote lacks `text` or `who`".to_owned()));
    };
    let turn = quote.get("turn").and_then(Value::as_u64).unwrap_or_default();
    let pieces: Vec<String> = text.replace("...", "…").split('…').map(fold).filter(|piece| !piece.is_empty()).collect();
    let words: usize = pieces.iter().map(|piece| piece.unicode_words().count()).sum();
    let holds = |message: &&Message| {
        message.who == who && (message.text == pieces.join(" ") || words >= 2 && contains(&message.text, &pieces))
    };
    let found = messages.iter().filter(holds);
    // The turn that the judge names, if it has the words too.
    match found.min_by_key(|message| message.turn.abs_diff(turn)) {
        Some(message) if !pieces.is_empty() => {
            Ok(Quote { turn: message.turn, who: who.to_owned(), text: text.to_owned() })
        }
        _ => Err(Fault::Evidence(format!("the {who} did not say {:?}", excerpt(text, SHORT_BYTES)))),
    }
}

/// Whether the text holds the pieces in this order.
fn contains(text: &str, pieces: &[String]) -> bool {
    let mut from = 0;
    pieces.iter().all(|piece| end_of(piece, text, from).map(|end| from = end).is_some())
}

/// The end of the piece in the text after `from`, as whole words: "able to refund" is not in "unable to refund".
fn end_of(piece: &str, text: &str, mut from: usize) -> Option<usize> {
    let first = piece.chars().next()?;
    loop {
        let start = from + text.get(from..)?.find(piece)?;
        let end = start + piece.len();
        let before = text[..start].chars().next_back();
        if !in_word(before, Some(first)) && !in_word(piece.chars().next_back(), text[end..].chars().next()) {
            return Some(end);
        }
        from = start + first.len_utf8();
    }
}

/// Whether both belong to one word. Scripts from Thai on, such as Chinese, do not separate words by spaces.
fn in_word(left: Option<char>, right: Option<char>) -> bool {
    let is_spaced = |letter: char| letter.is_alphanumeric() && letter < '\u{e00}';
    left.zip(right).is_some_and(|(left, right)| is_spaced(left) && is_spaced(right))
}

/// Lowercase words in compatibility form, one space apart.
fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    let letters = text.nfkc().flat_map(char::to_lowercase);
    for letter in letters {
        if letter.is_alphanumeric() {
            folded.push(letter);
        } else if matches!(letter, '\'' | '’') {
            // "don't" and "dont" are the same word.
        } else if !folded.is_empty() && !folded.ends_with(' ') {
            folded.push(' ');
        }
    }
    folded.truncate(folded.trim_end().len());
    folded
}

/// Every message of the material with its speaker.
fn messages(material: &Material) -> Vec<Message> {
    let material: Value = serde_json::from_str(material.json()).unwrap_or_default();
    let mut messages = Vec::new();
    let turns = material.get("turns").and_then(Value::as_array);
    match turns {
        Some(turns) => {
            for (index, turn) in turns.iter().enumerate() {
                let number = turn.get("turn").and_then(Value::as_u64).unwrap_or(index as u64 + 1);
                of_fields(turn, number, &mut messages);
            }
        }
        None => of_fields(&material, 1, &mut messages),
    }
    let others = |name: &str| material.get(name).and_then(Value::as_array).into_iter().flatten();
    others("before_the_first_turn").for_each(|message| of_fields(message, 0, &mut messages));
    let last = turns.map_or(1, |turns| turns.len() as u64);
    let mut read = |text: &str| messages.push(Message { turn: last, who: "tool", text: fold(text) });
    others("end_state").for_each(|state| texts(state, &mut read));
    messages
}

fn of_fields(fields: &Value, turn: u64, messages: &mut Vec<Message>) {
    for (name, value) in fields.as_object().into_iter().flatten() {
        let who = match name.as_str() {
            "user" | "program" => "user",
            "agent" | "printed" | "reply" | "text" | "actions" => "agent",
            "tool_calls" | "tool_call" | "tool" => "tool",
            "in_order" => {
                value.as_array().into_iter().flatten().for_each(|part| of_fields(part, turn, messages));
                continue;
            }
            _ => continue,
        };
        texts(value, &mut |text| messages.push(Message { turn, who, text: fold(text) }));
    }
}

fn texts(value: &Value, found: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => found(text),
        Value::Array(values) => values.iter().for_each(|value| texts(value, found)),
        Value::Object(fields) => fields.values().for_each(|value| texts(value, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_quote_is_in_a_message_of_its_speaker() {
        let material = Material::of_json(json!({ "turns": [
            { "turn": 1, "user": "Where's my order?", "agent": "It was shipped on “Monday”, and arrives soon.", },
            { "turn": 2, "user": "Ok", "in_order": [
                { "agent": "Ich schaue nach: Die Bestellung ist UNTERWEGS." },
                { "tool_call": { "name": "find_order", "arguments": "{\"id\":4711}", "result": "state: sent" } },
            ] },
        ] }));
        let rows = [
            ("agent", 1, "It was shipped", Some(1)),
            ("agent", 1, "it was  SHIPPED on \"Monday\"", Some(1)),
            ("agent", 2, "it was shipped", Some(1)),
            ("agent", 1, "It was shipped … arrives soon", Some(1)),
            ("agent", 1, "arrives soon ... It was shipped", None),
            ("agent", 1, "Monday", None),
            ("user", 1, "It was shipped", None),
            ("user", 1, "wheres my order", Some(1)),
            ("user", 2, "Ok.", Some(2)),
            ("agent", 2, "die bestellung ist unterwegs", Some(2)),
            ("tool", 2, "find_order", Some(2)),
            ("tool", 2, "\"id\": 4711", Some(2)),
            ("agent", 2, "state: sent", None),
            ("agent", 1, "It will be refunded", None),
            ("agent", 1, "t was shipped", None),
            ("agent", 1, "arrives soo", None),
            ("tool", 2, "id 47", None),
            ("agent", 1, "…", None),
            ("agent", 1, "", None),
        ];
        for (who, turn, text, expected) in rows {
            let quotes = [json!({ "turn": turn, "who": who, "text": text })];
            let found = verified(&quotes, &material).ok().map(|quotes| quotes[0].turn);
            assert_eq!(found, expected, "{who} {text:?}");
        }
        let ligature = Material::of_texts(&[("reply", "Ich öﬀne die Tür")]);
        let quotes = [json!({ "turn": 1, "who": "agent", "text": "ÖFFNE die Tür" })];
        assert!(verified(&quotes, &ligature).is_ok(), "compatibility forms and combining marks are the same");
        assert!(matches!(verified(&[json!({ "turn": 1 })], &ligature), Err(Fault::Form(_))));
        let refund = Material::of_texts(&[
            ("reply", "I am unable to refund 300. We are able to refund 30."),
            ("text", "我们已经退款给您"),
        ]);
        for (text, is_said) in [
            ("able to refund 300", false),
            ("able to refund 3", false),
            ("able to refund 30", true),
            ("已经退款", true),
        ] {
            let quotes = [json!({ "turn": 1, "who": "agent", "text": text })];
            assert_eq!(verified(&quotes, &refund).is_ok(), is_said, "{text}");
        }
    }
}
