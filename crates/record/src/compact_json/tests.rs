use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

#[derive(Debug, Serialize)]
enum Shape {
    Unit,
    One(u8),
    Two(i8, f32),
    Named { r#type: &'static str, none: Option<u8> },
}

#[derive(Debug, Serialize)]
struct Unit;

#[derive(Debug, Serialize)]
struct Pair(u128, i128);

#[derive(Debug, Serialize)]
struct All {
    empty: [u8; 0],
    shapes: Vec<Shape>,
    unit: Unit,
    pair: Pair,
    number: f64,
    texts: Vec<String>,
    by_number: BTreeMap<i64, bool>,
    by_flag: BTreeMap<bool, char>,
    #[serde(flatten)]
    by_name: BTreeMap<String, Option<u64>>,
}

fn written<T: Serialize>(value: &T) -> String {
    let mut out = Vec::new();
    append(value, &mut out).expect("it can be written");
    String::from_utf8(out).expect("JSON is UTF-8")
}

proptest! {
    #[test]
    fn every_value_is_written_as_serde_json_writes_it(
        texts in proptest::collection::vec(prop_oneof![".{0,40}", "[\\x00-\\x30\\\\\"é]{0,40}"], 0..5),
        number in any::<f64>(),
        of_numbers in proptest::collection::btree_map(any::<i64>(), any::<bool>(), 0..3),
        of_flags in proptest::collection::btree_map(any::<bool>(), any::<char>(), 0..3),
        of_names in proptest::collection::btree_map(".{0,20}", any::<Option<u64>>(), 0..3),
        (small, large) in any::<(i8, u128)>(),
    ) {
        let named = Shape::Named { r#type: "a", none: None };
        let all = All {
            empty: [],
            shapes: vec![Shape::Unit, Shape::One(7), Shape::Two(small, number as f32), named],
            unit: Unit,
            pair: Pair(large, -1),
            number,
            texts,
            by_number: of_numbers,
            by_flag: of_flags,
            by_name: of_names,
        };
        prop_assert_eq!(written(&all), serde_json::to_string(&all).expect("it can be written"));
    }
}

#[test]
fn bytes_and_values_of_any_shape_are_written() {
    let value = serde_json::json!({ "a\n": [1, -2.5, null, true, { "b": {} }], "c": [] });
    assert_eq!(written(&value), value.to_string());
    assert_eq!(written(b"ab"), "[97,98]");
    assert_eq!(written(&f64::NAN), "null");
}

#[test]
fn fields_without_a_value_are_left_out_and_keys_of_maps_stay() {
    #[derive(Debug, PartialEq, Serialize, serde::Deserialize)]
    struct Of {
        first: Option<u8>,
        map: BTreeMap<String, Option<u8>>,
        list: Vec<Option<u8>>,
        text: String,
        inner: Option<Box<Of>>,
    }
    let map = || BTreeMap::from([("a".to_owned(), None)]);
    let leaf = Of { first: None, map: map(), list: vec![None], text: "null".to_owned(), inner: None };
    let of = Of { first: None, map: map(), list: vec![], text: String::new(), inner: Some(Box::new(leaf)) };
    let mut out = Vec::new();
    append_without_nulls(&of, &mut out).expect("it can be written");
    let inner = r#"{"map":{"a":null},"list":[null],"text":"null"}"#;
    let expected = format!(r#"{{"map":{{"a":null}},"list":[],"text":"","inner":{inner}}}"#);
    assert_eq!(String::from_utf8(out).expect("JSON is UTF-8"), expected);
    assert_eq!(serde_json::from_str::<Of>(&expected).expect("it can be read"), of);
}

#[test]
fn a_key_that_is_no_text_is_refused() {
    let by_list = BTreeMap::from([(vec![1], 2)]);
    assert!(append(&by_list, &mut Vec::new()).is_err());
    assert!(serde_json::to_string(&by_list).is_err());
}
