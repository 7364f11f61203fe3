//! Fills a JSON Schema with a finding: the mock judge's answer to a request with a schema.

use std::cell::Cell;

use serde_json::{Map, Number, Value, json};

use super::chance::Key;

/// What the judge found, to fill into any form.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) good: bool,
    /// Says so if the form allows it, whatever `good` is.
    pub(crate) cannot_tell: bool,
    /// The words that it refers to.
    pub(crate) evidence: String,
    /// The words of the agent that it quotes, if the form has quotes.
    pub(crate) quote: Option<String>,
    pub(crate) key: Key,
}

/// A value that satisfies the schema and expresses the finding.
pub(crate) fn satisfy(schema: &Value, finding: &Finding) -> Value {
    Walk { root: schema, finding, left: Cell::new(MOST_VALUES) }
        .value(schema, Position { name: "", index: 0, depth: 0 })
}

/// High when good, low when not.
pub(crate) fn confidence(good: bool, key: Key) -> f64 {
    let (low, high) = if good { (0.85, 0.98) } else { (0.05, 0.20) };
    let drawn: f64 = low + key.text("confidence").unit() * (high - low);
    (drawn * 100.0).round() / 100.0
}

struct Walk<'a> {
    root: &'a Value,
    finding: &'a Finding,
    /// How many values may still be made.
    left: Cell<u32>,
}

/// The position in the form: the property's name, and the index in the nearest list.
#[derive(Clone, Copy)]
struct Position<'a> {
    name: &'a str,
    index: usize,
    depth: u32,
}

/// The limit for recursive forms; no judge's form is as deep.
const DEEPEST: u32 = 24;
/// Recursive lists of lists would fill the memory long before they are too deep.
const MOST_VALUES: u32 = 4_096;
/// More elements than any form wants.
const LONGEST: u64 = 64;

