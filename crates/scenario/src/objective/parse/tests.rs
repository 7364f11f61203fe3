use proptest::prelude::*;

use super::*;

#[test]
fn objectives_are_read_and_written_the_same() {
    for (text, written) in [
        ("p99(ttft) < 2s for 60s", "p99(ttft) < 2s for 1m"),
        ("p99.9(response)<=1500ms", "p99.9(response) <= 1s500ms"),
        ("med(service) < 1s", "p50(service) < 1s"),
        ("avg( wait ) < 10ms", "mean(wait) < 10ms"),
        ("max(response) < 30s, abort, delay 1m30s", "max(response) < 30s, delay 1m30s, abort"),
        ("pass_rate{scenario=refund} >= 0.95", "pass_rate{scenario=refund} >= 95%"),
        (
            "pass_rate{ scenario = my refund ,tag=\"a, \\\"b\\\"\"} >= 95%",
            "pass_rate{scenario=my refund, tag=\"a, \\\"b\\\"\"} >= 95%",
        ),
        ("error_rate < 1%", "error_rate < 1%"),
        ("goodput >= 0.9 for 5m, delay 30s", "goodput >= 90% for 5m, delay 30s"),
        ("conversation_goodput > 2/3", ""),
        ("dropped == 0", "dropped == 0"),
        ("drop_rate{group=buyers} < 0.1%", "drop_rate{group=buyers} < 0.1%"),
        ("unanswered != 7", "unanswered != 7"),
        ("errors <= 10 for 1h, abort", "errors <= 10 for 1h, abort"),
        ("cost < 20.5, abort", "cost < 20.5, abort"),
        ("p95(inter_token){agent=a, persona=p} < 80ms", "p95(inter_token){agent=a, persona=p} < 80ms"),
        ("mean(per_output_token) > 1us", "mean(per_output_token) > 1us"),
        ("p95(response_ttft) < 3s", "p95(response_ttft) < 3s"),
        ("cost_per_conversation < 0.05", "cost_per_conversation < 0.05"),
        ("cost_per_pass{agent=a} <= 0.1 for 5m", "cost_per_pass{agent=a} <= 0.1 for 5m"),
        ("tokens < 1000000, abort", "tokens < 1000000, abort"),
        ("tokens_per_conversation <= 2500.5", "tokens_per_conversation <= 2500.5"),
    ] {
        let Ok(found) = Objective::read(text) else {
            assert_eq!(written, "", "{text}");
            continue;
        };
        assert_eq!(found.to_string(), written, "{text}");
        assert_eq!(Objective::read(written), Ok(found), "{text}");
    }
}

