//! Judges and agents that do as a test says.

use async_trait::async_trait;
use gabfest::expect::{Agent, Conversation, Error, Judge, Reply, llm};
use serde_json::json;

/// A judge that accepts a text if one of these words is in the question.
#[derive(Debug)]
pub(crate) struct Finds(pub(crate) &'static [&'static str]);

impl llm::Named for Finds {
    fn endpoint(&self) -> &str {
        "finds"
    }
}

#[async_trait]
impl llm::Call<llm::chat::Request> for Finds {
    async fn ask(&self, request: &llm::chat::Request) -> Result<llm::chat::Reply, llm::Error> {
        let asked = request.messages.last().map_or("", |message| message.content.as_str());
        let yes = self.0.iter().any(|words| asked.contains(words));
        let reasoning = if yes { "it does" } else { "it names no hour" };
        let judgment = if yes { "yes" } else { "no" };
        let text = json!({ "reasoning": reasoning, "quotes": [], "judgment": judgment, "confidence": 1.0 }).to_string();
        Ok(llm::chat::Reply { text, ..llm::chat::Reply::default() })
    }
}

/// An agent that always answers the same.
pub(crate) fn saying(reply: impl Into<Reply>) -> Agent {
    let reply: Reply = reply.into();
    Agent::from_fn(move |_| {
        let reply = reply.clone();
        async move { Ok(reply) }
    })
}

/// Whether it passes with a judge that says no to everything.
pub(crate) async fn passes(conversation: Conversation, agent: Agent) -> Result<(), String> {
    match conversation.against(agent).judge(Judge::model(Finds(&[]))).try_run().await {
        Ok(outcome) => {
            assert!(!outcome.is_skipped());
            Ok(())
        }
        Err(Error::Failed(report)) => Err(report.to_string()),
        Err(other) => panic!("{other}"),
    }
}
