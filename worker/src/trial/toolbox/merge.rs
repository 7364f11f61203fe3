//! Merges a call that the agent made and also reported into one.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use record::turn::ToolCall;
use serde_json::Value;

#[derive(Debug, Default)]
pub(super) struct Merged {
    pub(super) calls: Vec<(Option<u64>, ToolCall)>,
    pub(super) places: Vec<usize>,
}

/// The calls of a turn: those that arrived, in order, and those that the agent only reported. An arrived and a reported
/// call are the same if they have the same id, or else the same tool and equal arguments; each is matched once. A call
/// that is only reported comes after the reported call before it, or first.
///
/// An arrived call keeps its number and its result, because the agent received that result.
///
/// `places` says where each reported call ends up.
pub(super) fn merge(
    came: Vec<(u64, ToolCall)>,
    reported: Vec<ToolCall>,
    is_same: &dyn Fn(&str, &str) -> bool,
) -> Merged {
    let mut matches: Vec<Option<usize>> = vec![None; reported.len()];
    let mut free = vec![true; came.len()];
    let (in_came, in_reported) = (arguments(came.iter().map(|(_, call)| call)), arguments(&reported));
    for by_id in [true, false] {
        for (told, call) in reported.iter().enumerate() {
            if matches[told].is_some() {
                continue;
            }
            let is_one = |&index: &usize| {
                let other = &came[index].1;
                // Two ids that differ are two calls.
                let has_both_ids = !call.id.is_empty() && !other.id.is_empty();
                free[index]
                    && has_both_ids == by_id
                    && if by_id {
                        call.id == other.id
                    } else {
                        is_same(&other.name, &call.name) && in_came[index] == in_reported[told]
                    }
            };
            matches[told] = (0..came.len()).find(is_one);
            if let Some(index) = matches[told] {
                free[index] = false;
            }
        }
    }
    // The calls that were only reported, by how many arrived calls precede them.
    let mut between: Vec<Vec<(usize, ToolCall)>> = vec![Vec::new(); came.len() + 1];
    let mut told_of: Vec<Option<(usize, String)>> = vec![None; came.len()];
    let mut after = 0;
    let mut merged = Merged { calls: Vec::new(), places: vec![0; matches.len()] };
    for ((told, call), matched) in reported.into_iter().enumerate().zip(matches) {
        match matched {
            Some(index) => {
                told_of[index] = Some((told, call.id));
                after = after.max(index + 1);
            }
            None => between[after].push((told, call)),
        }
    }
    let mut between = between.into_iter();
    let first = between.next().into_iter().flatten();
    first.for_each(|(told, call)| merged.push(None, Some(told), call));
    for (((number, mut call), told), besides) in came.into_iter().zip(told_of).zip(between) {
        let (told, id) = told.unzip();
        if call.id.is_empty() {
            call.id = id.unwrap_or_default();
        }
        merged.push(Some(number), told, call);
        besides.into_iter().for_each(|(told, call)| merged.push(None, Some(told), call));
    }
    merged
}

impl Merged {
    fn push(&mut self, number: Option<u64>, told: Option<usize>, call: ToolCall) {
        if let Some(told) = told {
            self.places[told] = self.calls.len();
        }
        self.calls.push((number, call));
    }
}

/// A number for each call's arguments; equal arguments have the same number. The values are not kept: those of all
/// calls of a turn can be a hundred times as large as their texts.
fn arguments<'a>(calls: impl IntoIterator<Item = &'a ToolCall>) -> Vec<u64> {
    calls.into_iter().map(|call| fingerprint(&agent::tools::read(&call.arguments))).collect()
}

