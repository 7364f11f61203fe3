//! The loop over hyper's connections: each message is serialised once, and an answer is read without copies.

use std::sync::Arc;

use anyhow::Context as _;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{
    Method, Request, Uri,
    client::conn::http1::{self, SendRequest},
    header::{CONTENT_TYPE, HOST, HeaderValue},
};
use hyper_util::rt::TokioIo;
use tokio::time::Instant;

use crate::{
    Quota, Times,
    script::{Events, LINES, check, read},
};

pub(crate) async fn play(url: String, quota: Arc<Quota>, stream: bool) -> anyhow::Result<Times> {
    let uri: Uri = url.parse()?;
    let host = HeaderValue::from_str(uri.authority().context("no host")?.as_str())?;
    let path: Uri = uri.path().parse()?;
    let mut sender = connect(&uri).await?;
    let mut times = Times::default();
    while quota.take() {
        let mut body = br#"{"model":"bench","#.to_vec();
        if stream {
            body.extend_from_slice(br#""stream":true,"#);
        }
        body.extend_from_slice(br#""messages":["#);
        for (index, line) in LINES.into_iter().enumerate() {
            if index > 0 {
                body.push(b',');
            }
            push(&mut body, "user", line)?;
            let began = Instant::now();
            let sent = [body.as_slice(), b"]}"].concat();
            let mut request = Request::new(Full::new(Bytes::from(sent)));
            *request.method_mut() = Method::POST;
            *request.uri_mut() = path.clone();
            request.headers_mut().insert(HOST, host.clone());
            request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            sender.ready().await?;
            let answer = sender.send_request(request).await?;
            anyhow::ensure!(answer.status().is_success(), "status {}", answer.status());
            let mut answer = answer.into_body();
            let text = if stream {
                let mut events = Events::default();
                while let Some(frame) = answer.frame().await {
                    let before = events.text.len();
                    events.feed(frame?.data_ref().map_or(&[], |bytes| bytes))?;
                    if before == 0 && !events.text.is_empty() {
                        times.first_token.push(began.elapsed());
                    }
                }
                events.text
            } else {
                read(&answer.collect().await?.to_bytes())?
            };
            times.whole.push(began.elapsed());
            check(&text, index + 1)?;
            body.push(b',');
            push(&mut body, "assistant", &text)?;
        }
    }
    Ok(times)
}

async fn connect(uri: &Uri) -> anyhow::Result<SendRequest<Full<Bytes>>> {
    let stream = tokio::net::TcpStream::connect(uri.authority().context("no host")?.as_str()).await?;
    stream.set_nodelay(true)?;
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(async move {
        // Its error is also the error of the request.
        let _ = connection.await;
    });
    Ok(sender)
}

fn push(body: &mut Vec<u8>, role: &str, text: &str) -> serde_json::Result<()> {
    body.extend_from_slice(br#"{"role":""#);
    body.extend_from_slice(role.as_bytes());
    body.extend_from_slice(br#"","content":"#);
    serde_json::to_writer(&mut *body, text)?;
    body.push(b'}');
    Ok(())
}
