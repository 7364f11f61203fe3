//! A knowledge base asked over HTTP, by `qnamaker test` and by `run`, against the service that `mock --qna` is.

use formats::read;
use serde_json::Value;

use crate::process::{Place, scenarios};

const BASE: &str = "\
> !# @qna.pair.source = Workshop Leaflet
<a id = \"154\"></a>
## ? Who mends my bicycle
- My brakes squeal

```markdown
Bring your bicycle to the workshop in the yard, from 8 to 16, Monday to Friday
```

> !# @qna.pair.source = Workshop Leaflet
## ? Can't I mend it at home?

**Filters:**
- owner = handy

```markdown
You can: it's easy
with the right tools.
```
";

fn test<'a>(address: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut args = vec!["qnamaker", "test", "--hostname", address, "-k", "kb", "-e", "a-secret-key"];
    args.extend(more);
    args
}

async fn stats(address: &str) -> Value {
    let address = address.trim_end_matches("/qnamaker");
    let mut stream = tokio::net::TcpStream::connect(address.trim_start_matches("http://")).await.unwrap();
    let request = "GET /stats HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    tokio::io::AsyncWriteExt::write_all(&mut stream, request.as_bytes()).await.unwrap();
    let mut text = String::new();
    tokio::io::AsyncReadExt::read_to_string(&mut stream, &mut text).await.unwrap();
    serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap()
}

#[tokio::test]
async fn a_base_that_is_asked_of_itself_passes_and_the_result_is_the_same_base() {
    let place = Place::new();
    let written = place.write("base.qna", BASE);
    let (_mock, address) = place.serve(&["mock", "--listen", "127.0.0.1:0", "--qna", "base.qna"]);
    let ended = place.run(&test(&address, &["-i", "base.qna", "-o", "result.qna"]));
    assert_eq!(ended.code, 0, "{}\n{}", ended.stdout, ended.stderr);
    let result = std::fs::read_to_string(place.path().join("result.qna")).unwrap();
    assert!(result.contains("> Total passed utterances: 3/3\n"), "{result}");
    assert!(
        result.contains("> PASS, 154(100)\n## ? Who mends my bicycle\n> PASS, 154(100)\n- My brakes squeal"),
        "{result}"
    );
    let again = read::knowledge_base(&place.path().join("result.qna"));
    assert_eq!(again.diagnostics, []);
    assert_eq!(again.base, read::knowledge_base(&written).base);
    assert!(!result.contains("a-secret-key") && !ended.stderr.contains("a-secret-key"));
    // The next result is written beside the first one.
    assert_eq!(place.run(&test(&address, &["-i", "base.qna", "-o", "result.qna"])).code, 0);
    assert_eq!(std::fs::read_to_string(place.path().join("result(1).qna")).unwrap(), result);
    let stats = stats(&address).await;
    assert_eq!((&stats["qna"]["requests"], &stats["qna"]["most_asked"]), (&6.into(), &2.into()));
}

#[test]
fn wrong_answers_no_match_and_a_higher_threshold_are_shown_in_comments() {
    let place = Place::new();
    place.write("base.qna", BASE);
    let other = "\
# ? Can't I mend it at home?
- Is the weather fine?

```
Yes.
```

<a id=\"7\"></a>
# ? My brakes squeal

```
Bring your bicycle to the workshop in the yard, from 8 to 16, Monday to Friday
```
";
    place.write("asked.qna", other);
    let (_mock, address) = place.serve(&["mock", "--listen", "127.0.0.1:0", "--qna", "base.qna"]);
    let ended = place.run(&test(&address, &["-i", "asked.qna", "--scorethreshold", "50"]));
    assert_eq!(ended.code, 1, "{}\n{}", ended.stdout, ended.stderr);
    for line in [
        "> Total passed utterances: 0/3\n",
        "> Utterance passed in this answer: 0/2\n> !# @qna.pair.source = custom editorial\n",
        "> FAIL, 1(100), Predicted Answer: You can: it's easy\\nwith the right tools.\n## ? Can't I mend it at home?\n",
        "> FAIL, -1(0), Predicted Answer: No good match found in KB.\n- Is the weather fine?\n",
        "> FAIL, 154(100), Predicted Answer: Bring your bicycle to the workshop in the yard, from 8 to 16, Monday to Friday\n## ? My brakes squeal\n",
    ] {
        assert!(ended.stdout.contains(line), "{line}\n{}", ended.stdout);
    }
}

