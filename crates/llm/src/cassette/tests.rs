use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use async_trait::async_trait;
use serde_json::json;

use super::*;
use crate::{
    Call, Chat, Error as LlmError, Message, Named,
    chat::{Reply, Request},
    measure::{self, Embed},
};

/// Answers with the number of its calls.
#[derive(Debug, Default)]
struct Counting(AtomicU32);

impl Named for Counting {
    fn endpoint(&self) -> &str {
        "counting"
    }

    fn name(&self) -> &str {
        "m-1"
    }
}

#[async_trait]
impl Call<Request> for Counting {
    async fn ask(&self, request: &Request) -> Result<Reply, LlmError> {
        let number = self.0.fetch_add(1, Ordering::SeqCst) + 1;
        if request.messages[0].content == "break" {
            return Err(LlmError::Throttled { endpoint: "counting".into(), after: None, message: "slow down".into() });
        }
        let mut reply = Reply { text: format!("answer {number}"), ..Reply::default() };
        (reply.receipt.tries, reply.receipt.cost_nanos) = (1, Some(7));
        reply.receipt.asked_with = Some("{}".into());
        Ok(reply)
    }
}

fn request(text: &str, trial: &str, attempt: u32, call: u32) -> Request {
    let mut request = Request { messages: vec![Message::user(text)], seed: Some(3), ..Request::default() };
    request.context.role = "judge".to_owned();
    request.context.trial = trial.to_owned();
    (request.context.attempt, request.context.turn, request.context.call) = (attempt, 1, call);
    request
}

struct Place {
    folder: tempfile::TempDir,
    model: Arc<Counting>,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), model: Arc::new(Counting::default()) }
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("calls.jsonl")
    }

    fn recording(&self) -> Arc<dyn Chat> {
        let recorder = Recorder::open(&self.path()).unwrap();
        Tape::Record(Arc::new(recorder)).chat(self.model.clone())
    }

    fn replaying(&self, counted: &[(&str, u32)]) -> Arc<dyn Chat> {
        let counted = counted.iter().map(|(trial, attempt)| ((*trial).to_owned(), *attempt)).collect();
        let recording = Recording::open(&[self.path()], &counted).unwrap();
        Tape::Replay(Arc::new(recording)).chat(self.model.clone())
    }

    fn asked(&self) -> u32 {
        self.model.0.load(Ordering::SeqCst)
    }
}

#[tokio::test]
async fn a_replay_gives_the_recorded_answers_and_asks_nobody() {
    let place = Place::new();
    let live = place.recording();
    let asked = [request("a", "t", 1, 0), request("a", "t", 1, 1), request("b", "t", 1, 2), request("a", "u", 1, 0)];
    let mut answers = Vec::new();
    for request in &asked {
        answers.push(live.ask(request).await.unwrap());
    }
    assert!(live.ask(&request("break", "t", 1, 3)).await.is_err());
    let replayed = place.replaying(&[]);
    // In another order, under another seed and in a later attempt.
    for (request, answer) in asked.iter().zip(&answers).rev() {
        let mut request = Request { seed: None, ..request.clone() };
        request.context.attempt = 9;
        assert_eq!(&replayed.ask(&request).await.unwrap(), answer, "repeats share no answers");
    }
    let failed = replayed.ask(&request("break", "t", 9, 3)).await.unwrap_err();
    assert_eq!(failed.to_string(), "counting is throttling: slow down");
    assert_eq!(place.asked(), 5);
}