impl Walk<'_> {
    fn value(&self, schema: &Value, place: Position<'_>) -> Value {
        let place = Position { depth: place.depth + 1, ..place };
        let Some(left) = self.left.get().checked_sub(1).filter(|_| place.depth <= DEEPEST) else { return Value::Null };
        self.left.set(left);
        let Some(fields) = schema.as_object() else { return Value::Null };
        if let Some(target) = fields.get("$ref").and_then(Value::as_str).and_then(|path| self.resolve(path)) {
            return self.value(target, place);
        }
        if let Some(constant) = fields.get("const") {
            return constant.clone();
        }
        if let Some(choices) = fields.get("enum").and_then(Value::as_array).filter(|choices| !choices.is_empty()) {
            return self.choice(choices, place);
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(option) = fields.get(key).and_then(Value::as_array).and_then(|options| self.option(options)) {
                return self.value(option, place);
            }
        }
        if let Some(parts) = fields.get("allOf").and_then(Value::as_array) {
            return self.all_of(fields, parts, place);
        }
        match kind(fields) {
            "object" => Value::Object(self.object(fields, place)),
            "array" => self.array(fields, place),
            "boolean" => Value::Bool(self.finding.good),
            "integer" => json!(self.number(fields, place).round() as i64),
            "number" => Number::from_f64(self.number(fields, place)).map_or(Value::Null, Value::Number),
            "null" => Value::Null,
            _ => Value::String(self.sentence(fields, place)),
        }
    }

    /// `#/$defs/name` and the like; other documents are not fetched.
    fn resolve(&self, path: &str) -> Option<&Value> {
        self.root.pointer(path.strip_prefix('#')?)
    }

    /// The choice that means yes or no; if there is none, the choices are names and are taken in turn.
    fn choice(&self, choices: &[Value], place: Position<'_>) -> Value {
        const GOOD: [&str; 10] =
            ["yes", "pass", "passed", "true", "good", "correct", "achieved", "satisfied", "positive", "met"];
        const BAD: [&str; 10] =
            ["no", "fail", "failed", "false", "bad", "incorrect", "not_achieved", "unsatisfied", "negative", "not_met"];
        if let Some(cannot_tell) = choices.iter().find(|choice| self.finding.cannot_tell && *choice == "cannot_tell") {
            return cannot_tell.clone();
        }
        // A scale: the best point or the worst.
        let mut points: Vec<i64> = choices.iter().filter_map(Value::as_i64).collect();
        points.sort_unstable();
        if let Some(point) = if self.finding.good { points.last() } else { points.first() } {
            return json!(point);
        }
        let wanted = if self.finding.good { GOOD } else { BAD };
        let says = |choice: &&Value| match choice {
            Value::String(text) => wanted.iter().any(|word| word.eq_ignore_ascii_case(text)),
            Value::Bool(answer) => *answer == self.finding.good,
            _ => false,
        };
        choices.iter().find(says).unwrap_or(&choices[place.index % choices.len()]).clone()
    }

    /// The first that is not null, or the one that can say that the judge cannot tell.
    fn option<'a>(&self, options: &'a [Value]) -> Option<&'a Value> {
        let can_say =
            |option: &&Value| option["enum"].as_array().is_some_and(|words| words.contains(&json!("cannot_tell")));
        let cannot_tell = options.iter().find(can_say).filter(|_| self.finding.cannot_tell);
        cannot_tell.or_else(|| options.iter().find(|option| !is_null(option)))
    }

    fn all_of(&self, fields: &Map<String, Value>, parts: &[Value], place: Position<'_>) -> Value {
        let mut whole = self.object(fields, place);
        for part in parts {
            match self.value(part, place) {
                Value::Object(more) => whole.extend(more),
                other => return other,
            }
        }
        Value::Object(whole)
    }

    fn object(&self, fields: &Map<String, Value>, place: Position<'_>) -> Map<String, Value> {
        let properties = fields.get("properties").and_then(Value::as_object);
        let mut object = Map::new();
        for (name, schema) in properties.into_iter().flatten() {
            let value = match name.as_str() {
                "quotes" => self.quotes(),
                _ => self.value(schema, Position { name, ..place }),
            };
            object.insert(name.clone(), value);
        }
        self.be_sure(&mut object, place);
        let required = fields.get("required").and_then(Value::as_array).into_iter().flatten();
        for name in required.filter_map(Value::as_str) {
            // Required but not described: any value is valid.
            if !object.contains_key(name) {
                object.insert(name.to_owned(), Value::Bool(self.finding.good));
            }
        }
        object
    }

    /// The agent's last words; `None` if there is nothing to quote.
    fn quotes(&self) -> Value {
        let quote = |text: &String| json!({ "turn": 1, "who": "agent", "text": text });
        Value::Array(self.finding.quote.iter().map(quote).collect())
    }

    /// The confidence of a judgment says how sure the judge is, also if the answer is no.
    fn be_sure(&self, object: &mut Map<String, Value>, place: Position<'_>) {
        let judges = ["judgment", "verdict"].iter().any(|name| object.contains_key(*name));
        if let Some(sure) = object.get_mut("confidence").filter(|_| judges && !self.finding.good) {
            let probability = confidence(false, self.finding.key.text("confidence").number(place.index as u64));
            *sure = json!(((1.0 - probability) * 100.0).round() / 100.0);
        }
    }

    fn array(&self, fields: &Map<String, Value>, place: Position<'_>) -> Value {
        let first = fields.get("prefixItems").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let items = fields.get("items");
        let bound = |name: &str| fields.get(name).and_then(Value::as_u64);
        // One finding unless the form requires more, and never more than it allows.
        let length = bound("minItems").unwrap_or(1).max(first.len() as u64).max(u64::from(items.is_some()));
        let length = length.min(bound("maxItems").unwrap_or(LONGEST)).min(LONGEST) as usize;
        let element =
            |index: usize| first.get(index).or(items).map(|schema| self.value(schema, Position { index, ..place }));
        Value::Array((0..length).map_while(element).collect())
    }

    /// Near the upper end of the range when good, near the lower end when not; by default the range is 0 to 1.
    fn number(&self, fields: &Map<String, Value>, place: Position<'_>) -> f64 {
        let bound = |name: &str| fields.get(name).and_then(Value::as_f64);
        let low = bound("minimum").or_else(|| bound("exclusiveMinimum")).unwrap_or(0.0);
        let high = bound("maximum").or_else(|| bound("exclusiveMaximum")).unwrap_or(low.max(0.0) + 1.0);
        let share = confidence(self.finding.good, self.finding.key.text(place.name).number(place.index as u64));
        let number = low + share * (high - low);
        if kind(fields) == "integer" { number.round().clamp(low.ceil(), high.floor().max(low.ceil())) } else { number }
    }

    fn sentence(&self, fields: &Map<String, Value>, place: Position<'_>) -> String {
        let bound = |name: &str| fields.get(name).and_then(Value::as_u64).map(|length| length as usize);
        // A free text that is the decision itself is one word.
        let names_the_decision = ["judgment", "judgement", "verdict", "answer", "decision"]
            .iter()
            .any(|name| place.name.eq_ignore_ascii_case(name));
        let mut text = match (names_the_decision, self.finding.good) {
            (true, true) => "yes".to_owned(),
            (true, false) => "no".to_owned(),
            (false, true) => format!("This holds, see \"{}\".", self.finding.evidence),
            (false, false) => format!("This does not hold, see \"{}\".", self.finding.evidence),
        };
        if let Some(most) = bound("maxLength").filter(|most| *most < text.chars().count()) {
            text = text.chars().take(most).collect();
        }
        let least = bound("minLength").unwrap_or(0).min(10_000);
        let missing = least.saturating_sub(text.chars().count());
        text.extend(std::iter::repeat_n('.', missing));
        text
    }
}

