//! Calls one endpoint over HTTP: a request out, a reply or a classified error back.

pub(crate) mod streamed;

use std::{sync::Arc, time::Duration};

use ::http::{
    Method,
    header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue},
    uri::InvalidUri,
};
use async_trait::async_trait;
use secrecy::SecretString;
use serde_json::{Map, Value};
use tokio::time::Instant;
use url::Url;

use crate::{
    Context, Error, Message, Timing,
    bedrock::sign::Signer,
    by_tool,
    call::{Call, Named},
    chat::{self, Reply, Request},
    credential::Credential,
    dialect::{Dialect, Manner, SchemaMode},
    gather::{Gather, Trouble},
    http::{
        self, Answer, RequestLine, Sender,
        answer::MOST_BODY_BYTES,
        connections::add_host,
        frames::{AMAZON, SSE},
        headers,
        sender::{Outgoing, Unusable, add_usual, outgoing},
        trust, windows,
    },
    json,
    measure::{Embed, Moderate},
    openai::measure,
    unsupported,
};

/// The resolved settings of a client.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) dialect: Arc<dyn Dialect>,
    /// The URL for chats, including path and query.
    pub(crate) url: Url,
    /// Whether the server also has addresses for embeddings and moderations, as OpenAI's does.
    pub(crate) measures: bool,
    /// Empty for servers that have but one.
    pub(crate) model: String,
    /// Sent with every call; those with a key are marked as sensitive.
    pub(crate) headers: HeaderMap,
    /// The keys in them, to be struck from all that a server says.
    pub(crate) keys: Vec<SecretString>,
    /// A key that changes while gabfest runs.
    pub(crate) credential: Option<Credential>,
    /// Signs each call instead of a key.
    pub(crate) signer: Option<Signer>,
    pub(crate) stream: bool,
    /// The time limit for connecting; a layer around this client limits the whole call.
    pub(crate) connect_within: Duration,
    pub(crate) schema_mode: SchemaMode,
    /// The name of the token cap.
    pub(crate) max_tokens_key: String,
    /// Added to each body, replacing existing values; `null` removes a parameter.
    pub(crate) params: Map<String, Value>,
    /// Whether also others than agents get the headers that describe a call.
    pub(crate) trace: bool,
    /// The name of the system message's role.
    pub(crate) system_role: &'static str,
    /// Whether the model sees images.
    pub(crate) images: bool,
    /// See [`crate::Receipt::asked_with`].
    pub(crate) asked_with: Arc<str>,
}

/// A server of chats.
#[derive(Debug)]
pub(crate) struct Client {
    sender: Sender,
    dialect: Arc<dyn Dialect>,
    chats: RequestLine,
    /// `None` where the dialect has none.
    embeddings: Option<RequestLine>,
    moderations: Option<RequestLine>,
    model: String,
    headers: HeaderMap,
    /// The same with places for those that describe a call.
    described: HeaderMap,
    signer: Option<Signer>,
    stream: bool,
    schema_mode: SchemaMode,
    max_tokens_key: String,
    params: Map<String, Value>,
    trace: bool,
    system_role: &'static str,
    images: bool,
    asked_with: Arc<str>,
}

impl Client {
    /// Needs a default crypto provider of rustls, which the binary installs first of all.
    pub(crate) fn new(name: impl Into<String>, settings: Settings) -> Result<Self, Unusable> {
        if settings.url.scheme() == "https" {
            // Before the first connection, whose first call would wait for it.
            trust::read()?;
        }
        let sender = Sender::new(name, settings.keys, settings.connect_within).with_keys(settings.credential);
        let mut headers = settings.headers;
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        settings.dialect.headers(&mut headers);
        let chats = post(&settings.url)?;
        add_usual(&mut headers);
        add_host(&mut headers, &chats.uri);
        headers.insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
        let mut described = headers.clone();
        headers::reserve(&mut described);
        let beside = |address: Url| settings.measures.then(|| post(&address)).transpose();
        let embeddings = beside(measure::address::<Embed>(&settings.url))?;
        let moderations = beside(measure::address::<Moderate>(&settings.url))?;
        Ok(Self {
            sender,
            dialect: settings.dialect,
            chats,
            embeddings,
            moderations,
            model: settings.model,
            headers,
            described,
            signer: settings.signer,
            stream: settings.stream,
            schema_mode: settings.schema_mode,
            max_tokens_key: settings.max_tokens_key,
            params: settings.params,
            trace: settings.trace,
            system_role: settings.system_role,
            images: settings.images,
            asked_with: settings.asked_with,
        })
    }

    async fn chat(&self, request: &Request) -> Result<Reply, Error> {
        if self.schema_mode == SchemaMode::Tool
            && let Some(asked) = by_tool::request(request, || self.dialect.force_tool(by_tool::NAME))
        {
            return Box::pin(self.converse(&asked)).await.map(by_tool::reply);
        }
        self.converse(request).await
    }

