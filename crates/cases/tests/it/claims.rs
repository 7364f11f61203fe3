//! Which test opens which of the real files; a row is a path with at most one `*`, and who opens what fits.

/// Who opens a file.
pub(crate) enum Claim {
    /// A test: its file in this repository, and its name.
    Test(&'static str, &'static str),
    /// Nobody, for this reason.
    Nobody(&'static str),
}

use Claim::{Nobody, Test};

const ELIZA: &str = "crates/formats/tests/it/cases.rs";
const SKUNIT: &str = "crates/formats/tests/it/skunit_cases.rs";
const QNA: &str = "crates/formats/tests/it/qna_cases.rs";
const EMELY: &str = "crates/formats/tests/it/emely.rs";

pub(crate) const CLAIMS: &[(&str, Claim)] = &[
    ("INDEX.md", Nobody("says what the folders hold")),
    ("import/*", Nobody("tests and traffic of other projects, whose formats gabfest does not read yet")),
    ("eliza/expected-schema-validity.json", Test(ELIZA, "real_files_are_accepted_and_refused_as_upstream_does")),
    ("eliza/*.scenario.yaml", Test(ELIZA, "real_files_are_accepted_and_refused_as_upstream_does")),
    ("eliza/*.scenario.yaml", Test("crates/cli/tests/it/cases.rs", "every_valid_case_is_played_to_a_verdict")),
    ("eliza/*.matrix.yaml", Test(ELIZA, "combinations_have_the_ids_and_order_of_the_facts")),
    ("eliza/facts/matrix-combinations.json", Test(ELIZA, "combinations_have_the_ids_and_order_of_the_facts")),
    ("eliza/facts/path-parser.json", Test(ELIZA, "paths_are_read_as_the_facts_say")),
    ("eliza/facts/evaluators.json", Test(ELIZA, "limits_and_defaults_are_those_of_the_facts")),
    ("eliza/facts/evaluators.json", Test("crates/evaluate/tests/it/facts.rs", "no_row_is_left_out")),
    ("eliza/facts/evaluators.json", Test("worker/src/trial/tests/conversations.rs", "the_facts_hold")),
    ("skunit/head-0b21ae14/*.md", Test(SKUNIT, "every_real_file_is_read_without_an_unexplained_word")),
    (
        "skunit/head-0b21ae14/*.md",
        Test("crates/evaluate/tests/it/skunit.rs", "the_two_wrong_files_fail_and_the_right_ones_pass"),
    ),
    ("skunit/history-299d6db5/*.md", Test(SKUNIT, "every_real_file_is_read_without_an_unexplained_word")),
    ("skunit/history-299d6db5/*config.json", Nobody("settings of upstream's own test runner, which no scenario reads")),
    ("skunit/docs-0b21ae14/*.md", Test(SKUNIT, "the_examples_of_the_documentation_are_sound")),
    (
        "skunit/docs-0b21ae14/docs/chat-scenario-spec.md",
        Test("crates/cli/tests/it/skunit_log.rs", "the_log_of_the_documentation_is_printed"),
    ),
    ("skunit/extracted-parse-tests/*", Test(SKUNIT, "texts_have_the_meaning_of_upstreams_tests")),
    ("skunit/assertion-facts.json", Test("crates/evaluate/tests/it/assertions.rs", "every_row_is_as_its_users_expect")),
    ("qna/botframework-cli-9fa25c6c/*.qna", Test(QNA, "every_real_file_is_read_without_an_unexplained_finding")),
    ("qna/botframework-cli-9fa25c6c/*.lu", Test(QNA, "every_real_file_is_read_without_an_unexplained_finding")),
    ("qna/botframework-cli-9fa25c6c/*.json", Test(QNA, "every_real_file_is_read_without_an_unexplained_finding")),
    ("qna/chitchat/*.qna", Test(QNA, "the_chitchat_is_ninety_pairs_and_a_case_a_question")),
    ("qna/chitchat/*.qna", Test("crates/cli/tests/it/qnamaker.rs", "the_chitchat_is_asked_once_each_and_read_again")),
    ("qna/azure-batchtesting/*.tsv", Test(QNA, "the_batch_testers_tables_are_read")),
    ("qna/azure-batchtesting/sampledata-cqa-result.tsv", Test(QNA, "the_batch_testers_result_is_about_its_table")),
    ("qna/spec-a9584d8d/QnAMaker-TestDevSpec.md", Test(QNA, "the_reports_of_the_specification_are_read")),
    ("emely/testsets.json", Test(EMELY, "the_shipped_sets_are_those_of_the_original_in_words_of_our_own")),
    ("emely/config-defaults.json", Test(EMELY, "every_setting_of_the_original_has_a_counterpart_or_a_reason")),
    ("emely/saved_conversations/test_run/*.txt", Test(EMELY, "saved_conversations_are_read_with_their_tests")),
    (
        "emely/saved_conversations/validation_NSP/saved_*.txt",
        Test(EMELY, "saved_conversations_are_read_with_their_tests"),
    ),
    (
        "emely/saved_conversations/validation_NSP/sentences_MLI3TC1.txt",
        Test(EMELY, "pairs_of_sentences_have_two_halves"),
    ),
    (
        "emely/golden-report-run0.json",
        Test("crates/report/tests/it/battery.rs", "the_golden_sheet_is_reproduced_cell_by_cell"),
    ),
    (
        "emely/golden-emely_summary.json",
        Test("crates/report/tests/it/battery.rs", "the_golden_summary_is_reproduced_with_its_broken_sums"),
    ),
    ("line/*.conversation.json", Test("crates/formats/tests/it/line.rs", "the_real_conversations_are_read")),
    ("line/similarity-facts.json", Test("crates/evaluate/tests/it/expected_turns.rs", "the_facts_of_likeness_hold")),
    (
        "line/similarity-facts.json",
        Test("crates/evaluate/tests/it/expected_turns.rs", "the_examples_of_the_judges_prompt_are_asked_about"),
    ),
];
