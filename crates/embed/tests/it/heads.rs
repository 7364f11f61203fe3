//! What models with a head say, by one whose answers are known; and what is refused before it is asked.

use embed::{Local, Shelf};
use llm::{Model as _, Request, Task};

use crate::tiny::{Head, shelf};

async fn ask(shelf: &Shelf, task: Task, texts: &[&str]) -> llm::Reply {
    Local::open(shelf, "tiny", task).unwrap().ask(&Request::measure(task, texts)).await.unwrap()
}

#[tokio::test]
async fn an_answer_is_cut_out_of_the_text() {
    let place = tempfile::tempdir().unwrap();
    // An answer begins and ends where `ada` is.
    let ends = [1.0, -1.0, 0.0, 0.0].repeat(2);
    let head: Head = vec![("qa_outputs.weight", vec![2, 4], ends), ("qa_outputs.bias", vec![2], vec![0.0; 2])];
    let shelf = shelf(place.path(), head, &[]);
    let reply = ask(&shelf, Task::Extract, &["Who are you?", "Hello there. I am Ada!"]).await;
    assert_eq!((&*reply.text, &*reply.model), ("Ada", "tiny"));
    assert_eq!((reply.cost_nanos, reply.usage.estimated, reply.tries), (Some(0), false, 1));
    assert!(reply.usage.input_tokens > 10);
    // Far behind the first window, and with letters of several bytes before it.
    let long = format!("{} Ada {}", "hëllo thére ".repeat(200), "you are ".repeat(50));
    assert_eq!(ask(&shelf, Task::Extract, &["who", &long]).await.text, "Ada");
    for (question, context) in [("who", ""), ("", "ada"), (&*long, "ada")] {
        ask(&shelf, Task::Extract, &[question, context]).await;
    }
}

#[tokio::test]
async fn a_reply_follows_with_the_odds_of_the_head() {
    let place = tempfile::tempdir().unwrap();
    let head: Head = vec![
        ("cls.seq_relationship.weight", vec![2, 4], vec![0.0; 8]),
        ("cls.seq_relationship.bias", vec![2], vec![2.0, -1.0]),
    ];
    let shelf = shelf(place.path(), head, &[]);
    let long = "hello there ".repeat(100);
    for (context, reply) in [("hello", "there"), ("", ""), (&long, "i am ada"), (&long, &long)] {
        let labels = ask(&shelf, Task::Follow, &[context, reply]).await.labels;
        assert_eq!(labels, [("follows".to_owned(), 3.0)]);
    }
}

#[tokio::test]
async fn labels_have_their_usual_names() {
    let place = tempfile::tempdir().unwrap();
    let head: Head =
        vec![("classifier.weight", vec![3, 4], vec![0.0; 12]), ("classifier.bias", vec![3], vec![0.0, 2.0, -100.0])];
    let shelf = shelf(place.path(), head, &["toxic", "insult", "identity_hate"]);
    let labels = ask(&shelf, Task::Moderate, &["hello there"]).await.labels;
    let names: Vec<&str> = labels.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["toxicity", "insult", "identity_attack"]);
    assert_eq!(labels[0].1, 0.5);
    assert!((labels[1].1 - 0.880_797).abs() < 1e-6 && labels[2].1 < 1e-20);
}

#[tokio::test]
async fn what_cannot_work_is_said_when_it_is_opened() {
    let place = tempfile::tempdir().unwrap();
    let shelf = shelf(place.path(), Vec::new(), &["nice", "nasty"]);
    let says = |name: &str, task: Task| Local::open(&shelf, name, task).unwrap_err().to_string();
    assert!(says("other", Task::Embed).contains("there is no model \"other\""));
    assert!(says("../tiny", Task::Embed).contains("cannot be the name"));
    assert!(says("tiny", Task::Extract).contains("qa_outputs"), "{}", says("tiny", Task::Extract));
    assert!(says("tiny", Task::Follow).contains("seq_relationship"));
    assert!(says("tiny", Task::Moderate).contains("names no toxicity"));
    assert!(says("tiny", Task::Complete).contains("no model here"));
    let opened = Local::open(&shelf, "tiny", Task::Embed).unwrap();
    let error = opened.ask(&Request::measure(Task::Follow, &["a", "b"])).await.unwrap_err();
    assert!(matches!(error, llm::Error::Refused { status: 501, .. }), "{error}");

    let folder = shelf.place("tiny").unwrap();
    let config = std::fs::read_to_string(folder.join("config.json")).unwrap();
    for (from, to) in [
        ("\"num_attention_heads\":2", "\"num_attention_heads\":0"),
        ("\"num_attention_heads\":2", "\"num_attention_heads\":3"),
        ("\"hidden_size\":4", "\"hidden_size\":99999999999"),
        ("\"vocab_size\":12", "\"vocab_size\":11"),
        ("{", "["),
    ] {
        std::fs::write(folder.join("config.json"), config.replacen(from, to, 1)).unwrap();
        assert!(matches!(Local::open(&shelf, "tiny", Task::Embed), Err(embed::Error::Unusable(_))), "{to}");
    }
    std::fs::write(folder.join("config.json"), config).unwrap();
    for file in ["tokenizer.json", "model.safetensors"] {
        let kept = std::fs::read(folder.join(file)).unwrap();
        std::fs::write(folder.join(file), &kept[..kept.len() / 2]).unwrap();
        assert!(matches!(Local::open(&shelf, "tiny", Task::Embed), Err(embed::Error::Unusable(_))), "{file}");
        std::fs::write(folder.join(file), kept).unwrap();
    }
}
