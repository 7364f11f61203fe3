//! The grammar of `.qna` files by rows, and the findings about broken ones.

use std::collections::BTreeMap;

use formats::qna::{Alteration, FileLink, KnowledgeBase, Pair, Prompt, collate, json, knowledge_base, write};
use proptest::prelude::*;
use scenario::{
    Diagnostic,
    format::{Files, NoFiles, TextFile},
    question::Filter,
};

const ANSWER: &str = "```\nyes\n```\n";

fn pairs(text: &str) -> Vec<Pair> {
    let collated = collate(text, "x.qna", &mut NoFiles);
    assert_eq!(collated.diagnostics, [], "{text}");
    collated.base.pairs
}

fn one(text: &str) -> Pair {
    let mut pairs = pairs(text);
    assert_eq!(pairs.len(), 1, "{text}");
    pairs.remove(0)
}

fn findings(text: &str) -> Vec<String> {
    collate(text, "x.qna", &mut NoFiles).diagnostics.iter().map(ToString::to_string).collect()
}

#[test]
fn a_question_is_written_in_many_ways() {
    for (text, questions) in [
        ("# ? hello\n", vec!["hello"]),
        ("#?hello\n", vec!["hello"]),
        ("###### ?  hello there \t\n", vec!["hello there"]),
        ("\u{feff}## ? hello\r\n- hi\r\n* hey\r\n+ good day\r\n", vec!["hello", "hi", "hey", "good day"]),
        ("# ? what is 1 \\# 2?\n- a\\b\n", vec!["what is 1 \\# 2?", "a\\b"]),
        ("# ? hello\n- hello\n- hi\n- hi\n", vec!["hello", "hi"]),
        ("# ? hello\n> FAIL, -1(0), Predicted Answer: x\n- hi\n", vec!["hello", "hi"]),
    ] {
        let text = text.trim_start_matches('\u{feff}');
        assert_eq!(one(&format!("{text}{ANSWER}")).questions, questions, "{text}");
    }
}

#[test]
fn parts_come_in_both_orders() {
    let filters = "**Filters:**\n- a = b\n- c=d = e\n";
    let full = Pair {
        id: Some(7),
        source: "hand made".to_owned(),
        questions: vec!["hello".to_owned()],
        filters: vec![
            Filter { name: "a".to_owned(), value: "b".to_owned() },
            Filter { name: "c".to_owned(), value: "d = e".to_owned() },
        ],
        answer: "yes".to_owned(),
        prompts: vec![Prompt { display: "more".to_owned(), link: "7".to_owned(), context_only: true }],
    };
    let prompts = "**prompts:**\n- [more](#7) `context-only`\n";
    let (source, id) = ("> !# @qna.pair.source = hand made\n", "<a id = \"7\"></a>\n");
    for head in [format!("{source}{id}"), format!("{id}\n{source}")] {
        for body in
            [format!("{filters}{ANSWER}{prompts}"), format!("{ANSWER}\n**FILTERS:**\n- a=b\n- c = d = e\n\n{prompts}")]
        {
            assert_eq!(one(&format!("{head}# ? hello\n{body}")), full);
        }
    }
}

#[test]
fn an_answer_is_the_text_between_fences() {
    for (text, answer) in [
        ("```\nyes\n```", "yes"),
        ("```markdown\n  a  \n\n b\n```", "a  \n\n b"),
        (
            "```markdown \n# ? not a question\n- nor this\n> nor this\n```  ",
            "# ? not a question\n- nor this\n> nor this",
        ),
        ("````\n```rust\nfn f() {}\n```\n````", "```rust\nfn f() {}\n```"),
        ("```\n```", ""),
        ("```\n![](https://x/y.png)\n```", "![](https://x/y.png)"),
    ] {
        assert_eq!(one(&format!("# ? q\n{text}")).answer, answer, "{text}");
    }
}

