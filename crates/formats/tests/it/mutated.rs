//! One fault at a time in a valid file: it is refused at the line of the fault, with no other finding.

use yaml::diagnostic::Severity;

/// (replaced text, its replacement, a part of the message). The fault is in the line of the first difference; `^` in
/// the new text marks another line.
const FAULTS: &[(&str, &str, &str)] = &[
    ("name: Billing question", "name: 7", "expected text"),
    ("name: Billing question\n", "", "missing key `name`"),
    ("description: A customer was charged twice.", "description: [a]", "expected text"),
    ("  - '@elizaos/plugin-bootstrap'", "  - 12", "expected a mapping"),
    ("'@elizaos/plugin-bootstrap'", "'@elizaos/plugin-bootstrap'\n  - '@elizaos/plugin-bootstrap'^", "is a duplicate"),
    ("    enabled: true", "    enabled: 'on'", "expected true or false"),
    ("  type: local", "  type: e3b", "unknown word `e3b`"),
    ("      method: refund\n", "", "missing key `method`"),
    ("      method: refund", "      method: ''", "expected text, found none"),
    ("        status: 429", "        status: 42", "from 100 to 599, found 42"),
    ("        delay: 100", "        delay: -1", "at least 0, found -1"),
    ("        probability: 0.1", "        probability: 1.5", "from 0 to 1, found 1.5"),
    ("    notes.txt: hello", "    ../notes.txt: hello", "leaves the root"),
    ("    /etc/app.json: '", "    /etc/../../app.json: '", "leaves the root"),
    ("    notes.txt: hello", "    notes.txt: 5", "expected the text of the file"),
    ("      max_turns: 6\n      timeout", "      max_turns: 1\n      timeout", "from 2 to 20, found 1"),
    ("      max_turns: 6\n      timeout", "      max_turns: 25\n      timeout", "from 2 to 20, found 25"),
    ("      max_turns: 6\n      timeout", "      max_turns: 2.5\n      timeout", "a whole number from 2 to 20"),
    ("    conversation:\n      max_turns: 6\n", "    conversation:\n", "missing key `max_turns`"),
    ("      timeout_per_turn_ms: 20000", "      timeout_per_turn_ms: 999", "at least 1000"),
    ("      total_timeout_ms: 120000", "      total_timeout_ms: 9999", "at least 10000"),
    ("        temperature: 0.6", "        temperature: 2.1", "from 0 to 2, found 2.1"),
    ("        temperature: 0.6", "        temperature: warm", "expected a number"),
    ("        max_tokens: 150", "        max_tokens: 49", "from 50 to 500"),
    ("        persona: polite customer\n", "", "missing key `persona`"),
    ("        objective: get the money back", "        objective:", "has no value"),
    ("'Give details'", "5", "expected text"),
    ("        knowledge_level: beginner", "        knowledge_level: expret", "unknown word `expret`"),
    ("        - type: user_expresses_satisfaction", "        - type: user_is_happy", "unknown word `user_is_happy`"),
    ("            threshold: 0.9", "            threshold: 90", "from 0 to 1, found 90"),
    (
        "        - type: llm_judge\n          prompt: Was the reply helpful?",
        "        - type: llm_jugde\n          prompt: Was the reply helpful?",
        "unknown evaluation `llm_jugde`",
    ),
    ("          expected: 'yes'", "          expected: true", "expected text"),
    ("          min_turns: 2", "          min_turns: 7", "more than the maximum"),
    ("          target_range: [2, 5]", "          target_range: [5]", "found a length of 1"),
    ("          target_range: [2, 5]", "          target_range: [5, 2]", "must be ascending"),
    ("[problem_then_solution, empathy_then_solution]", "[problem_then_cake]", "unknown word `problem_then_cake`"),
    ("[problem_then_solution, empathy_then_solution]", "[]", "is empty"),
    ("          satisfaction_threshold: 0.7", "          satisfaction_threshold: 1.5", "from 0 to 1, found 1.5"),
    ("          measurement_method: keyword_analysis", "          measurement_method: guess", "unknown word `guess`"),
    ("          retention_turns: 3", "          retention_turns: 0", "found 0"),
    ("        value: refund", "        vaule: refund", "missing key `value`"),
    ("      - type: string_contains\n        value: refund", "      - value: refund", "missing key `type`"),
    ("        pattern: '\\b4\\b'", "        pattern: '(4'", "unclosed group"),
    ("        pattern: '\\b4\\b'", "        pattern: '(?<=4)x'", "look-around"),
    ("        pattern: '\\b4\\b'", "        pattern: '((\\w{90}){90}){90}'", "too large"),
    ("        max_duration_ms: 5000\n", "", "missing key `max_duration_ms`"),
    ("        min_duration_ms: 1\n", "        min_duration_ms: 6000\n", "more than the maximum"),
    ("        expected: 0.8+", "        expected: 1.8+", "from 0 to 1, found 1.8"),
    ("        expected: 0.8+", "        expected: 0.6-0.4", "is empty"),
    ("        expected: 0.8+", "        expected: '0.8'", "is not an expectation"),
    ("        json_schema: { type: object }", "        json_schema: object", "expected a mapping"),
    ("        capabilities: [arithmetic]", "        capabilities: []", "is empty"),
    ("  - lang: python\n    code: print('done')\n", "  - name: nothing\n", "the step does nothing"),
    (
        "      - type: file_exists\n        path: notes.txt",
        "      - type: file_exists\n        path: ../../etc/passwd",
        "leaves the root",
    ),
    ("        expected_code: 0", "        expected_code: zero", "expected a number"),
    ("judgment:\n  strategy: all_pass\n", "", "missing key `judgment`"),
    ("  strategy: all_pass", "  strategy: majority_pass", "unknown word `majority_pass`"),
    ("  weight: 2.0", "  weight: -1", "found -1"),
    ("  required_pass_rate: 0.8", "  required_pass_rate: 80", "from 0 to 1, found 80"),
    ("  repeats: 3", "  repeats: 0", "found 0"),
    ("speaker: system", "speaker: robot", "unknown word `robot`"),
    ("  on_failure: stop", "  on_failure: explode", "unknown word `explode`"),
    ("    - connection: main\n      files:", "    - files:", "missing key `connection`"),
    ("{ path: seed.sql, text: 'create table t (a int);' }", "seed.sql", "was not read"),
    // Faults of the YAML itself.
    ("    input: I was charged twice", "\tinput: I was charged twice", ""),
    ("        style: friendly", "        style: 'friendly", ""),
    ("        style: friendly", "        style: friendly\n        style: rude^", "is a duplicate"),
    ("        style: friendly", "        style: !rude friendly", "the tag `!rude` means nothing"),
    ("        style: friendly", "        style: *nobody", ""),
    ("        temperature: 0.6", "        temperature: .inf", "not a finite number"),
    ("judgment:", "---\njudgment:", "a second YAML document"),
];

