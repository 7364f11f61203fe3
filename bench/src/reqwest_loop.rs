//! The loop over reqwest: a list of messages that is serialised anew each turn, and one client with its pool.

use std::sync::Arc;

use serde::Serialize;
use tokio::time::Instant;

use crate::{
    Quota, Times,
    script::{Events, LINES, check, read},
};

#[derive(Serialize)]
struct Asked<'a> {
    model: &'a str,
    messages: &'a [Message],
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stream: bool,
}

#[derive(Serialize)]
struct Message {
    role: &'static str,
    content: String,
}

pub(crate) fn client() -> reqwest::Result<reqwest::Client> {
    reqwest::Client::builder().no_proxy().tcp_nodelay(true).http1_only().build()
}

pub(crate) async fn play(
    client: reqwest::Client,
    url: String,
    quota: Arc<Quota>,
    stream: bool,
) -> anyhow::Result<Times> {
    let mut times = Times::default();
    while quota.take() {
        let mut messages = Vec::new();
        for (index, line) in LINES.into_iter().enumerate() {
            messages.push(Message { role: "user", content: line.to_owned() });
            let began = Instant::now();
            let asked = Asked { model: "bench", messages: &messages, stream };
            let mut answer = client.post(&url).json(&asked).send().await?.error_for_status()?;
            let text = if stream {
                let mut events = Events::default();
                while let Some(chunk) = answer.chunk().await? {
                    let before = events.text.len();
                    events.feed(&chunk)?;
                    if before == 0 && !events.text.is_empty() {
                        times.first_token.push(began.elapsed());
                    }
                }
                events.text
            } else {
                read(&answer.bytes().await?)?
            };
            times.whole.push(began.elapsed());
            check(&text, index + 1)?;
            messages.push(Message { role: "assistant", content: text });
        }
    }
    Ok(times)
}