/// Compares deeply, ignores the order of keys, and treats 1 as 1.0.
fn fingerprint(value: &Value) -> u64 {
    let mut hash = DefaultHasher::new();
    match value {
        Value::Null => 0_u8.hash(&mut hash),
        Value::Bool(truth) => (1_u8, truth).hash(&mut hash),
        // Turns negative zero into zero.
        Value::Number(number) => (2_u8, number.as_f64().map(|number| (number + 0.0).to_bits())).hash(&mut hash),
        Value::String(text) => (3_u8, text).hash(&mut hash),
        Value::Array(list) => {
            (4_u8, list.len()).hash(&mut hash);
            list.iter().for_each(|item| fingerprint(item).hash(&mut hash));
        }
        Value::Object(map) => {
            let member = |(key, item): (&String, &Value)| {
                let mut hash = DefaultHasher::new();
                (key, fingerprint(item)).hash(&mut hash);
                hash.finish()
            };
            (5_u8, map.iter().map(member).fold(0_u64, u64::wrapping_add)).hash(&mut hash);
        }
    }
    hash.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `id:name(arguments)=result`, without empty parts.
    fn call(text: &str) -> ToolCall {
        let (head, result) = text.split_once('=').map_or((text, None), |(head, result)| (head, Some(result)));
        let (head, arguments) = head.split_once('(').unwrap();
        let (id, name) = head.split_once(':').unwrap_or(("", head));
        ToolCall {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: arguments.strip_suffix(')').unwrap().to_owned(),
            result: result.map(str::to_owned),
        }
    }

    fn written((number, call): &(Option<u64>, ToolCall)) -> String {
        let number = number.map_or(String::new(), |number| format!("#{number} "));
        let id = if call.id.is_empty() { String::new() } else { format!("{}:", call.id) };
        let result = call.result.as_ref().map_or(String::new(), |result| format!("={result}"));
        format!("{number}{id}{}({}){result}", call.name, call.arguments)
    }

    #[test]
    fn equal_arguments_have_the_same_number_and_others_have_not() {
        let texts = [
            "1",
            "1.0",
            "-0.0",
            "0",
            "null",
            "true",
            "[]",
            "{}",
            "[1]",
            "[[1]]",
            "\"1\"",
            "{\"a\":1,\"b\":2}",
            "{\"b\":2.0,\"a\":1}",
            "{\"a\":2,\"b\":1}",
            "9007199254740993",
            "9007199254740992",
            "[1,2]",
            "[2,1]",
        ];
        let values: Vec<Value> = texts.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
        for a in &values {
            for b in &values {
                let is_equal = scenario::mock::expression::is_equal(a, b);
                assert_eq!(fingerprint(a) == fingerprint(b), is_equal, "{a} {b}");
            }
        }
    }

    #[test]
    fn a_call_is_counted_once() {
        let rows: &[(&[&str], &[&str], &[&str])] = &[
            (&[], &["a(1)", "b(2)"], &["a(1)", "b(2)"]),
            (&["a(1)=x", "b(2)=y"], &[], &["#0 a(1)=x", "#1 b(2)=y"]),
            // By name and arguments; the mock's result wins, because the agent received it.
            (&["a({\"n\":1})=x"], &["a({ \"n\": 1.0 })=other"], &["#0 a({\"n\":1})=x"]),
            (&["svc_a(1)=x"], &["c1:a(1)"], &["#0 c1:svc_a(1)=x"]),
            // Twice the same is twice.
            (&["a(1)=x", "a(1)=y"], &["a(1)", "a(1)", "a(1)"], &["#0 a(1)=x", "#1 a(1)=y", "a(1)"]),
            (&["a(1)=x", "a(1)=y"], &["a(1)"], &["#0 a(1)=x", "#1 a(1)=y"]),
            // By id, whatever the rest says; different ids are two calls.
            (&["7:a(1)=x"], &["7:a(2)"], &["#0 7:a(1)=x"]),
            (&["7:a(1)=x"], &["8:a(1)"], &["8:a(1)", "#0 7:a(1)=x"]),
            (&["a(1)=x", "7:a(1)=y"], &["7:a(1)"], &["#0 a(1)=x", "#1 7:a(1)=y"]),
            // A call that is only reported comes after the reported call before it.
            (
                &["a(1)=x", "b(1)=y"],
                &["own(0)", "a(1)", "own(1)", "b(1)", "own(2)"],
                &["own(0)", "#0 a(1)=x", "own(1)", "#1 b(1)=y", "own(2)"],
            ),
            // The order of arrival is the order of the calls.
            (&["a(1)=x", "b(1)=y"], &["b(1)", "own(1)", "a(1)"], &["#0 a(1)=x", "#1 b(1)=y", "own(1)"]),
            (&["a(1)"], &["a(2)"], &["a(2)", "#0 a(1)"]),
            (&["a(not json)=x"], &["a(not json)"], &["#0 a(not json)=x"]),
        ];
        for (came, reported, expected) in rows {
            let came = came.iter().enumerate().map(|(n, text)| (n as u64, call(text))).collect();
            let reported: Vec<ToolCall> = reported.iter().map(|text| call(text)).collect();
            let is_same = |a: &str, b: &str| a.trim_start_matches("svc_") == b.trim_start_matches("svc_");
            let told: Vec<String> = reported.iter().map(|call| call.name.clone()).collect();
            let Merged { calls, places } = merge(came, reported, &is_same);
            assert_eq!(calls.iter().map(written).collect::<Vec<_>>(), *expected);
            for (place, name) in places.iter().zip(&told) {
                assert!(calls[*place].1.name.ends_with(name.as_str()), "{name} is at {place}");
            }
        }
    }
}