#[test]
fn faults_are_reported_with_their_line() {
    for (text, line, message) in [
        ("# ? a\nhello\n```\nx\n```", 2, "Invalid QnA question line, did you miss '-' at line begin"),
        ("# ? a\n**Filters:**\nx = y\n```\nx\n```", 3, "Invalid QnA filter line, did you miss '-' at line begin"),
        ("# ? a\n**Filters:**\n- xy\n```\nx\n```", 3, "has no name or no value"),
        ("# ? a\n```\nx\n```\n**Prompts:**\n- x\n", 6, "`x` is not a prompt"),
        ("# ? a\n```\nx\n```\n**Prompts:**\n- [x](#nowhere)\n", 6, "Cannot find follow up prompt definition"),
        ("# ? a\n- b\n", 1, "the question has no answer"),
        ("# ? a\n# ? b\n```\nx\n```", 1, "the question has no answer"),
        ("# ? a\n```\nx", 2, "this answer is not closed"),
        ("# ? a\n```markdown\nx\n```rust\ny\n```", 4, "a block begins inside an answer"),
        ("# ? a\n```hello```", 2, "follows the ``` of an answer"),
        ("# ?\n```\nx\n```", 1, "the question is empty"),
        ("```\nx\n```", 1, "this answer belongs to no question"),
        ("**Filters:**\n- a=b", 1, "these filters belong to no question"),
        ("- hello", 1, "belongs to nothing"),
        ("hello", 1, "is not part of the .qna format"),
        ("<a id = \"x\"></a>", 1, "the id `x` is not a whole number"),
        ("<a id = \"0\"></a>", 1, "0 is not a valid id"),
        ("<a name=\"x\">", 1, "this is not an id"),
        ("$a : qna-alterations =\n", 1, "an alteration without words"),
        ("[a](b.qna)", 1, "Cannot find reference"),
        ("[a][1]", 1, "`[1]` is not defined"),
        ("[a", 1, "is not a link"),
        (
            "<a id=\"1\"></a>\n# ? a\n```\nx\n```\n<a id=\"1\"></a>\n# ? b\n```\nx\n```",
            7,
            "the id 1 is that of the pair",
        ),
        ("# ? a\n- [x](y.qna#?)\n```\nx\n```", 2, "Cannot find reference"),
        ("# ? a\n- [x](#Nothing)\n```\nx\n```", 2, "Cannot find reference"),
        ("# ? a\n- [x](#?)\n```\nx\n```", 2, "Loop detected"),
    ] {
        let found = findings(text);
        assert!(
            found.iter().any(|found| found.starts_with(&format!("x.qna:{line}:")) && found.contains(message)),
            "{text:?}: {found:#?}"
        );
    }
}

/// Files in memory.
struct Shelf<'a>(BTreeMap<&'static str, &'a str>);

impl Files for Shelf<'_> {
    fn read(&mut self, _from: &str, target: &str) -> Result<Vec<TextFile>, String> {
        let text = self.0.get(target).ok_or("cannot be read: it is not there")?;
        Ok(vec![TextFile { path: target.to_owned(), text: (*text).to_owned(), warning: None }])
    }
}

fn shelf(root: &str) -> (Vec<Vec<String>>, Vec<Diagnostic>) {
    let mut shelf = Shelf(BTreeMap::from([
        ("root.qna", root),
        ("a.qna", "# ? one\n- two\n```\nA\n```\n# ? three\n```\nB\n```\n$w : qna-alterations=\n- v\n"),
        ("b.qna", "[root](root.qna)\n# ? four\n```\nB\n```"),
        ("c.qna", "# ? [more](d.qna#?)\n```\nC\n```"),
        ("d.qna", "# ? [more](c.qna#?)\n```\nD\n```"),
        ("e.lu", "# Greet\n- hi {name=Ann}\n- hi {name}\n@ ml name\n- @ x\n$n:simple\nsome other line\n# Bye\n- bye\n"),
    ]));
    let collated = collate(root, "root.qna", &mut shelf);
    (collated.base.pairs.into_iter().map(|pair| pair.questions).collect(), collated.diagnostics)
}

