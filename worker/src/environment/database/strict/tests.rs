//! The SQL that a privileged role may run, and spellings that must not pass the check.

use super::*;

#[test]
fn nothing_that_reaches_files_or_programs_passes() {
    for (sql, expected) in [
        ("COPY t TO PROGRAM 'id'", "COPY"),
        ("cOpY t FROM '/etc/passwd'", "COPY"),
        ("SELECT 1;/* x */ copy/**/t to '/tmp/x'", "COPY"),
        ("WITH x AS (SELECT 1) SELECT lo_import('/etc/passwd') FROM x", "lo_import"),
        ("SELECT \"lo_export\"(1, '/tmp/x')", "lo_export"),
        ("SELECT pg_catalog . pg_read_file ('/etc/passwd')", "pg_read_file"),
        ("SELECT PG_LS_DIR('/')", "pg_ls_dir"),
        ("SELECT pg_stat_file('x'), pg_read_binary_file('x')", "pg_stat_file"),
        ("SELECT U&\"\\0070g_read_file\"('/x')", "Unicode escapes"),
        ("GRANT pg_execute_server_program TO me", "pg_execute_server_program"),
        ("LOAD '/tmp/x.so'", "LOAD"),
        ("ALTER SYSTEM SET archive_command = 'id'", "ALTER SYSTEM"),
        ("ALTER ROLE me SET session_preload_libraries = 'x'", "session_preload_libraries"),
        ("CREATE TABLESPACE t LOCATION '/tmp'", "CREATE TABLESPACE"),
        ("CREATE EXTENSION IF NOT EXISTS plpython3u", "EXTENSION plpython3u"),
        ("CREATE EXTENSION \"file_fdw\"", "EXTENSION file_fdw"),
        ("CREATE SERVER s FOREIGN DATA WRAPPER w", "CREATE SERVER"),
        ("CREATE FOREIGN TABLE t (x text) SERVER s OPTIONS (program 'id')", "FOREIGN TABLE"),
        ("CREATE FUNCTION f(text) RETURNS int AS 'x.so', 'f' LANGUAGE C", "LANGUAGE c"),
        ("CREATE FUNCTION f() RETURNS int LANGUAGE 'internal' AS 'be_' 'lo_import'", "LANGUAGE internal"),
        ("DO LANGUAGE plpython3u $$ import os $$", "LANGUAGE plpython3u"),
        ("DO $$ BEGIN EXECUTE 'CO' || 'PY t TO PROGRAM ''id'''; END $$", "EXECUTE"),
        ("DO 'BEGIN COPY t TO ''/x''; END'", "COPY"),
        ("DO 'BEGIN EXE'\n'CUTE x; END'", "EXECUTE"),
        ("DO E'BEGIN \\x45XECUTE x; END'", "numbered escapes"),
        (
            "CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $f$ BEGIN PERFORM '\\'' ; COPY t TO 'x' ; --' ; END $f$",
            "backslash",
        ),
        ("CREATE OR REPLACE PROCEDURE p() LANGUAGE plpgsql AS $$ BEGIN OPEN c FOR EXECUTE q; END $$", "EXECUTE"),
        ("DO $a$ BEGIN CREATE FUNCTION f() RETURNS void AS $b$ COPY t TO 'x' $b$ LANGUAGE sql; END $a$", "COPY"),
        ("PREPARE q AS SELECT 1; EXECUTE q", "EXECUTE"),
        ("SELECT query_to_xml('SELECT lo_' || 'import(''/x'')', true, true, '')", "query_to_xml"),
        ("SELECT * FROM ts_stat('SELECT ' || x)", "ts_stat"),
        ("SELECT dblink_exec('dbname=x', 'x')", "dblink_exec"),
        ("UPDATE pg_proc SET prosrc = 'x'", "pg_proc"),
        ("DELETE FROM pg_catalog.pg_proc", "pg_proc"),
        ("CREATE VIEW v AS SELECT * FROM pg_proc", "pg_proc"),
        ("SELECT 'a", "without an end"),
    ] {
        let refused = check(sql).expect_err(sql);
        assert!(refused.what.contains(expected), "{sql}: {refused:?}");
    }
}

#[test]
fn ordinary_files_pass() {
    for sql in [
        "SET standard_conforming_strings = on; SELECT pg_catalog.set_config('search_path', '', false);",
        "INSERT INTO t VALUES ('Please copy this; load it, execute that', $$pg_read_file$$) ON CONFLICT DO NOTHING",
        "INSERT INTO t (\"copy\", \"load\") VALUES (1, 2) -- COPY t TO PROGRAM 'id'",
        "CREATE TABLE a (id int REFERENCES b, FOREIGN KEY (id) REFERENCES c, server text, system text, location text)",
        "CREATE EXTENSION IF NOT EXISTS \"uuid-ossp\"; CREATE EXTENSION pgcrypto WITH SCHEMA public",
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.at := now(); RETURN NEW; END $$;
         CREATE TRIGGER t BEFORE INSERT ON a FOR EACH ROW EXECUTE FUNCTION f();
         CREATE TRIGGER u BEFORE INSERT ON a FOR EACH ROW EXECUTE PROCEDURE f()",
        "DO $$ BEGIN IF NOT EXISTS (SELECT 1 FROM pg_type WHERE typname = 'mood') THEN
         CREATE TYPE mood AS ENUM ('sad'); END IF; END $$",
        "SELECT setval(pg_get_serial_sequence('t', 'id'), (SELECT max(id) FROM t))",
        "CREATE VIEW v AS SELECT * FROM t",
        "",
    ] {
        assert_eq!(check(sql), Ok(()), "{sql}");
    }
}

#[test]
fn the_line_is_reported() {
    let refused = check("SELECT 1;\n;DO $$\nBEGIN\n COPY t TO 'x';\nEND $$").unwrap_err();
    assert_eq!(refused.place, StatementPlace { statement: 2, line: Some(4) });
}
