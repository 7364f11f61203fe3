//! `docs/export.md` lists every column.

use std::fmt::Write as _;

use lake::columns::TABLES;

#[test]
fn every_column_is_in_the_documentation() {
    let mut text = String::new();
    for (table, columns) in TABLES {
        write!(text, "### {table}\n\n| column | type | what |\n|---|---|---|\n").unwrap();
        for column in columns {
            writeln!(text, "| `{}` | {} | {} |", column.name, column.kind.name(), column.about).unwrap();
        }
        text.push('\n');
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/export.md");
    let documented = std::fs::read_to_string(path).unwrap();
    let tables = documented.split_once("@@").map_or(documented.as_str(), |(before, _)| before);
    assert!(tables.contains(text.trim_end()), "docs/export.md has other columns; they are:\n\n{text}");
}