#[test]
fn files_are_imported_and_referred_to() {
    for (root, expected) in [
        ("[a](a.qna)", vec![vec!["one", "two"], vec!["three"]]),
        ("[a][1]\n\n[1]: a.qna", vec![vec!["one", "two"], vec!["three"]]),
        ("# ? [x](a.qna#?)\n```\nZ\n```", vec![vec!["one", "two", "three"]]),
        ("# ? q\n- [x](a.qna#?two?)\n```\nZ\n```", vec![vec!["q", "one", "two"]]),
        ("# ? q\n- [x](a.qna#*answers*)\n```\nZ\n```", vec![vec!["q", "A", "B"]]),
        ("# ? q\n- [x](a.qna#*alterations*)\n```\nZ\n```", vec![vec!["q", "w", "v"]]),
        ("# ? q\n- [x](a.qna#$w?)\n```\nZ\n```", vec![vec!["q", "w", "v"]]),
        ("# ? q\n- [x](e.lu#Greet)\n```\nZ\n```", vec![vec!["q", "hi Ann"]]),
        ("# ? q\n- [x](e.lu#*utterances*)\n```\nZ\n```", vec![vec!["q", "hi Ann", "bye"]]),
        ("# ? q\n- [x](e.lu#Bye*utterances*)\n```\nZ\n```", vec![vec!["q", "bye"]]),
        ("# ? q\n- [x](https://x/#y)\n```\nZ\n```", vec![vec!["q", "[x](https://x/#y)"]]),
        ("[a](a.qna)\n[a again](a.qna)\n[e](e.lu)", vec![vec!["one", "two"], vec!["three"]]),
    ] {
        let (found, diagnostics) = shelf(root);
        assert_eq!(diagnostics, [], "{root}");
        assert_eq!(found, expected, "{root}");
    }
}

#[test]
fn loops_are_found() {
    for (root, message) in [
        ("[b](b.qna)", "Loop detected: root.qna -> b.qna -> root.qna"),
        ("# ? [x](c.qna#?)\n```\nZ\n```", "Loop detected: c.qna#? -> d.qna#? -> c.qna#?"),
    ] {
        let found: Vec<String> = shelf(root).1.iter().map(|found| found.message.clone()).collect();
        assert!(found.iter().any(|found| found == message), "{found:#?}");
    }
}

#[test]
fn web_addresses_are_noted_and_never_fetched() {
    let base = collate("[faq](https://x/faq)\n[m](https://x/m.pdf?a=b)", "x.qna", &mut NoFiles).base;
    assert_eq!(base.urls, ["https://x/faq"]);
    assert_eq!(base.files, [FileLink { name: "m".to_owned(), uri: "https://x/m.pdf?a=b".to_owned() }]);
}

