//! A BERT model read from its folder: configuration, tokenizer and weights.

use std::{fs, path::Path};

use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::bert::{BertModel, Config};
use serde_json::Value;
use tokenizers::{Encoding, PaddingParams, Tokenizer, TruncationParams};

use crate::{catalogue::FILES, error::Error};

/// The limit of each number in `config.json`: the largest BERT has a hundredth of it, and a file must not claim all
/// memory.
const MOST: usize = 1 << 20;

pub(crate) struct Bert {
    encoder: BertModel,
    pub(crate) tokenizer: Tokenizer,
    pub(crate) hidden_size: usize,
    /// The tokens of one input, including the special tokens at its ends.
    pub(crate) window: usize,
    /// The names of a classifier's classes, in order.
    pub(crate) labels: Vec<String>,
}

/// The tensors of a model, for building heads; the encoder's own may be under `bert`.
pub(crate) type Weights = VarBuilder<'static>;

impl Bert {
    /// Reads a whole model into memory, and cuts inputs at `window` tokens or at the model's limit.
    pub(crate) fn open(folder: &Path, window: usize) -> Result<(Self, Weights), Error> {
        let read = |file: &str| {
            fs::read(folder.join(file)).map_err(|error| Error::Unusable(format!("{file} cannot be read: {error}")))
        };
        let unusable = |file: &str, error: String| Error::Unusable(format!("{file}: {error}"));
        let bytes = read(FILES[0])?;
        let config: Config = serde_json::from_slice(&bytes).map_err(|error| unusable(FILES[0], error.to_string()))?;
        check(&config).map_err(|fault| unusable(FILES[0], fault.to_owned()))?;
        let written: Value = serde_json::from_slice(&bytes).map_err(|error| unusable(FILES[0], error.to_string()))?;
        let mut tokenizer =
            Tokenizer::from_bytes(read(FILES[1])?).map_err(|error| unusable(FILES[1], error.to_string()))?;
        let window = window.min(config.max_position_embeddings);
        let truncation = TruncationParams { max_length: window, ..TruncationParams::default() };
        tokenizer.with_truncation(Some(truncation)).map_err(|error| unusable(FILES[1], error.to_string()))?;
        let pad_id = u32::try_from(config.pad_token_id).unwrap_or_default();
        tokenizer.with_padding(Some(PaddingParams { pad_id, ..PaddingParams::default() }));
        let weights = VarBuilder::from_buffered_safetensors(read(FILES[2])?, DType::F32, &Device::Cpu)?;
        let encoder = BertModel::load(below(&weights), &config)?;
        let (hidden_size, labels) = (config.hidden_size, labels(&written));
        Ok((Self { encoder, tokenizer, hidden_size, window, labels }, weights))
    }

    /// The encoder's output for each token: (texts, tokens, hidden size); and the mask of the tokens that are not
    /// padding.
    pub(crate) fn encode(&self, inputs: &[Encoding]) -> Result<(Tensor, Tensor), Error> {
        let tensor = |of: fn(&Encoding) -> &[u32]| {
            let rows: Vec<Vec<u32>> = inputs.iter().map(|input| of(input).to_vec()).collect();
            Tensor::new(rows, &Device::Cpu)
        };
        let ids = tensor(Encoding::get_ids)?;
        let types = tensor(Encoding::get_type_ids)?;
        let mask = tensor(Encoding::get_attention_mask)?;
        Ok((self.encoder.forward(&ids, &types, Some(&mask))?, mask))
    }
}

/// How many tokens of the inputs are no padding.
pub(crate) fn tokens(inputs: &[Encoding]) -> u64 {
    inputs.iter().flat_map(Encoding::get_attention_mask).map(|mask| u64::from(*mask)).sum()
}

/// Models with a head keep the encoder under a name.
pub(crate) fn below(weights: &Weights) -> Weights {
    let named = weights.contains_tensor("bert.embeddings.word_embeddings.weight");
    if named { weights.pp("bert") } else { weights.clone() }
}

fn check(config: &Config) -> Result<(), &'static str> {
    let numbers = [
        config.vocab_size,
        config.hidden_size,
        config.num_hidden_layers,
        config.num_attention_heads,
        config.intermediate_size,
        config.max_position_embeddings,
        config.type_vocab_size,
    ];
    if numbers.iter().any(|number| !(1..=MOST).contains(number)) {
        return Err("a size that no BERT model has");
    }
    if !config.hidden_size.is_multiple_of(config.num_attention_heads) {
        return Err("the hidden size cannot be shared among the attention heads");
    }
    // Room for the special tokens at the ends of an input, and something between.
    if config.max_position_embeddings < 8 { Err("a window of less than 8 tokens") } else { Ok(()) }
}

/// `id2label`, in the order of its numbers.
fn labels(config: &Value) -> Vec<String> {
    let names = config.get("id2label").and_then(Value::as_object);
    (0..names.map_or(0, serde_json::Map::len))
        .map_while(|id| Some(names?.get(&id.to_string())?.as_str()?.to_owned()))
        .collect()
}