#[test]
fn a_fault_says_where_it_is_what_was_expected_and_what_was_found() {
    for (text, message, hint) in [
        ("", "expected a figure at column 1, found the end", ""),
        (
            "p99 < 2s",
            "expected `(` and the name of a time at column 5, found \"<\"",
            "write p99(ttft) or p99(response)",
        ),
        (
            "ttft < 2s",
            "expected a statistic of the times at column 1, found \"ttft\"",
            "write p99(ttft), mean(ttft) or max(ttft)",
        ),
        ("p(99)<500", "expected a figure at column 1, found \"p\"", "known: pass_rate"),
        ("p100(ttft) < 2s", "expected a figure at column 1, found \"p100\"", "a percentile is from p0.001 to p99.999"),
        ("p99(tftf) < 2s", "expected a time of turns at column 5, found \"tftf\"", "ttft"),
        ("passrate >= 1", "expected a figure at column 1, found \"passrate\"", "pass_rate"),
        ("p99(ttft < 2s", "expected `)` at column 10, found \"<\"", ""),
        (
            "p99(ttft) < 2",
            "expected a time with its unit such as 2s or 500ms at column 13, found \"2\"",
            "write 2ms or 2s",
        ),
        ("p99(ttft) == 2s", "expected `<`, `<=`, `>` or `>=` at column 11, found \"==\"", ""),
        ("dropped = 0", "expected a comparison such as `<` or `>=` at column 9, found \"=\"", "write `==`"),
        ("pass_rate >= 95", "expected a share such as 0.95 or 95% at column 14, found \"95\"", "write 95%"),
        ("pass_rate >= 101%", "expected a share such as 0.95 or 95% at column 14, found \"101%\"", ""),
        ("dropped < 1.5", "expected a whole number at column 11, found \"1.5\"", ""),
        ("cost < $20", "expected a number of US dollars such as 20 at column 8, found \"$\"", ""),
        ("cost_per_pass < 5%", "expected a number of US dollars such as 20 at column 17, found \"5%\"", ""),
        ("tokens_per_conversation < 5%", "expected a number of tokens such as 2000 at column 27, found \"5%\"", ""),
        ("tokens < 1.5", "expected a whole number at column 10, found \"1.5\"", ""),
        ("cost < inf", "expected a number of US dollars such as 20 at column 8, found \"inf\"", ""),
        ("pass_rate{scenario:x} > 0.5", "expected `=` at column 19, found \":\"", "write {scenario=VALUE}"),
        ("pass_rate{color=x} > 0.5", "expected what to filter by at column 11, found \"color\"", "scenario"),
        ("pass_rate{tag=} > 0.5", "expected the name of a tag at column 15, found \"}\"", "double quotes"),
        ("pass_rate{tag=\"a} > 0.5", "expected the closing quote at column 24, found the end", ""),
        ("pass_rate{tag=a", "expected `,` or `}` at column 16, found the end", ""),
        (
            "cost < 20 abort",
            "expected `for`, a comma or the end at column 11, found \"abort\"",
            "put a comma before it",
        ),
        ("cost < 20 within 5m", "expected `for`, a comma or the end at column 11, found \"within\"", "for 60s"),
        ("cost < 20, aborts", "expected `abort` or `delay 30s` at column 12, found \"aborts\"", "abort"),
        ("cost < 20 for 500ms", "expected at least 1s at column 15, found \"500ms\"", ""),
        ("cost < 20, delay 30s", "expected `for` or `abort` beside `delay` at column 10, found \",\"", "judged once"),
        ("größe < 1", "expected a figure at column 1, found \"gr\"", ""),
    ] {
        let fault = Objective::read(text).expect_err(text);
        assert_eq!(fault.to_string(), message, "{text}");
        let found = fault.hint.clone().unwrap_or_default();
        assert!(found.contains(hint) && (hint.is_empty() || !found.is_empty()), "{text}: {fault:?}");
    }
    let long = format!("pass_rate{{tag={}}} > 0.5", "ö".repeat(300));
    assert!(Objective::read(&long).is_err());
}

#[test]
fn seeds_of_the_fuzzer_are_read_or_refused() {
    let seeds = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/objective");
    let texts = seeds.read_dir().unwrap().map(|seed| std::fs::read_to_string(seed.unwrap().path()).unwrap());
    let (read, refused): (Vec<_>, Vec<_>) = texts.map(|text| Objective::read(&text)).partition(Result::is_ok);
    assert_eq!((read.len(), refused.len()), (6, 1), "{refused:?}");
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused_with_a_column_in_it(text in "\\PC{0,40}") {
        if let Err(fault) = Objective::read(&text) {
            prop_assert!((1..=text.chars().count() + 1).contains(&fault.column));
        }
    }

    #[test]
    fn what_is_read_is_written_in_a_form_that_reads_the_same(
        figure in prop_oneof!["p[1-9][0-9](\\.[0-9]{1,3})?\\((ttft|response|wait)\\)", "(mean|max)\\(service\\)"],
        filter in "(\\{(tag|scenario)=[ -~ü]{1,9}\\})?",
        bound in "[1-9][0-9]{0,4}(ms|s|us)",
        rest in "( for [1-9][0-9]?(s|m|h))?(, abort)?",
    ) {
        if let Ok(found) = Objective::read(&format!("{figure}{filter} <= {bound}{rest}")) {
            prop_assert_eq!(Objective::read(&found.to_string()), Ok(found.clone()), "{}", found);
        }
    }
}