/// JSON that a `.qna` file cannot express: it is reported, or changed into a form that it can express.
#[test]
fn json_survives_a_round_trip() {
    let pair = r#""qnaList": [{"answer": "a", "questions": ["q"]}]"#;
    let rows = [
        // (keys beside the pairs, addresses, documents, findings)
        (r#""urls": ["https://x/faq"]"#, vec!["https://x/faq"], vec![], vec![]),
        (r#""urls": ["https://x/a.pdf"]"#, vec![], vec![("https://x/a.pdf", "https://x/a.pdf")], vec![]),
        (r#""urls": ["https://x/a (b)[c]"]"#, vec!["https://x/a%20%28b%29%5Bc%5D"], vec![], vec![]),
        (
            r#""files": [{"fileName": "[M]\n1.pdf", "fileUri": "https://x/get?id=1"}]"#,
            vec![],
            vec![("(M) 1.pdf", "https://x/get?id=1")],
            vec![],
        ),
        (r#""files": [{"fileName": "", "fileUri": "https://x/page"}]"#, vec!["https://x/page"], vec![], vec![]),
        (
            r#""files": [{"fileName": "M", "fileUri": "h+tps://x/m.pdf"}]"#,
            vec![],
            vec![],
            vec!["`files[0].fileUri` is not a web address and is ignored: `h+tps://x/m.pdf`"],
        ),
        (r#""urls": [3]"#, vec![], vec![], vec!["`urls[0]` is not a web address and is ignored: ``"]),
        (r#""name": "a\n > b""#, vec![], vec![], vec![]),
        (
            r#""wordAlterations": [{"alterations": ["a", "", "b", "a"]}, {"alterations": ["a", "b"]}]"#,
            vec![],
            vec![],
            vec![],
        ),
    ];
    for (beside, urls, files, findings) in rows {
        let read = knowledge_base(&format!("{{{pair}, {beside}}}"), "x.json", &mut NoFiles);
        let messages: Vec<&str> = read.diagnostics.iter().map(|found| found.message.as_str()).collect();
        assert_eq!(messages, findings, "{beside}");
        assert!(!read.diagnostics.iter().any(scenario::Diagnostic::is_error), "{beside}");
        assert_eq!(read.base.urls, urls, "{beside}");
        let found: Vec<(&str, &str)> =
            read.base.files.iter().map(|file| (file.name.as_str(), file.uri.as_str())).collect();
        assert_eq!(found, files, "{beside}");
        let again = knowledge_base(&write::write(&read.base), "x.qna", &mut NoFiles);
        assert_eq!((again.diagnostics, again.base), (vec![], read.base), "{beside}");
    }
}

#[test]
fn prompts_may_show_brackets() {
    let text = "<a id = \"1\"></a>\n# ? q\n```\nA\n```\n**Prompts:**\n- [see [x](y) (z)](#1) `context-only`\n";
    let read = knowledge_base(text, "x.qna", &mut NoFiles);
    assert_eq!(read.diagnostics, []);
    let prompt = Prompt { display: "see [x](y) (z)".to_owned(), link: "1".to_owned(), context_only: true };
    assert_eq!(read.base.pairs[0].prompts, [prompt]);
}

#[test]
fn json_that_is_no_knowledge_base_is_refused() {
    for (text, message) in [
        ("{", "is not JSON"),
        ("{}", "has no `qnaList`"),
        ("[1, 2]", "its JSON is a list; the name of a conversation ends in `.conversation.json`"),
        (r#"{"qnaList": 3}"#, "is not a list"),
        (r#"{"qnaList": [{"questions": ["a"]}]}"#, "`qnaList[0]` has no text `answer`"),
        (r#"{"qnaList": [{"answer": "a", "questions": []}]}"#, "`qnaList[0]` has no questions"),
        (r#"{"qnaList": [{"answer": "a", "questions": ["q"], "id": -3}]}"#, "has the id -3"),
        (
            r#"{"qnaList": [{"answer": "a", "questions": ["q"], "context": {"prompts": [{"displayText": "x"}]}}]}"#,
            "without a `qnaId`",
        ),
        (r#"{"wordAlterations": [{"alterations": ["a"]}]}"#, "fewer than two words"),
        (r#"{"wordAlterations": [{"alterations": ["a", "a"]}]}"#, "fewer than two words"),
        (r#"{"qnaList": [{"answer": "a", "questions": ["[b](c.qna#?)"]}]}"#, "would be a reference in a .qna file"),
        (
            r#"{"qnaList": [{"answer": "a", "questions": ["q"], "metadata": [{"name": "a=b", "value": "c"}]}]}"#,
            "a name has no `=`",
        ),
    ] {
        let found = knowledge_base(text, "x.json", &mut NoFiles).diagnostics;
        assert!(found.iter().any(|found| found.message.contains(message)), "{text}: {found:#?}");
    }
    let nested = r#"{"qnADocuments": [{"answer": "a\r\n", "questions": ["q\n r"], "context": {"prompts": [
        {"displayText": "x", "qna": {"answer": "b", "questions": ["deeper down"]}}]}}]}"#;
    let collated = knowledge_base(nested, "x.json", &mut NoFiles);
    assert_eq!(collated.diagnostics, []);
    assert_eq!(collated.base.pairs[0].questions, ["q r"]);
    assert_eq!(collated.base.pairs[1].answer, "b");
}

fn text() -> impl Strategy<Value = String> {
    "[a-zA-Zé?!.,'#][a-zA-Zé?!., '#-]{0,20}[a-z?!.]"
}

fn pair() -> impl Strategy<Value = Pair> {
    let filter = ("[a-z]{1,5}", text()).prop_map(|(name, value)| Filter { name, value });
    let answer = prop::collection::vec(prop_oneof![text(), Just("```".to_owned()), Just("# ? x".to_owned())], 1..4);
    (text(), prop::collection::vec(text(), 1..4), prop::collection::vec(filter, 0..3), answer).prop_map(
        |(source, mut questions, filters, answer)| {
            questions
                .iter_mut()
                .for_each(|question| *question = question.trim_start_matches(['?', '#', ' ']).to_owned() + "x");
            questions.sort();
            questions.dedup();
            Pair {
                id: None,
                source,
                questions,
                filters,
                answer: answer.join("\n").trim().to_owned(),
                prompts: Vec::new(),
            }
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(
        mut pairs in prop::collection::vec(pair(), 1..5),
        ids in prop::collection::vec(any::<bool>(), 5),
        context_only in any::<bool>(),
        words in prop::collection::btree_set("[a-z]{1,6}", 2..4),
    ) {
        pairs.sort();
        pairs.dedup();
        for (index, pair) in pairs.iter_mut().enumerate() {
            pair.id = ids[index].then_some(u32::try_from(index).unwrap() + 3);
        }
        if let Some(id) = pairs[0].id {
            let prompt = Prompt { display: "more".to_owned(), link: id.to_string(), context_only };
            pairs.last_mut().unwrap().prompts.push(prompt);
        }
        let base = KnowledgeBase {
            name: "kb".to_owned(),
            info: vec![("@app.desc".to_owned(), "what it is".to_owned())],
            pairs,
            alterations: vec![Alteration { words: words.into_iter().collect() }],
            urls: vec!["https://x/faq".to_owned()],
            files: vec![FileLink { name: "m".to_owned(), uri: "https://x/m.pdf".to_owned() }],
        };
        let again = knowledge_base(&write::write(&base), "x.qna", &mut NoFiles);
        prop_assert_eq!(&again.diagnostics, &[]);
        prop_assert_eq!(&again.base, &base);
        // JSON numbers all pairs if there are prompts, and has neither alterations nor model information.
        let text = json::write(&base).to_string();
        let by_json = knowledge_base(&text, "x.json", &mut NoFiles);
        prop_assert_eq!(&by_json.diagnostics, &[]);
        let same = |a: &Pair, b: &Pair| (&a.questions, &a.answer, &a.filters) == (&b.questions, &b.answer, &b.filters);
        prop_assert!(by_json.base.pairs.iter().zip(&base.pairs).all(|(a, b)| same(a, b)));
        prop_assert_eq!(json::write(&by_json.base).to_string(), text);
    }

    #[test]
    fn no_text_panics(text in "(# \\?|- |\\*\\*Filters:\\*\\*|\\*\\*Prompts:\\*\\*|```|\\[a\\]\\(|#\\?\\)|> !# @|<a id|\\$a|:|=|qna-alterations|[a-z{}\\n\\r\\t 0-9]|\\PC){0,60}") {
        for name in ["x.qna", "x.json", "x.tsv", "x.lu"] {
            for document in formats::qna::FORMAT.open(&text, name).0 {
                let _ = formats::qna::FORMAT.read(&document);
            }
        }
        let _ = knowledge_base(&format!("{{{text}"), "x.qna", &mut NoFiles);
    }
}