#[test]
fn the_good_file_has_no_findings() {
    let document = yaml::open(super::GOOD, "good.scenario.yaml").unwrap();
    let (script, findings) = formats::eliza::FORMAT.read(&document);
    assert_eq!(findings, []);
    assert!(script.is_some());
}

#[test]
fn each_fault_is_refused_at_its_line() {
    assert!(FAULTS.len() >= 40);
    let mut wrong = Vec::new();
    for (old, new, message) in FAULTS {
        assert_eq!(super::GOOD.matches(old).count().min(1), 1, "`{old}` is not in the good file");
        let (new, marked) = (new.replace('^', ""), new.contains('^'));
        let text = super::GOOD.replacen(old, &new, 1);
        let expected = fault_line(old, &new, marked, message);
        let findings = match yaml::open(&text, "x.scenario.yaml") {
            Ok(document) => {
                let (script, findings) = formats::eliza::FORMAT.read(&document);
                if script.is_some() {
                    wrong.push(format!("{new:?}: accepted"));
                }
                findings
            }
            Err(finding) => vec![finding],
        };
        let errors: Vec<_> = findings.iter().filter(|found| found.severity == Severity::Error).collect();
        let fits = errors.len() == 1
            && errors[0].line == expected
            && errors[0].column > 0
            && (errors[0].message.contains(message)
                || errors[0].help.as_deref().is_some_and(|help| help.contains(message)));
        if !fits {
            let found: Vec<String> = errors.iter().map(ToString::to_string).collect();
            wrong.push(format!("{new:?}: expected line {expected} `{message}`, found {found:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The line of the change; for a removal, the line of the mapping that lacks the key now.
fn fault_line(old: &str, new: &str, marked: bool, message: &str) -> u32 {
    let at = super::GOOD.find(old).unwrap();
    let first = 1 + super::GOOD[..at].matches('\n').count();
    let lines = |text: &str| text.matches('\n').count();
    let line = if message.starts_with("missing key") {
        // The mapping that lacks the key starts with the key named here.
        let begins = match message {
            "missing key `name`" => "description: A",
            "missing key `judgment`" => "name: Billing",
            "missing key `method`" => "service: billing",
            "missing key `max_turns`" => return u32::try_from(first + 1).unwrap(),
            "missing key `persona`" => "model_type: TEXT_LARGE",
            "missing key `max_duration_ms`" => "type: execution_time",
            "missing key `value`" => "type: string_contains",
            "missing key `type`" => "type: string_contains",
            "missing key `connection`" => "connection: main",
            other => panic!("{other}"),
        };
        let place = super::GOOD.find(begins).unwrap();
        let line = 1 + lines(&super::GOOD[..place]);
        if message == "missing key `name`" { line - 1 } else { line }
    } else if marked {
        first + lines(new)
    } else {
        // The first line that differs.
        let same = old.split('\n').zip(new.split('\n')).take_while(|(old, new)| old == new).count();
        first + same.min(lines(new))
    };
    u32::try_from(line).unwrap()
}