#[test]
fn errors_are_rows_and_no_success() {
    let place = Place::new();
    place.write("base.qna", BASE);
    let (_mock, address) = place.serve(&["mock", "--listen", "127.0.0.1:0", "--qna", "base.qna"]);
    let wrong = format!("{address}/nowhere");
    let ended = place.run(&test(&wrong, &["-i", "base.qna"]));
    assert_eq!(ended.code, 1, "{}\n{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains("> Total errors: 3/3\n") && ended.stdout.contains("404"), "{}", ended.stdout);
    assert!(ended.stdout.lines().filter(|line| line.starts_with("> ERROR, ")).count() == 3, "{}", ended.stdout);
    assert!(ended.stderr.contains("3 questions were not answered"), "{}", ended.stderr);
    let suspicious = place.run(&test(&address, &["-i", "base.qna", "--scorethreshold", "0.7"]));
    assert_eq!(suspicious.code, 2, "{}", suspicious.stderr);
    assert!(suspicious.stderr.contains("scores go from 0 to 100"), "{}", suspicious.stderr);
    let broken = place.write("broken.qna", "# ? a\nhello\n");
    let ended = place.run(&test(&address, &["-i", &broken.display().to_string()]));
    assert_eq!(ended.code, 2);
    assert!(
        ended.stderr.contains("Invalid QnA question line") && ended.stderr.contains("broken.qna:2:1"),
        "{}",
        ended.stderr
    );
}

#[test]
fn folders_stdin_and_tables_are_asked_too() {
    let place = Place::new();
    place.write("bases/base.qna", BASE);
    place.write("bases/more/copy.qna", BASE);
    place.write(
        "rows.tsv",
        "other\tMy brakes squeal\t\t2\t154\nother\tCan't I mend it at home?\towner:handy\t\t9\nother\thello\n",
    );
    let (_mock, address) = place.serve(&["mock", "--listen", "127.0.0.1:0", "--qna", "bases/base.qna"]);
    let ended = place.run(&test(&address, &["-i", "bases", "-o", "."]));
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let result = std::fs::read_to_string(place.path().join("bases.qna")).unwrap();
    assert!(result.contains("> Total passed utterances: 3/3\n"), "{result}");

    let mut command = place.gabfest(&test(&address, &[]));
    command.stdin(std::fs::File::open(place.path().join("bases/base.qna")).unwrap());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), result);

    let ended = place.run(&test(&address, &["-i", "rows.tsv"]));
    assert_eq!(ended.code, 1, "{}\n{}", ended.stdout, ended.stderr);
    let rows: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(
        rows[1],
        "1\tother\tMy brakes squeal\tBring your bicycle to the workshop in the yard, from 8 to 16, Monday to Friday\t100\t\t154\t154\tCorrect"
    );
    assert_eq!(
        rows[2],
        "2\tother\tCan't I mend it at home?\tYou can: it's easy\\nwith the right tools.\t100\towner:handy\t1\t9\tIncorrect"
    );
    assert_eq!(rows[3], "3\tother\thello\tNo good match found in KB.\t0\t\t-1\t\t");
}

#[test]
fn the_shipped_examples_pass_against_the_mock_agent() {
    let place = Place::new();
    let folder = format!("{}/qna", scenarios());
    let ended = place.run(&["run", &folder, "--out", "out"]);
    assert_eq!(ended.code, 0, "{}\n{}", ended.stdout, ended.stderr);
    let result = std::fs::read_to_string(place.path().join("out/report.qna")).unwrap();
    assert!(result.contains("> PASS, 1(100)\n## ? How do I return an order?\n"), "{result}");
    assert!(place.path().join("out/report.qna.tsv").is_file());
    let printed = place.run(&["report", "out", "--format", "qna"]);
    assert_eq!(printed.stdout, result);
}

/// Ten thousand questions over HTTP: prints the time and the memory.
#[tokio::test]
async fn the_chitchat_is_asked_once_each_and_read_again() {
    let english = "qna/chitchat/english/qna_chitchat_professional.qna";
    let Some(path) = cases::folder(english, "9,793 questions of the chit-chat knowledge base") else { return };
    let path = path.display().to_string();
    let place = Place::new();
    let (_mock, address) = place.serve(&["mock", "--listen", "127.0.0.1:0", "--qna", &path]);
    let ended = place.run(&test(&address, &["-i", &path, "-o", "result.qna"]));
    // Two questions occur in two pairs each, with the same filters. One differs in punctuation, so each pair answers
    // its own. The other is identical, so the first pair answers both.
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    let result = std::fs::read_to_string(place.path().join("result.qna")).unwrap();
    assert!(result.contains("> Total passed utterances: 9792/9793\n"), "{}", &result[..200]);
    assert_eq!(result.lines().filter(|line| line.starts_with("> PASS, ")).count(), 9792);
    assert_eq!(result.lines().filter(|line| line.starts_with("> FAIL, ")).count(), 1);
    let again = read::knowledge_base(&place.path().join("result.qna"));
    assert_eq!(again.diagnostics, []);
    assert_eq!(again.base, read::knowledge_base(path.as_ref()).base);
    let stats = stats(&address).await;
    let counted = ["requests", "questions", "exact", "most_asked"].map(|name| stats["qna"][name].as_u64().unwrap());
    assert_eq!(counted, [9793, 9792, 9793, 2]);
}
