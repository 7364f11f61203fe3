//! Checks SQL for a PostgreSQL connection whose role may reach the server's files and programs.
//!
//! The server would allow everything, so the SQL is checked first. Refused is anything that reaches files and programs,
//! and anything that could hide it: SQL that is built at run time, other languages, and writes to system tables.

use super::{
    error::StatementPlace,
    sql::{Placed, Token, tokens},
};

/// What is refused, and its line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refused {
    pub what: String,
    pub place: StatementPlace,
}

/// Refused anywhere outside of quotes: the server runs them as commands.
const COMMANDS: &[&str] = &["copy", "handler", "load"];

/// Two adjacent words.
const PAIRS: &[(&str, &str)] = &[
    ("alter", "server"),
    ("alter", "subscription"),
    ("alter", "system"),
    ("create", "server"),
    ("create", "subscription"),
    ("create", "tablespace"),
    ("foreign", "data"),
    ("foreign", "schema"),
    ("foreign", "table"),
    ("user", "mapping"),
];

/// Functions that reach files or other servers, or that run a text as SQL; also with more behind these letters.
const FUNCTIONS: &[&str] = &[
    "connectby",
    "cron",
    "crosstab",
    "cursor_to_xml",
    "database_to_xml",
    "dblink",
    "file_fdw",
    "lo_export",
    "lo_import",
    "query_to_xml",
    "schema_to_xml",
    "ts_rewrite",
    "ts_stat",
    "xpath_table",
];

/// Names with `pg_` are the system's. These are harmless.
const SYSTEM: &[&str] = &[
    "pg_advisory_lock",
    "pg_advisory_unlock",
    "pg_advisory_xact_lock",
    "pg_backend_pid",
    "pg_catalog",
    "pg_default",
    "pg_get_serial_sequence",
    "pg_notify",
    "pg_sleep",
    "pg_temp",
    "pg_trgm",
    "pg_try_advisory_lock",
    "pg_typeof",
];

/// System tables that may be read. Writing to one can turn a file into a function.
const CATALOG: &[&str] = &[
    "pg_attribute",
    "pg_class",
    "pg_constraint",
    "pg_database",
    "pg_enum",
    "pg_extension",
    "pg_index",
    "pg_indexes",
    "pg_namespace",
    "pg_proc",
    "pg_roles",
    "pg_sequences",
    "pg_tables",
    "pg_trigger",
    "pg_type",
    "pg_views",
];

/// Extensions that stay within the database.
const EXTENSIONS: &[&str] = &[
    "btree_gin",
    "btree_gist",
    "citext",
    "cube",
    "earthdistance",
    "fuzzystrmatch",
    "hstore",
    "intarray",
    "isn",
    "ltree",
    "pg_trgm",
    "pgcrypto",
    "plpgsql",
    "postgis",
    "unaccent",
    "uuid-ossp",
    "vector",
];

/// Functions in functions in functions hide something.
const DEEPEST: usize = 8;

pub(super) fn check(sql: &str) -> Result<(), Refused> {
    let all = tokens(sql);
    let mut statements = all.split(|placed| placed.token == Token::Sign(';'));
    let mut number = 1;
    statements.try_for_each(|statement| {
        let refused = statement_of(statement, 0);
        let place = |line| StatementPlace { statement: number, line: Some(line) };
        let result = refused.map_or(Ok(()), |(line, what)| Err(Refused { what, place: place(line) }));
        number += u64::from(!statement.is_empty());
        result
    })
}

/// The line and the name of what is refused.
fn statement_of(statement: &[Placed], depth: usize) -> Option<(usize, String)> {
    let bodies = has_bodies(statement);
    for (at, placed) in statement.iter().enumerate() {
        let line = placed.line;
        let refused = match &placed.token {
            Token::Unclear(what) => Some((*what).to_owned()),
            Token::Word(word) => command(statement, at, word, depth > 0).or_else(|| name(statement, at, word)),
            Token::Name(word) => name(statement, at, word),
            Token::Text(body) if bodies => {
                let inner = body_of(body, depth + 1);
                if let Some((inside, what)) = inner {
                    return Some((line + inside - 1, what));
                }
                None
            }
            Token::Text(_) | Token::Sign(_) => None,
        };
        if let Some(what) = refused {
            return Some((line, what));
        }
    }
    None
}

