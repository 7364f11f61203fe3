//! From YAML values to JSON values, which is what plans carry and what shapes are decoded from.

use serde_json::Value;

use crate::{
    fault::Fault,
    path::{Path, Segment},
    place::{Places, Spot},
};

/// Parses a text that the guard has let pass. Merge keys are applied.
pub(crate) fn parse(text: &str, places: &Places) -> Result<Value, Fault> {
    let mut value: serde_yaml::Value = serde_yaml::from_str(text).map_err(|error| syntax(&error))?;
    value.apply_merge().map_err(|error| syntax(&error))?;
    json(value, &Path::default(), places)
}

fn json(value: serde_yaml::Value, path: &Path, places: &Places) -> Result<Value, Fault> {
    match value {
        serde_yaml::Value::Null => Ok(Value::Null),
        serde_yaml::Value::Bool(truth) => Ok(Value::Bool(truth)),
        serde_yaml::Value::String(text) => Ok(Value::String(text)),
        serde_yaml::Value::Number(number) => {
            let json = match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(natural), _, _) => Some(natural.into()),
                (None, Some(whole), _) => Some(whole.into()),
                (None, None, float) => float.and_then(serde_json::Number::from_f64),
            };
            json.map(Value::Number)
                .ok_or_else(|| Fault::new(places.find(path), format!("{number} is not a finite number")))
        }
        serde_yaml::Value::Sequence(items) => items
            .into_iter()
            .enumerate()
            .map(|(index, item)| json(item, &path.join(Segment::Index(index)), places))
            .collect::<Result<Vec<_>, _>>()
            .map(Value::Array),
        serde_yaml::Value::Mapping(entries) => {
            let mut map = serde_json::Map::with_capacity(entries.len());
            for (key, item) in entries {
                let key = match key {
                    serde_yaml::Value::String(text) => text,
                    serde_yaml::Value::Number(number) => number.to_string(),
                    serde_yaml::Value::Bool(truth) => truth.to_string(),
                    _ => return Err(Fault::new(places.find(path), "expected a text as key")),
                };
                let item = json(item, &path.join(Segment::Key(key.clone())), places)?;
                map.insert(key, item);
            }
            Ok(Value::Object(map))
        }
        serde_yaml::Value::Tagged(tagged) => json(tagged.value, path, places),
    }
}

fn syntax(error: &serde_yaml::Error) -> Fault {
    let spot = error.location().map_or(Spot::at(1, 1), |location| {
        let number = |size: usize| u32::try_from(size).unwrap_or(u32::MAX);
        Spot::at(number(location.line()), number(location.column()))
    });
    let text = error.to_string();
    // The place has its own field.
    let message = text.split(" at line ").next().unwrap_or(&text).to_owned();
    Fault::new(spot, message)
}