fn kind(fields: &Map<String, Value>) -> &str {
    match fields.get("type") {
        Some(Value::String(name)) => name,
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).find(|name| *name != "null").unwrap_or("null")
        }
        _ if fields.contains_key("properties") || fields.contains_key("required") => "object",
        _ if fields.contains_key("items") || fields.contains_key("prefixItems") => "array",
        _ => "string",
    }
}

fn is_null(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("null")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(schema: &Value, good: bool) -> Value {
        satisfy(
            schema,
            &Finding {
                good,
                cannot_tell: false,
                evidence: "the \"words\"".to_owned(),
                quote: Some("the words".to_owned()),
                key: Key::new(7),
            },
        )
    }

    /// As much of JSON Schema as the forms of the tests use.
    fn holds(root: &Value, schema: &Value, value: &Value) -> bool {
        if let Some(path) = schema.get("$ref").and_then(Value::as_str) {
            return holds(root, root.pointer(&path[1..]).expect("resolves"), value);
        }
        if let Some(constant) = schema.get("const") {
            return constant == value;
        }
        if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
            return choices.contains(value);
        }
        let least = |name: &str| schema.get(name).and_then(Value::as_f64).unwrap_or(f64::MIN);
        let most = |name: &str| schema.get(name).and_then(Value::as_f64).unwrap_or(f64::MAX);
        match (schema["type"].as_str(), value) {
            (Some("object"), Value::Object(fields)) => {
                let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
                required.iter().all(|name| fields.contains_key(name.as_str().expect("a name")))
                    && fields.iter().all(|(name, value)| holds(root, &schema["properties"][name], value))
            }
            (Some("array"), Value::Array(items)) => {
                let length = items.len() as f64;
                (least("minItems")..=most("maxItems")).contains(&length)
                    && items.iter().all(|item| holds(root, &schema["items"], item))
            }
            (Some("boolean"), Value::Bool(_)) => true,
            (Some("integer"), Value::Number(number)) => {
                number.is_i64() && (least("minimum")..=most("maximum")).contains(&number.as_f64().expect("finite"))
            }
            (Some("number"), Value::Number(number)) => {
                (least("minimum")..=most("maximum")).contains(&number.as_f64().expect("finite"))
            }
            (Some("string"), Value::String(text)) => {
                (least("minLength")..=most("maxLength")).contains(&(text.chars().count() as f64))
            }
            _ => false,
        }
    }

    #[test]
    fn forms_are_filled_as_they_demand() {
        let forms = [
            json!({ "type": "object", "required": ["judgment", "confidence", "reasoning"], "properties": {
                "judgment": { "type": "string", "enum": ["yes", "no"] },
                "confidence": { "type": "number", "minimum": 0, "maximum": 1 },
                "reasoning": { "type": "string", "maxLength": 20 } } }),
            json!({ "type": "object", "required": ["capability_checklist", "overall_success"], "properties": {
                "capability_checklist": { "type": "array", "minItems": 3, "maxItems": 3, "items": {
                    "type": "object", "required": ["capability", "achieved", "reasoning"], "properties": {
                        "capability": { "type": "string", "enum": ["asks back", "is polite", "solves it"] },
                        "achieved": { "type": "boolean" },
                        "reasoning": { "type": "string", "minLength": 200 } } } },
                "overall_success": { "type": "boolean" } } }),
            json!({ "$defs": { "score": { "type": "integer", "minimum": 1, "maximum": 5 } },
                "type": "object", "properties": { "score": { "$ref": "#/$defs/score" }, "version": { "const": 2 } } }),
            json!({ "type": "array", "maxItems": 0, "items": { "type": "string" } }),
            json!({ "type": "number", "minimum": 10, "maximum": 20 }),
        ];
        for form in &forms {
            for good in [true, false] {
                let filled = fill(form, good);
                assert!(holds(form, form, &filled), "{form} {filled}");
            }
        }
    }

    #[test]
    fn the_finding_shows_everywhere() {
        let form = json!({ "properties": {
            "verdict": { "enum": ["PASS", "FAIL"] }, "ok": { "type": ["boolean", "null"] },
            "score": { "type": "integer", "minimum": 0, "maximum": 100 }, "confidence": { "type": "number" },
            "answer": { "type": "string" }, "maybe": { "anyOf": [{ "type": "null" }, { "type": "boolean" }] } } });
        let good = fill(&form, true);
        let bad = fill(&form, false);
        assert_eq!((&good["verdict"], &bad["verdict"]), (&json!("PASS"), &json!("FAIL")));
        assert_eq!((&good["ok"], &bad["ok"]), (&json!(true), &json!(false)));
        assert_eq!((&good["answer"], &bad["answer"]), (&json!("yes"), &json!("no")));
        assert_eq!((&good["maybe"], &bad["maybe"]), (&json!(true), &json!(false)));
        assert!(good["score"].as_i64().expect("integer") >= 85 && bad["score"].as_i64().expect("integer") <= 20);
        assert!(good["confidence"].as_f64().expect("number") >= 0.85);
    }

    #[test]
    fn each_capability_is_named_once() {
        let form = json!({ "type": "array", "minItems": 2, "items": { "enum": ["first", "second"] } });
        assert_eq!(fill(&form, true), json!(["first", "second"]));
    }

    #[test]
    fn odd_forms_are_answered_and_end() {
        let rows = [
            (json!(true), Value::Null),
            (json!({ "$ref": "#" }), Value::Null),
            (json!({ "type": "array" }), json!([])),
            (
                json!({ "allOf": [{ "properties": { "a": { "const": 1 } } }, { "properties": { "b": { "const": 2 } } }] }),
                json!({ "a": 1, "b": 2 }),
            ),
            (json!({ "required": ["x"] }), json!({ "x": true })),
        ];
        for (form, expected) in rows {
            assert_eq!(fill(&form, true), expected, "{form}");
        }
        let nested = json!({ "type": "array", "minItems": 64, "items": { "$ref": "#" } });
        assert!(fill(&nested, true).is_array());
    }
}
