//! `gabfest.database[].files`: SQL files become their texts.

use scenario::format::Files;
use serde_json::{Value, json};
use yaml::{
    Document, Findings,
    path::{Path, Segment},
};

pub(super) fn put_in(document: &mut Document, files: &mut dyn Files, findings: &mut Findings) {
    let mut texts = Vec::new();
    let root = document.root();
    let databases = root.get("gabfest").map_or_else(Vec::new, |ours| ours.items_of("database"));
    for (index, database) in databases.iter().enumerate() {
        for (place, file) in database.items_of("files").iter().enumerate() {
            let Value::String(name) = file.value() else { continue };
            match files.text(&document.path, name) {
                Ok(text) => texts.push((index, place, json!({ "path": name, "text": text }))),
                Err(fault) => findings.error(file.spot(), format!("the SQL file `{name}` {fault}")),
            }
        }
    }
    for (index, place, text) in texts {
        let key = |name: &str| Segment::Key(name.to_owned());
        let path =
            Path(vec![key("gabfest"), key("database"), Segment::Index(index), key("files"), Segment::Index(place)]);
        path.set(&mut document.value, text).expect("the path was just walked");
    }
}