#[tokio::test]
async fn a_miss_names_the_nearest_recording_and_its_difference() {
    let place = Place::new();
    let live = place.recording();
    live.ask(&request("Where is my order of Monday?", "t", 1, 0)).await.unwrap();
    let replayed = place.replaying(&[]);
    for (asked, expected) in [
        (
            request("Where is my order of Friday?", "t", 1, 0),
            "no recorded call of judge in turn 1 has this content; the nearest is of turn 1 of the same trial: messages[0].content: recorded \"Where is my order of Monday?\", asked \"Where is my order of Friday?\"",
        ),
        (request("x", "nobody", 1, 0), "the recording has no call of trial nobody"),
        (
            Request { temperature: Some(0.5), ..request("Where is my order of Monday?", "t", 1, 0) },
            "temperature: not recorded, asked 0.5",
        ),
    ] {
        let error = replayed.ask(&asked).await.unwrap_err();
        assert!(matches!(error, LlmError::NotRecorded { .. }) && error.is_of_settings(), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
    let again = request("Where is my order of Monday?", "t", 1, 0);
    replayed.ask(&again).await.unwrap();
    let error = replayed.ask(&again).await.unwrap_err().to_string();
    assert!(error.contains("judge asks it more often than the 1 time that is recorded"), "{error}");
    assert_eq!(place.asked(), 1);
}

#[tokio::test]
async fn only_the_attempt_that_counts_answers() {
    let place = Place::new();
    let live = place.recording();
    live.ask(&request("a", "t", 1, 0)).await.unwrap();
    live.ask(&request("a", "t", 2, 0)).await.unwrap();
    let text = |reply: Reply| reply.text;
    let last = place.replaying(&[]).ask(&request("a", "t", 1, 0)).await.map(text).unwrap();
    let first = place.replaying(&[("t", 1)]).ask(&request("a", "t", 1, 0)).await.map(text).unwrap();
    assert_eq!((last.as_str(), first.as_str()), ("answer 2", "answer 1"));
}

#[tokio::test]
async fn a_cut_line_is_left_out_and_a_broken_one_is_refused() {
    let place = Place::new();
    let live = place.recording();
    live.ask(&request("a", "t", 1, 0)).await.unwrap();
    live.ask(&request("b", "t", 1, 1)).await.unwrap();
    let whole = std::fs::read_to_string(place.path()).unwrap();
    std::fs::write(place.path(), &whole[..whole.len() - 9]).unwrap();
    let recording = Recording::open(&[place.path()], &HashMap::new()).unwrap();
    assert_eq!((recording.len(), recording.cut()), (1, &[place.path()][..]));
    // A run that goes on appends behind the last whole line.
    place.recording().ask(&request("c", "t", 1, 2)).await.unwrap();
    let recording = Recording::open(&[place.path()], &HashMap::new()).unwrap();
    assert_eq!((recording.len(), recording.cut()), (2, &[][..]));

    std::fs::write(place.path(), whole.replacen("\"role\"", "\"rule\"", 1)).unwrap();
    let error = Recording::open(&[place.path()], &HashMap::new()).unwrap_err().to_string();
    assert!(
        error.contains("line 2 of") && error.contains("missing field `role`") && error.contains("hint:"),
        "{error}"
    );
    std::fs::write(place.path(), "{\"cassette\":2}\n").unwrap();
    let error = Recording::open(&[place.path()], &HashMap::new()).unwrap_err().to_string();
    assert!(error.contains("is a cassette of version 2, and must be one of version 1"), "{error}");
}

/// The second worker plays what the first one has lost.
#[tokio::test]
async fn workers_record_each_run_to_files_of_their_own_that_replay_together() {
    let place = Place::new();
    let folder = place.folder.path().join("calls");
    let worker = |name: &str| {
        let recorder = Recorder::in_folder(&folder, name).unwrap();
        Tape::Record(Arc::new(recorder)).chat(place.model.clone())
    };
    let of = |run: &str, request: Request| {
        let mut request = request;
        request.context.run = run.to_owned();
        request
    };
    let (one, two) = (worker("rack/1"), worker("rack/2"));
    one.ask(&of("night", request("a", "t", 1, 0))).await.unwrap();
    one.ask(&of("night", request("a", "u", 1, 0))).await.unwrap();
    one.ask(&of("night.2", request("a", "t", 1, 0))).await.unwrap();
    two.ask(&of("night", request("a", "t", 2, 0))).await.unwrap();
    // More runs than files are kept open.
    for run in 0..20 {
        one.ask(&of(&format!("other-{run}"), request("a", "t", 1, 0))).await.unwrap();
    }
    one.ask(&of("night", request("b", "u", 1, 1))).await.unwrap();
    let files = in_folder(&folder, "night").unwrap();
    let names: Vec<_> = files.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(
        names,
        ["night.rack=2f1.calls.jsonl", "night.rack=2f2.calls.jsonl"],
        "those of night.2 are another run's"
    );
    let counted = [("t".to_owned(), 2), ("u".to_owned(), 1)].into();
    let recording = Recording::open(&files, &counted).unwrap();
    assert_eq!(recording.len(), 3);
    let replayed = Tape::Replay(Arc::new(recording)).chat(place.model.clone());
    for (asked, answer) in [("t", "answer 4"), ("u", "answer 2")] {
        assert_eq!(replayed.ask(&request("a", asked, 7, 0)).await.unwrap().text, answer);
    }
    assert_eq!(replayed.ask(&request("b", "u", 7, 0)).await.unwrap().text, "answer 25");
}

#[tokio::test]
async fn keys_are_not_recorded_and_the_call_is_found_nevertheless() {
    let place = Place::new();
    let secret = "sk-proj-Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9v";
    redact::register(secret);
    let asked = request(&format!("my key is {secret}"), "t", 1, 0);
    place.recording().ask(&asked).await.unwrap();
    assert!(!std::fs::read_to_string(place.path()).unwrap().contains(secret));
    assert_eq!(place.replaying(&[]).ask(&asked).await.unwrap().text, "answer 1");
}

#[tokio::test]
async fn a_cache_asks_each_question_once_for_each_attempt() {
    let place = Place::new();
    let ask = async |fresh, attempt| {
        let cache = Arc::new(Cache::open(&place.path(), fresh).unwrap());
        let model = Tape::Cache(Arc::clone(&cache)).chat(place.model.clone());
        let reply = model.ask(&request("a", "t", attempt, 0)).await.unwrap();
        (reply.text, reply.receipt.cost_nanos, cache.counts())
    };
    assert_eq!(ask(false, 1).await, ("answer 1".to_owned(), Some(7), (0, 1)));
    assert_eq!(ask(false, 1).await, ("answer 1".to_owned(), Some(0), (1, 0)), "it was paid before");
    assert_eq!(ask(false, 2).await, ("answer 2".to_owned(), Some(7), (0, 1)), "repeats share no answers");
    assert_eq!(ask(true, 1).await, ("answer 3".to_owned(), Some(7), (0, 1)));
    assert_eq!(ask(false, 1).await, ("answer 3".to_owned(), Some(0), (1, 0)), "the newest answer");
}

#[test]
fn measurements_are_kept_to_the_last_bit() {
    let reply = measure::Reply { value: vec![vec![0.1_f32, -1.0e-7, f32::MIN_POSITIVE]], receipt: Default::default() };
    let kept = measure::Request::<Embed>::keep(&reply).unwrap();
    let kept = serde_json::from_str(&kept.to_string()).unwrap();
    assert_eq!(measure::Request::<Embed>::recall(kept).unwrap(), reply);
    let request = measure::Request::new(Embed { texts: vec!["a".into()] });
    assert_eq!(Taped::asked(&request), json!({ "embed": { "texts": ["a"] } }));
}

#[test]
fn the_first_difference_is_named_by_its_path() {
    for (recorded, asked, expected) in [
        (json!({ "a": [1, 2] }), json!({ "a": [1, 3] }), "a[1]: recorded 2, asked 3"),
        (json!({ "messages": [1] }), json!({ "messages": [1, 2] }), "messages: recorded 1 messages, asked 2"),
        (json!({ "a": 1, "b": 2 }), json!({ "a": 1 }), "b: recorded 2, and not asked"),
        (json!({ "a": 1 }), json!({ "a": 1 }), "nothing differs"),
    ] {
        assert_eq!(difference::first(&recorded, &asked), expected);
    }
}
