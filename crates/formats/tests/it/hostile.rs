//! Files made to hurt: refused, quickly, and never with a panic.

use formats::matrix;
use proptest::prelude::*;
use scenario::persona::Library;

/// Levels of lists, each with `width` aliases of the previous one.
fn bomb(levels: usize, width: usize) -> String {
    let mut text = "l0: &l0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..=levels {
        let aliases = vec![format!("*l{}", level - 1); width].join(", ");
        text.push_str(&format!("l{level}: &l{level} [{aliases}]\n"));
    }
    text
}

#[test]
fn bombs_are_refused_by_their_expanded_size() {
    let padded = |size: usize, bomb: String| {
        let mut text = bomb;
        text.push_str("padding: [");
        while text.len() < size {
            text.push_str("a,");
        }
        text + "a]\n"
    };
    let wide_text = format!("a: &a '{}'\nb: [{}]\n", "x".repeat(400_000), vec!["*a"; 9_000].join(", "));
    let rows = [
        ("plain, 594 bytes", bomb(8, 9), "values up to here"),
        ("padded to 60 KB", padded(60_000, bomb(6, 9)), "values up to here"),
        ("padded to 400 KB", padded(400_000, bomb(12, 9)), "values up to here"),
        ("one long text, many aliases", wide_text, "bytes of text up to here"),
        (
            "aliases that nest",
            (0..30).fold("a0: &a0 [x]\n".to_owned(), |text, level| {
                text + &format!("a{}: &a{} [[[[*a{level}]]]]\n", level + 1, level + 1)
            }),
            "levels deep",
        ),
        ("deep brackets", "[".repeat(200_000), "levels deep"),
        ("deep braces", "{a: ".repeat(100_000), "levels deep"),
        ("deep dashes", "- ".repeat(50_000), "levels deep"),
        ("within itself", "a: &a [*a]\n".to_owned(), "inside its own anchor"),
        ("10 MB", "x".repeat(10 << 20), "the file is 10485760 bytes; at most 1048576 are read"),
    ];
    for (name, text, message) in rows {
        // A thread's own CPU time: other tests on this machine do not count.
        let begin = cpu_millis();
        let fault = yaml::open(&text, "bomb.yaml").expect_err(name);
        let took = cpu_millis() - begin;
        assert!(fault.message.contains(message), "{name}: {fault}");
        assert!(took < 1_000, "{name} took {took} ms");
    }
}

/// The time for a megabyte of anything is proportional to its size.
#[test]
fn a_megabyte_of_anything_is_done_with_soon() {
    let repeated = |piece: &str| piece.repeat(yaml::MAX_BYTES / piece.len());
    for piece in [
        "\n",
        " ",
        "#",
        "a",
        "a ",
        "a\n",
        "a: ",
        "a: b\n",
        "- ",
        "- a\n",
        "? ",
        "? a\n",
        "[",
        "[]",
        "[],",
        "{",
        "{a",
        "{}",
        "{},",
        ",",
        "'",
        "\"",
        "'' ",
        "\"\\",
        "|",
        "|\n a\n",
        ">\n\n",
        "&a ",
        "*a ",
        "!a ",
        "!<a",
        "%",
        "%a\n",
        "---\n",
        "...\n",
        "a\n ",
        "a:\n ",
        "[a, ",
        "[a: ",
        "\t",
        "\r",
        "\r\n",
        "\u{feff}",
        "\0",
        "é",
        "a: [b, c: d]\n",
        "'a\n",
        "-\n",
        "- - ",
        "x: {y: ",
    ] {
        let begin = cpu_millis();
        read_all(&repeated(piece));
        read_all(&format!("a: {}", piece.repeat(yaml::MAX_BYTES / piece.len() - 4)));
        let took = cpu_millis() - begin;
        assert!(took < 5_000, "{piece:?} took {took} ms");
    }
}

