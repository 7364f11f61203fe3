//! The texts that all-MiniLM-L6-v2 finds similar, if the shelf of `GABFEST_MODELS` has its weights. If `CI` is set,
//! they are required.

use std::sync::Arc;

use embed::{Local, Shelf, catalogue::SENTENCES};
use llm::{
    Call as _,
    measure::{Embed, Reply, Request},
};
use tokio::time::Instant;

/// The default threshold of a similarity check: paraphrases are above it, all other texts below.
const THRESHOLD: f64 = 0.5;

/// `None` and a message if there are no weights.
fn model() -> Option<Local<Embed>> {
    let shelf = Shelf::new(cases::shelf(SENTENCES, "what a real model finds alike")?);
    Some(Local::open(&shelf, SENTENCES).unwrap())
}

async fn embed(model: &Local<Embed>, texts: &[&str]) -> Reply<Vec<Vec<f32>>> {
    let texts = texts.iter().map(|text| (*text).to_owned()).collect();
    model.ask(&Request::new(Embed { texts })).await.unwrap()
}

async fn vectors(model: &Local<Embed>, texts: &[&str]) -> Vec<Vec<f32>> {
    embed(model, texts).await.value
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

#[tokio::test]
async fn paraphrases_are_above_the_threshold_and_unrelated_sentences_below() {
    let Some(model) = model() else { return };
    let paraphrases = [
        ("How do I get my money back?", "What do I have to do for a refund?"),
        ("The cat sits on the mat.", "A cat is sitting on a rug."),
        ("I would like to cancel my subscription.", "Please end my subscription."),
        ("It will rain tomorrow.", "Tomorrow rain is expected."),
    ];
    let unrelated = [
        ("How do I get my money back?", "The museum opens at nine."),
        ("The cat sits on the mat.", "Interest rates rose again."),
        ("I would like to cancel my subscription.", "My favourite dish is lasagna."),
        ("It will rain tomorrow.", "He plays the violin."),
    ];
    for (pairs, alike) in [(paraphrases, true), (unrelated, false)] {
        for (a, b) in pairs {
            let both = vectors(&model, &[a, b]).await;
            let score = cosine(&both[0], &both[1]);
            println!("{score:.3} {a} | {b}");
            assert_eq!(score > THRESHOLD, alike, "{score:.3} {a} | {b}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn vectors_do_not_depend_on_the_batch_and_long_texts_are_cut() {
    let Some(model) = model() else { return };
    let model = Arc::new(model);
    let long = "one two three ".repeat(5_000);
    let texts = ["Hello there.", "", "Grüße aus 東京 🗼", &long];
    let together = vectors(&model, &texts).await;
    for (text, vector) in texts.iter().zip(&together) {
        let length = cosine(vector, vector);
        assert!(vector.len() == 384 && (length - 1.0).abs() < 1e-4, "{length}");
        let alone = vectors(&model, &[text]).await;
        assert!(cosine(vector, &alone[0]) > 0.9999, "{}", cosine(vector, &alone[0]));
    }
    let reply = embed(&model, &[&long]).await;
    assert_eq!(reply.receipt.usage.input, 256);

    let began = Instant::now();
    let calls = (0..16).map(|_| {
        let model = Arc::clone(&model);
        tokio::spawn(
            async move { vectors(&model, &["A sentence of some eighteen words, more or less.", "Another."]).await },
        )
    });
    for call in calls.collect::<Vec<_>>() {
        assert_eq!(call.await.unwrap().len(), 2);
    }
    println!("32 embeddings in {} ms", began.elapsed().as_millis());
}
