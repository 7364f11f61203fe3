//! Measurements of texts: embeddings, moderation, the answer to a question, whether a reply follows.
//!
//! Each measurement is a type with its own kind of value, so a model cannot get a request for something that it does
//! not measure.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    call::{self, Call},
    context::Context,
    message,
    receipt::Receipt,
};

/// A model that makes one kind of measurement, with or without layers.
pub trait Measures<M: Measurement>: Call<Request<M>> {}

impl<M: Measurement, C: Call<Request<M>>> Measures<M> for C {}

/// A measurement of some texts.
pub trait Measurement: Clone + fmt::Debug + Send + Sync + 'static {
    /// What it is called in recordings.
    const NAME: &'static str;

    type Value: fmt::Debug + Send + Sync + 'static;

    fn texts(&self) -> Vec<&str>;
}

/// A vector for each text, all of one length: texts with similar meanings have near vectors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Embed {
    pub texts: Vec<String>,
}

/// The probability of each category of harm, 0 to 1, by its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Moderate {
    pub text: String,
}

/// The part of the context that answers the question; empty if no part does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Extract {
    pub question: String,
    pub context: String,
}

/// How well the reply follows the context, as log-odds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Follow {
    pub context: String,
    pub reply: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Request<M> {
    pub of: M,
    pub seed: Option<u64>,
    /// See [`call::Request::timeout`].
    pub timeout: Option<Duration>,
    pub context: Context,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reply<V> {
    pub value: V,
    pub receipt: Receipt,
}

impl Measurement for Embed {
    const NAME: &'static str = "embed";

    type Value = Vec<Vec<f32>>;

    fn texts(&self) -> Vec<&str> {
        self.texts.iter().map(String::as_str).collect()
    }
}

impl Measurement for Moderate {
    const NAME: &'static str = "moderate";

    type Value = Vec<(String, f64)>;

    fn texts(&self) -> Vec<&str> {
        vec![&self.text]
    }
}

impl Measurement for Extract {
    const NAME: &'static str = "extract";

    type Value = String;

    fn texts(&self) -> Vec<&str> {
        vec![&self.question, &self.context]
    }
}

impl Measurement for Follow {
    const NAME: &'static str = "follow";

    type Value = f64;

    fn texts(&self) -> Vec<&str> {
        vec![&self.context, &self.reply]
    }
}

impl<M: Measurement> Request<M> {
    #[must_use]
    pub fn new(of: M) -> Self {
        Self { of, seed: None, timeout: None, context: Context::default() }
    }
}

impl<M: Measurement> call::Request for Request<M> {
    type Reply = Reply<M::Value>;

    fn context(&self) -> &Context {
        &self.context
    }

    fn seed(&self) -> Option<u64> {
        self.seed
    }

    fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    fn again(&self, try_number: u32, timeout: Option<Duration>) -> Self {
        let mut again = Self { timeout, ..self.clone() };
        again.context.try_number = try_number;
        again
    }

    fn input_bytes(&self) -> u64 {
        self.of.texts().into_iter().map(message::text_bytes).sum()
    }

    /// A measurement writes no text, so limits and prices reserve nothing for it.
    fn max_output_tokens(&self) -> Option<u32> {
        Some(0)
    }
}

impl<V: fmt::Debug + Send + Sync + 'static> call::Reply for Reply<V> {
    fn receipt(&self) -> &Receipt {
        &self.receipt
    }

    fn receipt_mut(&mut self) -> &mut Receipt {
        &mut self.receipt
    }
}