    async fn converse(&self, request: &Request) -> Result<Reply, Error> {
        if !self.images && request.context.role != headers::AGENT && request.messages.iter().any(Message::has_images) {
            return Err(self.unwritable(NO_IMAGES.to_owned()));
        }
        if let Some(message) = self.dialect.cannot_carry(request) {
            return Err(self.unwritable(message));
        }
        let body = || self.dialect.body(request, self.manner());
        // No variable here keeps room for the answer while the call waits for it: thousands wait at once.
        let reply = match self.post(&self.chats, &request.context, body).await {
            Ok(answer) => self.reply(answer, request),
            Err(error) => return Err(error),
        };
        reply.await
    }

    /// Reads the rest of an answer.
    #[expect(clippy::manual_async_fn, reason = "a block holds what it is given once, an `async fn` twice")]
    fn reply<'a>(
        &'a self,
        mut answer: Answer,
        request: &'a Request,
    ) -> impl Future<Output = Result<Reply, Error>> + 'a {
        async move {
            let mut reply = match Kind::of(&answer, self.stream) {
                Kind::Json => self.hear_whole(&mut answer, request).await?,
                Kind::Events => {
                    let heard = streamed::hear(Arc::clone(&self.dialect), answer).await;
                    answer = heard.answer;
                    self.streamed(heard.gather, heard.outcome, &answer, request)?
                }
                Kind::Other(kind) => return Err(self.of_kind(&mut answer, &kind).await),
            };
            reply.receipt.asked_with = Some(Arc::clone(&self.asked_with));
            reply.receipt.timing.connect = answer.connect();
            reply.receipt.used_up_for = windows::used_up(answer.headers());
            reply.receipt.windows = windows::reported(answer.headers());
            Ok(reply)
        }
    }

    async fn measure<M: measure::Served>(
        &self,
        place: Option<&RequestLine>,
        request: &crate::measure::Request<M>,
    ) -> Result<crate::measure::Reply<M::Value>, Error> {
        let place = place.ok_or_else(|| self.unwritable(NO_MEASURES.to_owned()))?;
        let body = || measure::body(request, &self.model, &self.params);
        let mut answer = self.post(place, &request.context, body).await?;
        match Kind::of(&answer, false) {
            Kind::Json => {}
            Kind::Events => return Err(self.of_kind(&mut answer, SSE).await),
            Kind::Other(kind) => return Err(self.of_kind(&mut answer, &kind).await),
        }
        let body = self.whole(&mut answer).await?;
        let ended = Instant::now();
        let mut reply = measure::read(request, &self.model, &body)
            .map_err(|trouble| self.trouble(answer.place(), trouble, &body))?;
        reply.receipt.timing = Timing { total: ended - answer.sent(), connect: answer.connect(), ..Timing::default() };
        Ok(reply)
    }

    /// The head of a successful answer. `body` builds a new body for each time that it is sent.
    #[expect(clippy::manual_async_fn, reason = "a block holds what it is given once, an `async fn` twice")]
    fn post<'a>(
        &'a self,
        place: &'a RequestLine,
        context: &'a Context,
        body: impl Fn() -> Vec<u8> + Send + Sync + 'a,
    ) -> impl Future<Output = Result<Answer, Error>> + Send + 'a {
        async move {
            let mut answer = self.sender.execute(place, &|| self.outgoing(place, context, body())).await?;
            if answer.is_success() {
                return Ok(answer);
            }
            let (text, _) = answer.body(MOST_BODY_BYTES).await;
            Err(self.unsupported(&body(), &answer, &text).unwrap_or_else(|| self.sender.rejected(&answer, &text)))
        }
    }

    fn outgoing(&self, place: &RequestLine, context: &Context, body: Vec<u8>) -> Outgoing {
        let mut headers = if self.trace || context.role == headers::AGENT {
            let mut described = self.described.clone();
            headers::write(context, &mut described);
            described
        } else {
            self.headers.clone()
        };
        headers.insert(CONTENT_LENGTH, body.len().into());
        if let Some(signer) = &self.signer {
            signer.sign(place.method.as_str(), &place.uri, &mut headers, &body);
        }
        outgoing(place.method.clone(), headers, body.into())
    }

    fn manner(&self) -> Manner<'_> {
        Manner {
            model: &self.model,
            stream: self.stream,
            schema_mode: self.schema_mode,
            max_tokens_key: &self.max_tokens_key,
            params: &self.params,
            system_role: self.system_role,
        }
    }

    fn unwritable(&self, message: String) -> Error {
        Error::Unwritable { endpoint: self.sender.name().to_owned(), message }
    }

    /// The error for an answer that refuses a parameter of the call.
    fn unsupported(&self, sent: &[u8], answer: &Answer, body: &[u8]) -> Option<Error> {
        let sent: Map<String, Value> = serde_json::from_slice(sent).ok()?;
        let parameter = unsupported::parameter(answer.status(), body, &sent, self.dialect.groups())?;
        let hint = match self.dialect.mend(&parameter, self.schema_mode) {
            Some(line) => format!("write `{line}` for this endpoint in gabfest.yaml"),
            None => format!("choose a model that takes `{parameter}`, or leave it out of the agent"),
        };
        let endpoint = self.sender.name().to_owned();
        let message = self.sender.explained(answer, body, Some(&hint));
        Some(Error::Unsupported { endpoint, parameter, message })
    }

    /// The error for an answer whose content type is not that of a reply.
    async fn of_kind(&self, answer: &mut Answer, kind: &str) -> Error {
        let (body, _) = answer.body(MOST_BODY_BYTES).await;
        self.sender.malformed(answer.place(), format!("its content type is {kind}"), &body)
    }

    /// The whole body, which holds something.
    async fn whole(&self, answer: &mut Answer) -> Result<Vec<u8>, Error> {
        let body = self.sender.whole(answer).await?;
        if body.is_empty() {
            return Err(self.sender.malformed(answer.place(), "the body is empty".to_owned(), &body));
        }
        Ok(body)
    }

    async fn hear_whole(&self, answer: &mut Answer, request: &Request) -> Result<Reply, Error> {
        let body = self.whole(answer).await?;
        let ended = Instant::now();
        json::check(&body).map_err(|error| self.sender.malformed(answer.place(), error.to_string(), &body))?;
        let mut gather = Gather::default();
        gather
            .take(ended, |gather| self.dialect.whole(&body, gather))
            .and_then(|()| gather.finish(request, &self.model, answer.sent(), ended, false))
            .map_err(|trouble| self.trouble(answer.place(), trouble, &body))
    }

    /// The reply of a stream that ended as `outcome` says.
    fn streamed(
        &self,
        gather: Gather,
        outcome: Result<Instant, Trouble>,
        answer: &Answer,
        request: &Request,
    ) -> Result<Reply, Error> {
        match outcome {
            Ok(ended) => gather
                .finish(request, &self.model, answer.sent(), ended, true)
                .map_err(|trouble| self.trouble(answer.place(), trouble, b"")),
            Err(trouble) => Err(self.trouble(answer.place(), trouble, gather.text.as_bytes())),
        }
    }

    fn trouble(&self, place: &RequestLine, trouble: Trouble, partial: &[u8]) -> Error {
        match trouble {
            Trouble::Malformed(message) => self.sender.malformed(place, message, partial),
            Trouble::Exhausted(message) => {
                Error::Exhausted { endpoint: self.sender.name().to_owned(), message: self.sender.hide(message) }
            }
            Trouble::Status(status, message) => self.sender.failed_within(place, status, &message),
        }
    }
}

