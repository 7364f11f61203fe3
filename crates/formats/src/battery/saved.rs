//! Reads and writes conversations in Emely's text format: a message a line, then the tests and their data as Python literals.

use scenario::battery::{Answer, DataSet, Examination, Kind, Mutation, Part, Requirement, Saved, Test, Values};
use serde_json::{Map, Value, json};

use super::python;

/// The line between the messages and their tests.
const CONFIGURATIONS: &str = "- CONFIGURATIONS -";
/// The marks around a literal; upstream's later revision misspells the second one.
const SECTIONS: [(&str, &str); 4] =
    [("test_ids", "test_ids"), ("test_sets", "test_sets"), ("tets_sets", "test_sets"), ("values_used", "values_used")];

/// Reads a saved conversation.
///
/// # Errors
/// (1-based line, message) if the tests or their data cannot be read.
pub fn parse(text: &str) -> Result<Saved, (u32, String)> {
    let mut lines: Vec<&str> = text.lines().map(str::trim).collect();
    let configured = lines.iter().position(|line| *line == CONFIGURATIONS);
    let configurations = configured.map(|place| lines.split_off(place));
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    let exchanges: Vec<(String, String)> =
        lines.chunks(2).filter_map(|pair| Some(((*pair.first()?).to_owned(), (*pair.get(1)?).to_owned()))).collect();
    let mut saved = Saved { exchanges, examination: Examination::default() };
    saved.examination.turns = vec![None; saved.exchanges.len()];
    if let (Some(sections), Some(first)) = (configurations, configured) {
        configure(&mut saved, &sections, first).map_err(|(line, message)| (as_line(line), message))?;
    }
    Ok(saved)
}

