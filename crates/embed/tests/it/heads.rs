//! Models with a head: a tiny model with known answers, and refused inputs.

use embed::{Local, Runnable, Shelf};
use llm::{
    Call as _,
    measure::{Embed, Extract, Follow, Moderate, Reply, Request},
};

use crate::tiny::{Head, shelf};

async fn ask<M: Runnable>(shelf: &Shelf, of: M) -> Reply<M::Value> {
    Local::<M>::open(shelf, "tiny").unwrap().ask(&Request::new(of)).await.unwrap()
}

fn extract(question: &str, context: &str) -> Extract {
    Extract { question: question.to_owned(), context: context.to_owned() }
}

#[tokio::test]
async fn an_answer_is_cut_out_of_the_text() {
    let place = tempfile::tempdir().unwrap();
    // An answer starts and ends at `ada`.
    let ends = [1.0, -1.0, 0.0, 0.0].repeat(2);
    let head: Head = vec![("qa_outputs.weight", vec![2, 4], ends), ("qa_outputs.bias", vec![2], vec![0.0; 2])];
    let shelf = shelf(place.path(), head, &[]);
    let reply = ask(&shelf, extract("Who are you?", "Hello there. I am Ada!")).await;
    assert_eq!((&*reply.value, &*reply.receipt.model), ("Ada", "tiny"));
    assert_eq!((reply.receipt.cost_nanos, reply.receipt.usage.estimated, reply.receipt.tries), (Some(0), false, 1));
    assert!(reply.receipt.usage.input > 10);
    // Far behind the first window, and with letters of several bytes before it.
    let long = format!("{} Ada {}", "hëllo thére ".repeat(200), "you are ".repeat(50));
    assert_eq!(ask(&shelf, extract("who", &long)).await.value, "Ada");
    for (question, context) in [("who", ""), ("", "ada"), (&*long, "ada")] {
        ask(&shelf, extract(question, context)).await;
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
        let of = Follow { context: context.to_owned(), reply: reply.to_owned() };
        assert_eq!(ask(&shelf, of).await.value, 3.0);
    }
}

#[tokio::test]
async fn labels_have_their_usual_names() {
    let place = tempfile::tempdir().unwrap();
    let head: Head =
        vec![("classifier.weight", vec![3, 4], vec![0.0; 12]), ("classifier.bias", vec![3], vec![0.0, 2.0, -100.0])];
    let shelf = shelf(place.path(), head, &["toxic", "insult", "identity_hate"]);
    let labels = ask(&shelf, Moderate { text: "hello there".to_owned() }).await.value;
    let names: Vec<&str> = labels.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["toxicity", "insult", "identity_attack"]);
    assert_eq!(labels[0].1, 0.5);
    assert!((labels[1].1 - 0.880_797).abs() < 1e-6 && labels[2].1 < 1e-20);
}

#[tokio::test]
async fn unusable_models_are_refused_when_opened() {
    let place = tempfile::tempdir().unwrap();
    let shelf = shelf(place.path(), Vec::new(), &["nice", "nasty"]);
    fn says<M: Runnable>(shelf: &Shelf, name: &str) -> String {
        Local::<M>::open(shelf, name).unwrap_err().to_string()
    }
    assert!(says::<Embed>(&shelf, "other").contains("there is no model \"other\""));
    assert!(says::<Embed>(&shelf, "../tiny").contains("cannot be the name"));
    assert!(says::<Extract>(&shelf, "tiny").contains("qa_outputs"), "{}", says::<Extract>(&shelf, "tiny"));
    assert!(says::<Follow>(&shelf, "tiny").contains("seq_relationship"));
    assert!(says::<Moderate>(&shelf, "tiny").contains("names no toxicity"));

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
        assert!(matches!(Local::<Embed>::open(&shelf, "tiny"), Err(embed::Error::Unusable(_))), "{to}");
    }
    std::fs::write(folder.join("config.json"), config).unwrap();
    for file in ["tokenizer.json", "model.safetensors"] {
        let kept = std::fs::read(folder.join(file)).unwrap();
        std::fs::write(folder.join(file), &kept[..kept.len() / 2]).unwrap();
        assert!(matches!(Local::<Embed>::open(&shelf, "tiny"), Err(embed::Error::Unusable(_))), "{file}");
        std::fs::write(folder.join(file), kept).unwrap();
    }
}