impl Named for Client {
    fn endpoint(&self) -> &str {
        self.sender.name()
    }

    fn name(&self) -> &str {
        &self.model
    }

    fn place(&self) -> String {
        self.chats.to_string()
    }
}

#[async_trait]
impl Call<chat::Request> for Client {
    async fn ask(&self, request: &Request) -> Result<Reply, Error> {
        self.chat(request).await
    }
}

#[async_trait]
impl Call<crate::measure::Request<Embed>> for Client {
    async fn ask(
        &self,
        request: &crate::measure::Request<Embed>,
    ) -> Result<crate::measure::Reply<Vec<Vec<f32>>>, Error> {
        self.measure(self.embeddings.as_ref(), request).await
    }
}

#[async_trait]
impl Call<crate::measure::Request<Moderate>> for Client {
    async fn ask(
        &self,
        request: &crate::measure::Request<Moderate>,
    ) -> Result<crate::measure::Reply<Vec<(String, f64)>>, Error> {
        self.measure(self.moderations.as_ref(), request).await
    }
}

fn post(url: &Url) -> Result<RequestLine, InvalidUri> {
    Ok(RequestLine { method: Method::POST, uri: http::sender::uri(url)? })
}

const NO_MEASURES: &str =
    "its kind has chats only; hint: name an endpoint of kind `openai` or `mock` for embeddings and moderations";
const NO_IMAGES: &str = "the conversation has images, which the endpoint is not said to see; hint: write `images: true` if its model sees images";

/// What kind of answer the server sent.
enum Kind {
    Json,
    Events,
    Other(String),
}

impl Kind {
    /// A server that ignores `stream`, or always streams, is understood. Without a content type, the answer is assumed
    /// to match the request.
    fn of(answer: &Answer, stream: bool) -> Self {
        let Some(kind) = answer.media_type() else {
            return if stream { Self::Events } else { Self::Json };
        };
        match kind.as_str() {
            SSE | AMAZON => Self::Events,
            "application/json" => Self::Json,
            json if json.ends_with("+json") => Self::Json,
            _ => Self::Other(kind),
        }
    }
}
