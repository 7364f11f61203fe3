//! Data sets from Parquet files say what the same rows say in JSONL.

use std::{fs, path::Path, sync::Arc};

use ::parquet::{
    basic::{Compression, ZstdLevel},
    data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, FloatType, Int32Type, Int64Type},
    file::{properties::WriterProperties, writer::SerializedFileWriter},
    schema::parser::parse_message_type,
};
use serde_json::Value;

use super::*;

const SCHEMA: &str = "message rows {
    required binary case (UTF8);
    optional binary order (UTF8);
    optional double amount;
    optional float rate;
    optional boolean vip;
    optional int64 visits;
    optional int32 since (DATE);
    optional group tags (LIST) { repeated group list { optional binary element (UTF8); } }
    optional group address { optional binary city (UTF8); }
}";

const LINES: &str = r#"{"case":"a","order":"W-1","amount":12.5,"rate":0.1,"vip":true,"visits":9007199254740993,"since":"2026-03-01","tags":["new","big"],"address":{"city":"Oslo"}}
{"case":"b","order":null,"amount":null,"rate":null,"vip":null,"visits":null,"since":null,"tags":null,"address":null}
{"case":"c","order":"W-3","amount":7.25,"rate":null,"vip":false,"visits":0,"since":"1970-01-01","tags":["old"],"address":{"city":null}}
"#;

/// The rows of [`LINES`].
fn write(path: &Path, compression: Compression) {
    let schema = Arc::new(parse_message_type(SCHEMA).expect("a schema"));
    let properties = Arc::new(WriterProperties::builder().set_compression(compression).build());
    let file = fs::File::create(path).expect("a file");
    let mut writer = SerializedFileWriter::new(file, schema, properties).expect("a writer");
    let mut rows = writer.next_row_group().expect("a group of rows");
    let text = |text: &str| ByteArray::from(text);
    // Values, and for each row how much of the path to the value there is.
    macro_rules! column {
        ($kind:ty, $values:expr, $defined:expr, $repeated:expr) => {
            let mut column = rows.next_column().expect("a column").expect("one more");
            column.typed::<$kind>().write_batch(&$values, $defined, $repeated).expect("written");
            column.close().expect("closed");
        };
    }
    column!(ByteArrayType, [text("a"), text("b"), text("c")], None, None);
    column!(ByteArrayType, [text("W-1"), text("W-3")], Some(&[1, 0, 1]), None);
    column!(DoubleType, [12.5, 7.25], Some(&[1, 0, 1]), None);
    column!(FloatType, [0.1, f32::NAN], Some(&[1, 0, 1]), None);
    column!(BoolType, [true, false], Some(&[1, 0, 1]), None);
    column!(Int64Type, [9_007_199_254_740_993, 0], Some(&[1, 0, 1]), None);
    column!(Int32Type, [20_513, 0], Some(&[1, 0, 1]), None);
    column!(ByteArrayType, [text("new"), text("big"), text("old")], Some(&[3, 3, 0, 3]), Some(&[0, 1, 0, 0]));
    column!(ByteArrayType, [text("Oslo")], Some(&[2, 0, 1]), None);
    rows.close().expect("closed");
    writer.close().expect("closed");
}

fn scenario(file: &str, keys: &str) -> String {
    format!(
        "name: Refund\ndescription: d\njudgment: {{strategy: all_pass}}\ngabfest:\n  data: {{file: {file}{keys}}}\nrun:\n  - input: 'hello from ${{row.case}}'\n    evaluations: [{{type: string_contains, value: a}}]\n"
    )
}

fn folder(keys: &str, compression: Compression) -> [Folder; 2] {
    let in_lines = Folder::of(&[("r.scenario.yaml", &scenario("rows.jsonl", keys)), ("rows.jsonl", LINES)]);
    let in_parquet = Folder::of(&[("r.scenario.yaml", &scenario("rows.parquet", keys))]);
    write(&in_parquet.0.path().join("rows.parquet"), compression);
    [in_lines, in_parquet]
}

/// The rows as they were read.
fn rows(folder: &Folder) -> Vec<(String, Vec<Value>)> {
    let reading = folder.read();
    assert_eq!(folder.lines(&reading.diagnostics), [""; 0]);
    let rows = reading.scenarios[0].rows.as_ref().expect("a data set");
    (0..rows.len()).filter_map(|index| rows.get(index)).map(|row| (row.id, row.values)).collect()
}

#[test]
fn a_row_is_what_it_is_in_jsonl() {
    let level = ZstdLevel::default();
    for compression in [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::ZSTD(level)] {
        for (keys, count) in
            [("", 3), (", id: case", 3), (", where: {vip: [true]}", 1), (", id: case, sample: 2, seed: 7", 2)]
        {
            let [in_lines, in_parquet] = folder(keys, compression);
            let read = rows(&in_parquet);
            assert_eq!(read.len(), count, "{keys} {compression}");
            assert_eq!(read, rows(&in_lines), "{keys} {compression}");
            let [lines, parquet] = [in_lines, in_parquet].map(|folder| ids(&folder.plan(&Choices::default())));
            assert_eq!(parquet, lines, "{keys} {compression}");
        }
    }
}

/// As the trace of a load reads it.
#[test]
fn a_column_is_what_it_is_in_jsonl() {
    let [lines, parquet] = folder("", Compression::SNAPPY);
    let values = |folder: &Folder, name: &str, column: &str| {
        let file = fs::File::open(folder.0.path().join(name)).expect("a file");
        let read =
            formats::column(name, file, column, 3).map(|rows| rows.into_iter().map(|(_, value)| value).collect());
        read.map_err(|fault| format!("{fault:?}").replace(name, "FILE"))
    };
    for column in ["visits", "amount", "since", "vist"] {
        let read: Result<Vec<Value>, String> = values(&parquet, "rows.parquet", column);
        assert_eq!(read, values(&lines, "rows.jsonl", column), "{column}");
        assert_eq!(read.is_ok(), column != "vist");
    }
}

#[test]
fn faults_name_the_file_and_the_row() {
    let rows: [(&str, &str); 4] = [
        (", id: order", "rows.parquet:2: error: column `order`: the row has no id"),
        (", id: cas", "has no column `cas` | did you mean `case`?"),
        (", types: {amount: number}", "values of a JSONL or Parquet file have their types already | remove `types`"),
        (", where: {vip: [maybe]}", "no row fits `where`"),
    ];
    for (keys, expected) in rows {
        let [_, parquet] = folder(keys, Compression::SNAPPY);
        let found = parquet.faults(&Choices::default());
        assert!(found.iter().any(|fault| fault.contains(expected)), "{keys}: {found:?}");
    }
}

#[test]
fn a_cut_file_is_an_error() {
    let [_, sound] = folder("", Compression::SNAPPY);
    let path = sound.0.path().join("rows.parquet");
    let bytes = fs::read(&path).expect("a file");
    for length in [0, 3, 8, bytes.len() / 2, bytes.len() - 1] {
        fs::write(&path, &bytes[..length]).expect("a file");
        let found = sound.faults(&Choices::default());
        assert!(found.iter().any(|fault| fault.contains("`rows.parquet` cannot be read")), "{length}: {found:?}");
    }
}