fn body_of(body: &str, depth: usize) -> Option<(usize, String)> {
    if depth > DEEPEST {
        return Some((1, "a function in so many others".to_owned()));
    }
    let all = tokens(body);
    all.split(|placed| placed.token == Token::Sign(';')).find_map(|statement| statement_of(statement, depth))
}

/// Whether its texts are programs: `CREATE FUNCTION … AS 'text'`, `DO 'text'`.
fn has_bodies(statement: &[Placed]) -> bool {
    statement.iter().enumerate().any(|(at, placed)| match word(placed) {
        Some("create") => {
            let replaced = is(statement, at + 1, "or") && is(statement, at + 2, "replace");
            let what = if replaced { at + 3 } else { at + 1 };
            is(statement, what, "function") || is(statement, what, "procedure")
        }
        Some("do") => {
            is(statement, at + 1, "language")
                || matches!(statement.get(at + 1).map(|next| &next.token), Some(Token::Text(_)))
        }
        _ => false,
    })
}

fn command(statement: &[Placed], at: usize, word: &str, in_body: bool) -> Option<String> {
    let upper = |word: &str| word.to_uppercase();
    if COMMANDS.contains(&word) {
        return Some(format!("{} (a column of this name needs quotes)", upper(word)));
    }
    if let Some((first, second)) = PAIRS.iter().find(|(first, second)| *first == word && is(statement, at + 1, second))
    {
        return Some(format!("{} {}", upper(first), upper(second)));
    }
    match word {
        // A trigger names its function, a body runs a text.
        "execute" if in_body || !(is(statement, at + 1, "function") || is(statement, at + 1, "procedure")) => {
            Some("EXECUTE".to_owned())
        }
        "language" => {
            let made = at > 0
                && ["create", "alter", "replace", "trusted", "procedural"].iter().any(|w| is(statement, at - 1, w));
            let name = spelled(statement.get(at + 1)?)?.to_lowercase();
            (made || !["sql", "plpgsql"].contains(&name.as_str())).then(|| format!("LANGUAGE {name}"))
        }
        "extension" => {
            let after = if is(statement, at + 1, "if") { at + 4 } else { at + 1 };
            let name = spelled(statement.get(after)?)?;
            (!EXTENSIONS.contains(&name)).then(|| format!("EXTENSION {name}"))
        }
        _ => None,
    }
}

/// Names of functions, tables and settings, with quotes or without.
fn name(statement: &[Placed], at: usize, name: &str) -> Option<String> {
    let refused = FUNCTIONS.iter().any(|function| name.starts_with(function))
        || name.ends_with("_libraries")
        || name == "dynamic_library_path"
        || (name.starts_with("pg_") && !SYSTEM.contains(&name) && !is_read(statement, at, name));
    refused.then(|| name.to_owned())
}

/// Whether a system table is only read: its name follows `FROM` or `JOIN`, in a statement that creates no view, because
/// a write to a view writes to its table.
fn is_read(statement: &[Placed], at: usize, name: &str) -> bool {
    let is_dot = |at: usize| statement.get(at).is_some_and(|placed| placed.token == Token::Sign('.'));
    let first = if at >= 2 && is_dot(at - 1) && is(statement, at - 2, "pg_catalog") { at - 2 } else { at };
    let from = first >= 1 && is(statement, first - 1, "from") && !(first >= 2 && is(statement, first - 2, "delete"));
    let join = first >= 1 && is(statement, first - 1, "join");
    CATALOG.contains(&name) && (from || join) && !statement.iter().any(|placed| word(placed) == Some("view"))
}

fn is(statement: &[Placed], at: usize, expected: &str) -> bool {
    statement.get(at).and_then(word) == Some(expected)
}

fn word(placed: &Placed) -> Option<&str> {
    match &placed.token {
        Token::Word(word) => Some(word),
        _ => None,
    }
}

fn spelled(placed: &Placed) -> Option<&str> {
    match &placed.token {
        Token::Word(text) | Token::Name(text) | Token::Text(text) => Some(text),
        Token::Unclear(_) | Token::Sign(_) => None,
    }
}

#[cfg(test)]
mod tests;