/// CPU time of this process in milliseconds, if the system reports it.
fn cpu_millis() -> u64 {
    let Ok(stat) = std::fs::read_to_string("/proc/thread-self/stat") else { return 0 };
    let Some((_, fields)) = stat.rsplit_once(')') else { return 0 };
    let number = |place: usize| fields.split_whitespace().nth(place).and_then(|text| text.parse::<u64>().ok());
    // utime and stime, in hundredths of a second.
    (number(11).unwrap_or(0) + number(12).unwrap_or(0)) * 10
}

#[test]
fn yaml_that_is_no_document_is_refused_with_a_line() {
    let rows = [
        ("", 1, "the file is empty"),
        ("# only a comment\n", 1, "the file is empty"),
        ("a: 1\n---\nb: 2\n", 2, "a second YAML document"),
        ("? [a]\n: 1\n", 1, "a key must be plain text"),
        ("a: 1\nb: !!python/object x\n", 2, "means nothing here"),
        ("a: 1\na: 2\n", 2, "is a duplicate; the first is on line 1"),
        ("a: {<<: 5}\n", 1, "`<<` merges mappings"),
        ("a: 1\n\tb: 2\n", 2, ""),
        ("a: [1, 2\n", 1, ""),
        ("a: \"x\n", 1, ""),
        ("a: .nan\n", 1, "not a finite number"),
    ];
    for (text, line, message) in rows {
        let fault = yaml::open(text, "x.yaml").expect_err(text);
        assert!(fault.message.contains(message), "{text:?}: {fault}");
        assert_eq!(fault.line, line, "{text:?}: {fault}");
    }
}

#[test]
fn documents_that_are_no_mapping_are_refused() {
    for text in ["5\n", "[]\n", "text\n", "null\n"] {
        let document = yaml::open(text, "x.scenario.yaml").unwrap();
        let (script, findings) = formats::eliza::FORMAT.read(&document);
        assert!(script.is_none());
        assert_eq!(findings.len(), 1, "{text}: {findings:?}");
        assert!(findings[0].message.contains("expected a mapping"), "{findings:?}");
        assert!(matrix::read(&document).0.is_none());
    }
}

/// Reads a text with every reader.
fn read_all(text: &str) {
    if let Ok(document) = yaml::open(text, "x.yaml") {
        let (script, findings) = formats::eliza::FORMAT.read(&document);
        assert!(script.is_some() || findings.iter().any(scenario::Diagnostic::is_error));
        let (matrix, findings) = matrix::read(&document);
        assert!(matrix.is_some() || findings.iter().any(scenario::Diagnostic::is_error));
        let _ = formats::persona::read(&mut document.clone(), &mut scenario::format::NoFiles, &mut Library::default());
        for format in [formats::line::FORMAT, formats::battery::FORMAT] {
            let (script, findings) = format.read(&document);
            assert!(script.is_some() || findings.iter().any(scenario::Diagnostic::is_error));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn readers_never_panic_on_any_text(text in any::<Vec<u8>>()) {
        read_all(&String::from_utf8_lossy(&text));
    }

    #[test]
    fn readers_never_panic_on_yaml_like_text(
        text in "[ \\n\\t:\\-\\[\\]{},&*!|>'\"%@`#?~a-c0-9.\\u{feff}é]{0,80}"
    ) {
        read_all(&text);
    }

    #[test]
    fn readers_never_panic_on_broken_files(
        at in 0..super::GOOD.len(),
        cut in 0..40_usize,
        with in "[ \\n:\\-\\[\\]{},&*'\"a0é]{0,6}",
    ) {
        let mut text: Vec<u8> = super::GOOD.as_bytes()[..at].to_vec();
        text.extend_from_slice(with.as_bytes());
        text.extend_from_slice(&super::GOOD.as_bytes()[(at + cut).min(super::GOOD.len())..]);
        read_all(&String::from_utf8_lossy(&text));
    }
}