/// The text that [`parse`] reads, laid out as Emely lays it out.
#[must_use]
pub fn write(saved: &Saved) -> String {
    let mut text = String::new();
    let messages = saved.exchanges.iter().flat_map(|(said, answered)| [said, answered]);
    for (index, message) in messages.enumerate() {
        text.push_str(if index > 0 { "\n " } else { "" });
        text.push_str(&message.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    let turns = &saved.examination.turns;
    let ids: Vec<Value> = turns.iter().map(|test| test.as_ref().map_or(json!(0), test_id)).collect();
    let sets: Map<String, Value> = saved
        .examination
        .sets
        .iter()
        .map(|(requirement, sets)| (requirement.test_case().to_owned(), sets.iter().map(written).collect()))
        .collect();
    let values: Vec<String> = turns.iter().map(|test| test.as_ref().map_or_else(String::new, values_of)).collect();
    text.push_str(&format!("\n{CONFIGURATIONS}"));
    for (name, value) in [("test_ids", json!(ids)), ("test_sets", json!(sets)), ("values_used", json!(values))] {
        text.push('\n');
        text.push_str(name);
        python::write(&value, &mut text);
        text.push_str(name);
    }
    text.push('\n');
    text
}

fn configure(saved: &mut Saved, lines: &[&str], first: usize) -> Result<(), (usize, String)> {
    let mut values = Vec::new();
    let mut ids = Vec::new();
    for (index, line) in lines.iter().enumerate().skip(1) {
        let at = |message: String| (first + index, message);
        let Some((mark, name)) = SECTIONS.iter().find(|(mark, _)| line.starts_with(mark)) else { continue };
        let literal = line[mark.len()..].trim();
        let literal = SECTIONS.iter().find_map(|(end, _)| literal.strip_suffix(end)).unwrap_or(literal);
        let value = python::parse(literal).map_err(|fault| at(format!("`{name}`: {fault}")))?;
        match *name {
            "test_ids" => ids = value.as_array().cloned().unwrap_or_default(),
            "test_sets" => saved.examination.sets = sets(&value).map_err(at)?,
            _ => values = value.as_array().cloned().unwrap_or_default(),
        }
    }
    if ids.len() > saved.exchanges.len() {
        let message = format!("{} tests are named for {} exchanges", ids.len(), saved.exchanges.len());
        return Err((first, message));
    }
    for (turn, id) in ids.iter().enumerate() {
        let id = id.as_f64().unwrap_or(-1.0);
        if id == 0.0 {
            continue;
        }
        let Some((requirement, set, part)) = meaning(id) else {
            return Err((first, format!("`test_ids` contains {id}, which is not a test")));
        };
        let text = saved.exchanges[turn].0.clone();
        let used = values.get(turn).and_then(Value::as_str);
        let mutation = used.and_then(|used| Values::parse(requirement, used)).map(|values| Mutation {
            text: text.clone(),
            values,
            changed: Vec::new(),
        });
        if saved.examination.set(requirement, set).is_none() {
            return Err((first, format!("`test_ids` contains {id}, but `test_sets` has no set {set}")));
        }
        saved.examination.turns[turn] = Some(Test { requirement, set, part, text, mutation });
    }
    Ok(())
}

fn as_line(index: usize) -> u32 {
    u32::try_from(index + 1).unwrap_or(u32::MAX)
}

/// The test of an id: a base, the data set, and a half for a question.
fn meaning(id: f64) -> Option<(Requirement, u32, Part)> {
    if !(0.0..10_000_000.0).contains(&id) {
        return None;
    }
    let (whole, question) = (id.trunc() as u32, id.fract() != 0.0);
    let base = whole / 10_000 * 10_000;
    let requirement = Requirement::ALL.into_iter().find(|it| it.base() > 0 && it.base() == base)?;
    // These have one turn, which is a question.
    let single = matches!(requirement, Requirement::Consistency | Requirement::InputFiltering);
    let part = if question || single { Part::Question } else { Part::Information };
    Some((requirement, whole - base, part))
}

fn test_id(test: &Test) -> Value {
    let id = test.requirement.base() + test.set;
    let single = matches!(test.requirement, Requirement::Consistency | Requirement::InputFiltering);
    match test.part {
        Part::Question if !single => json!(f64::from(id) + 0.5),
        _ => json!(id),
    }
}

fn values_of(test: &Test) -> String {
    test.mutation.as_ref().map_or_else(String::new, |mutation| mutation.values.shown())
}

/// A data set with the keys of the original.
fn written(set: &DataSet) -> Value {
    let answer = match &set.answer {
        None => Value::Null,
        Some(Answer::Text(text)) => json!(text),
        Some(Answer::Yes(yes)) => json!(yes),
    };
    let mut value = json!({
        "test": set.kind.name(), "id": set.id, "directed": set.is_closed(), "QA": set.extract, "answer": answer,
        "information": set.information, "question": set.questions,
    });
    if !set.blocked.is_empty() {
        value["blocked"] = json!(set.blocked);
    }
    value
}

fn sets(value: &Value) -> Result<Vec<(Requirement, Vec<DataSet>)>, String> {
    let entries = value.as_object().ok_or("`test_sets` is not a mapping")?;
    let read = |(name, sets): (&String, &Value)| {
        let requirement =
            Requirement::of_name(name).ok_or_else(|| format!("`test_sets`: no test is called {name:?}"))?;
        let sets = sets.as_array().into_iter().flatten().map(set).collect::<Result<_, _>>()?;
        Ok((requirement, sets))
    };
    entries.iter().map(read).collect()
}

fn set(value: &Value) -> Result<DataSet, String> {
    let id = value["id"].as_u64().and_then(|id| u32::try_from(id).ok()).filter(|id| (1..10_000).contains(id));
    let id = id.ok_or_else(|| "`test_sets`: a set has no `id` from 1 to 9999".to_owned())?;
    let kind = value["test"].as_str().and_then(Kind::of_name);
    let texts = |key: &str| {
        let items = value[key].as_array().into_iter().flatten();
        items.filter_map(Value::as_str).map(str::to_owned).collect::<Vec<String>>()
    };
    let extract = value["QA"].as_str().map(str::to_owned);
    Ok(DataSet {
        id,
        kind: kind.ok_or_else(|| format!("`test_sets`: set {id} has no `test` that is known"))?,
        information: texts("information"),
        questions: texts("question"),
        extract: if value["directed"] == Value::Bool(true) { None } else { extract },
        answer: match &value["answer"] {
            Value::Bool(yes) => Some(Answer::Yes(*yes)),
            Value::String(text) => Some(Answer::Text(text.clone())),
            _ => None,
        },
        blocked: texts("blocked"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_conversation_needs_no_configurations() {
        let saved = parse("hi\n hello\n how are you?\n fine\n\n").unwrap();
        assert_eq!(saved.exchanges.len(), 2);
        assert_eq!(saved.exchanges[1], ("how are you?".to_owned(), "fine".to_owned()));
        assert_eq!(saved.examination.turns, [None, None]);
        assert_eq!(parse("only one line").unwrap().exchanges, []);
    }

    #[test]
    fn faults_have_lines() {
        let configured = |rest: &str| parse(&format!("a\n b\n- CONFIGURATIONS -\n{rest}")).unwrap_err();
        assert_eq!(configured("test_ids[1, test_ids").0, 4);
        assert_eq!(configured("test_ids[0, 0]test_ids"), (3, "2 tests are named for 1 exchanges".to_owned()));
        assert!(configured("test_ids[17]test_ids").1.contains("is not a test"));
        assert!(configured("test_ids[1041001]test_ids").1.contains("no set 1001"));
        assert!(configured("test_sets{'MLX': []}test_sets").1.contains("MLX"));
        assert!(configured("test_sets{'MLI4TC1': [{}]}test_sets").1.contains("`id`"));
    }
}
