//! Sentence embeddings: the mean over the tokens, scaled to length 1, as sentence-transformers make them.

use candle_core::DType;

use std::path::Path;

use crate::{
    bert::{Bert, tokens},
    error::Error,
};

/// About the length with which these models were trained; longer texts are cut.
const WINDOW: usize = 256;
/// Texts per batch: more would only take more memory.
const BATCH: usize = 32;

pub(crate) struct Sentences {
    bert: Bert,
}

impl Sentences {
    pub(crate) fn open(folder: &Path) -> Result<Self, Error> {
        Ok(Self { bert: Bert::open(folder, WINDOW)?.0 })
    }

    /// One vector for each text, in their order, and how many tokens all of them had.
    pub(crate) fn embed(&self, texts: &[String]) -> Result<(Vec<Vec<f32>>, u64), Error> {
        let (mut vectors, mut read) = (Vec::with_capacity(texts.len()), 0);
        for batch in texts.chunks(BATCH) {
            let inputs = self.bert.tokenizer.encode_batch(batch.to_vec(), true)?;
            read += tokens(&inputs);
            let (states, mask) = self.bert.encode(&inputs)?;
            let mask = mask.to_dtype(DType::F32)?.unsqueeze(2)?;
            let sums = states.broadcast_mul(&mask)?.sum(1)?;
            let means = sums.broadcast_div(&mask.sum(1)?)?;
            let lengths = means.sqr()?.sum_keepdim(1)?.sqrt()?;
            vectors.extend(means.broadcast_div(&lengths)?.to_vec2::<f32>()?);
        }
        Ok((vectors, read))
    }
}
