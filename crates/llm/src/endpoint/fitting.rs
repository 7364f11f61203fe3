//! The context window: a call that cannot fit fails here with a clear error instead of a provider's 400.

use async_trait::async_trait;

use crate::{
    Error,
    call::{Call, Failed, Named},
    chat::{Reply, Request},
    estimate,
};

/// Outside of limits and retries: a call that is too long does not wait and is not retried.
#[derive(Debug)]
pub(super) struct Fitting<C> {
    inner: C,
    context_tokens: u32,
}

impl<C> Fitting<C> {
    pub(super) fn new(inner: C, context_tokens: u32) -> Self {
        Self { inner, context_tokens }
    }
}

impl<C: Named> Fitting<C> {
    fn misfit(&self, request: &Request) -> Option<Error> {
        let input = estimate::most_input(request);
        let reply = u64::from(request.max_tokens.unwrap_or_default());
        (input.saturating_add(reply) > u64::from(self.context_tokens)).then(|| Error::Unwritable {
            endpoint: self.endpoint().to_owned(),
            message: format!(
                "about {input} tokens of input and {reply} for the reply do not fit into its `context_tokens` of {}; \
                 hint: shorten the conversation, lower the limit of the reply, or raise `context_tokens` if the model has more",
                self.context_tokens
            ),
        })
    }
}

impl<C: Named> Named for Fitting<C> {
    fn endpoint(&self) -> &str {
        self.inner.endpoint()
    }

    fn name(&self) -> &str {
        self.inner.name()
    }

    fn most_input_bytes(&self, max_tokens: Option<u32>) -> Option<u64> {
        Some(estimate::bytes_of_tokens(u64::from(self.context_tokens.saturating_sub(max_tokens.unwrap_or_default()))))
    }
}

#[async_trait]
impl<C: Call<Request>> Call<Request> for Fitting<C> {
    async fn ask(&self, request: &Request) -> Result<Reply, Error> {
        self.call(request).await.map_err(|failed| failed.error)
    }

    async fn call(&self, request: &Request) -> Result<Reply, Failed> {
        match self.misfit(request) {
            Some(error) => Err(Failed::once(error)),
            None => self.inner.call(request).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::{
        Error, Failed, Message,
        chat::Request,
        endpoint::{Endpoint, Settings},
        retry::Policy,
    };

    #[tokio::test]
    async fn a_call_that_cannot_fit_is_never_sent() {
        // Each message counts 16 bytes in addition to its text; three bytes are a token.
        let rows = [
            (284, Some(900), json!({ "context_tokens": 1_000 }), true),
            (285, Some(900), json!({ "context_tokens": 1_000 }), false),
            (284, Some(901), json!({ "context_tokens": 1_000 }), false),
            (2_984, None, json!({ "context_tokens": 1_000 }), true),
            (2_985, None, json!({ "context_tokens": 1_000 }), false),
            (9_000_000, Some(9_000), json!({}), true),
        ];
        for (bytes, max_tokens, settings, fits) in rows {
            let mut settings: Settings = serde_json::from_value(settings).expect("settings");
            settings.kind = crate::endpoint::Kind::Mock;
            let model = Endpoint::open("judge", &settings).expect("opens").chat(Policy::model());
            let mut request =
                Request { messages: vec![Message::user("x".repeat(bytes))], max_tokens, ..Request::default() };
            request.context.role = "agent".to_owned();
            let answer = model.call(&request).await;
            assert_eq!(answer.is_ok(), fits, "{bytes} {max_tokens:?} {answer:?}");
            if let Err(Failed { error, effort }) = answer {
                assert!(error.is_of_settings() && !error.may_have_been_charged() && effort.tries == 0, "{error:?}");
                let message = error.to_string();
                assert!(message.contains("judge") && message.contains("`context_tokens` of 1000"), "{message}");
                assert!(matches!(error, Error::Unwritable { .. }));
            }
        }
    }

    #[test]
    fn the_room_for_input_is_the_window_without_reply_and_reserve() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let rows = [
            (json!({}), Some(500), None),
            (json!({ "context_tokens": 1_000 }), Some(400), Some(1_800)),
            (json!({ "context_tokens": 1_000 }), None, Some(3_000)),
            (json!({ "context_tokens": 1_000 }), Some(4_000), Some(0)),
            (json!({ "context_tokens": 1_000, "reasoning_reserve": 300 }), Some(400), Some(900)),
            (json!({ "context_tokens": 1_000, "params": { "max_tokens": 700 } }), Some(400), Some(900)),
        ];
        for (value, max_tokens, expected) in rows {
            let mut settings: Settings = serde_json::from_value(value.clone()).expect("settings");
            settings.url = Some("http://127.0.0.1:9".to_owned());
            let model = Endpoint::open("judge", &settings).expect("opens").chat(Policy::model());
            assert_eq!(model.most_input_bytes(max_tokens), expected, "{value}");
        }
    }

    #[test]
    fn an_image_counts_as_an_image_and_not_as_its_bytes() {
        let image = format!("data:image/png;base64,{}", "A".repeat(400_000));
        let message = Message { images: vec![image.clone(), image], ..Message::user("x".repeat(284)) };
        let request = Request { messages: vec![message], ..Request::default() };
        assert_eq!(crate::estimate::most_input(&request), 100 + 2_000);
    }

    #[test]
    fn a_window_that_replies_fill_is_refused_with_the_settings() {
        for (value, says) in [
            (
                json!({ "url": "http://h", "context_tokens": 4_096, "reasoning_reserve": 4_096 }),
                "beside reasoning_reserve 4096",
            ),
            (
                json!({ "url": "http://h", "context_tokens": 500, "params": { "max_tokens": 600 } }),
                "beside a limit in params of 600",
            ),
        ] {
            let settings: Settings = serde_json::from_value(value).expect("settings");
            let (key, reason) = settings.fault().expect("a fault");
            assert!(key == "context_tokens" && reason.contains(says), "{key} {reason}");
        }
    }
}
