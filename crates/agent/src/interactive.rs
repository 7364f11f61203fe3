//! An agent that is a person at the terminal: one conversation after another, line by line.

use std::{
    io::{self, IsTerminal as _, Write as _},
    sync::Arc,
};

use async_trait::async_trait;
use llm::{Call, MessageRole, Named, Receipt, Timing};
use record::FailureKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::{
    sync::{Mutex, mpsc},
    time::Instant,
};

use crate::{
    Error, Start,
    connection::{Connection, unanswered},
    request::Request,
    response::Response,
    section::{Connecting, Section},
    surroundings::Surroundings,
};

pub use crate::terminal::Terminal;

const NO_TERMINAL: &str = "there is none here";

/// It has no settings.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Settings {}

/// People take their time.
const USUAL_TIMEOUT_MS: u64 = 600_000;

impl Section for Settings {
    fn name(&self) -> &'static str {
        "interactive"
    }

    fn usual_timeout_ms(&self) -> u64 {
        USUAL_TIMEOUT_MS
    }

    fn connect(&self, name: &str, surroundings: &Surroundings) -> Connecting {
        Ok(Box::new(Interactive::new(name, surroundings.terminal.clone(), surroundings.slots)))
    }
}

/// The terminal that gabfest was started from. Prompts go to stderr, because stdout is for data.
#[derive(Debug, Default)]
pub struct OwnTerminal(Mutex<Option<mpsc::Receiver<io::Result<String>>>>);

#[derive(Debug)]
pub(crate) struct Interactive {
    name: String,
    terminal: Option<Arc<dyn Terminal>>,
    slots: u32,
}

#[derive(Debug)]
struct Conversation {
    name: String,
    terminal: Arc<dyn Terminal>,
}

impl OwnTerminal {
    /// `None` if stdin or stderr is not a terminal.
    #[must_use]
    pub fn find() -> Option<Arc<dyn Terminal>> {
        let is_there = io::stdin().is_terminal() && io::stderr().is_terminal();
        is_there.then(|| Arc::new(Self::default()) as _)
    }
}

#[async_trait]
impl Terminal for OwnTerminal {
    async fn ask(&self, shown: &str) -> io::Result<Option<String>> {
        let mut lines = self.0.lock().await;
        io::stderr().lock().write_all(record::visible::text(shown).as_bytes())?;
        // Stdin is not read until the first question: other agents do not use it.
        lines.get_or_insert_with(read_lines).recv().await.transpose()
    }
}

/// A dedicated thread: a blocking read in the runtime would delay the end of the program.
fn read_lines() -> mpsc::Receiver<io::Result<String>> {
    let (sender, receiver) = mpsc::channel(1);
    std::thread::spawn(move || io::stdin().lines().try_for_each(|line| sender.blocking_send(line)));
    receiver
}

impl Interactive {
    pub(crate) fn new(name: &str, terminal: Option<Arc<dyn Terminal>>, slots: u32) -> Self {
        Self { name: name.to_owned(), terminal, slots }
    }

    fn misfit(&self, reason: &str) -> String {
        format!("agent {} is a person at the terminal: {reason}", self.name)
    }
}

impl Connection for Interactive {
    fn open(&self, _: &Start) -> Result<Arc<dyn Call<Request>>, Error> {
        let Some(terminal) = &self.terminal else {
            return Err(Error::before(FailureKind::Misconfigured, self.misfit(NO_TERMINAL)));
        };
        Ok(Arc::new(Conversation { name: self.name.clone(), terminal: Arc::clone(terminal) }))
    }

    fn unready(&self) -> Option<String> {
        if self.slots != 1 {
            return Some(self.misfit("play one conversation at a time, with --slots 1"));
        }
        self.terminal.is_none().then(|| self.misfit(NO_TERMINAL))
    }

    fn takes_its_time(&self) -> bool {
        true
    }
}

impl Named for Conversation {
    fn endpoint(&self) -> &str {
        &self.name
    }
}

#[async_trait]
impl Call<Request> for Conversation {
    async fn ask(&self, request: &Request) -> Result<Response, llm::Error> {
        let new = &request.messages[unanswered(&request.messages)..];
        let mut shown = String::from("\n");
        if request.context.turn == 1 {
            shown.push_str(&format!("--- {} ---\n", plain(&request.context.scenario)));
        }
        for message in new {
            let who = if message.role == MessageRole::User { "user" } else { message.role.name() };
            shown.push_str(&format!("{who}: {}\n", plain(&message.content)));
        }
        shown.push_str("you> ");
        let sent = Instant::now();
        let failed = |message: String| llm::Error::Unreachable {
            endpoint: self.name.clone(),
            status: None,
            message,
            sent: true,
        };
        match self.terminal.ask(&shown).await {
            Ok(Some(text)) => {
                let timing = Timing { total: sent.elapsed(), ..Timing::default() };
                let receipt = Box::new(Receipt { timing, tries: 1, cost_nanos: Some(0), ..Receipt::default() });
                Ok(Response { text, receipt, ..Response::default() })
            }
            Ok(None) => Err(failed("the person at the terminal has gone".to_owned())),
            Err(error) => Err(failed(error.to_string())),
        }
    }
}

/// Removes what would move a terminal's cursor or change its colours.
fn plain(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control() || matches!(letter, '\n' | '\t')).collect()
}
