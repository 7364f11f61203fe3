//! A BERT of a few hundred numbers with known output: the encoder's result for a token is the token's own embedding,
//! normalised, because all its layers add nothing.

use std::{collections::HashMap, fs, path::Path};

use candle_core::{Device, Tensor};
use embed::Shelf;
use serde_json::json;

const HIDDEN: usize = 4;
const WINDOW: usize = 32;
const WORDS: [&str; 12] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "who", "are", "you", "i", "am", "ada", "hello", "there"];

/// A head's tensors by name: (shape, numbers).
pub(crate) type Head = Vec<(&'static str, Vec<usize>, Vec<f32>)>;

/// A shelf with the model `tiny`, which has this head and these labels.
pub(crate) fn shelf(place: &Path, head: Head, labels: &[&str]) -> Shelf {
    let shelf = Shelf::new(place);
    let folder = shelf.place("tiny").unwrap();
    fs::create_dir_all(&folder).unwrap();
    let id2label: serde_json::Map<_, _> =
        labels.iter().enumerate().map(|(id, label)| (id.to_string(), json!(label))).collect();
    let config = json!({
        "model_type": "bert", "vocab_size": WORDS.len(), "hidden_size": HIDDEN, "num_hidden_layers": 1,
        "num_attention_heads": 2, "intermediate_size": 4, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
        "max_position_embeddings": WINDOW, "type_vocab_size": 2, "initializer_range": 0.02,
        "layer_norm_eps": 1e-12, "pad_token_id": 0, "id2label": id2label,
    });
    fs::write(folder.join("config.json"), config.to_string()).unwrap();
    fs::write(folder.join("tokenizer.json"), tokenizer().to_string()).unwrap();
    candle_core::safetensors::save(&tensors(head), folder.join("model.safetensors")).unwrap();
    shelf
}

fn tokenizer() -> serde_json::Value {
    let vocabulary: serde_json::Map<_, _> =
        WORDS.iter().enumerate().map(|(id, word)| ((*word).to_owned(), json!(id))).collect();
    let special = |id: usize| json!({ "id": WORDS[id], "ids": [id], "tokens": [WORDS[id]] });
    let mark = |id: usize, sequence: u32| json!({ "SpecialToken": { "id": WORDS[id], "type_id": sequence } });
    let text = |name: &str, sequence: u32| json!({ "Sequence": { "id": name, "type_id": sequence } });
    json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "decoder": null,
        "normalizer": {
            "type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null,
            "lowercase": true,
        },
        "pre_tokenizer": { "type": "BertPreTokenizer" },
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [mark(2, 0), text("A", 0), mark(3, 0)],
            "pair": [mark(2, 0), text("A", 0), mark(3, 0), text("B", 1), mark(3, 1)],
            "special_tokens": { "[CLS]": special(2), "[SEP]": special(3) },
        },
        "model": {
            "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": vocabulary,
        },
    })
}

/// `ada` points in one direction, every other word in another.
fn tensors(head: Head) -> HashMap<String, Tensor> {
    let mut tensors = HashMap::new();
    let mut put = |name: &str, shape: &[usize], numbers: Vec<f32>| {
        let tensor = Tensor::from_vec(numbers, shape, &Device::Cpu).unwrap();
        tensors.insert(name.to_owned(), tensor);
    };
    let words =
        WORDS.iter().flat_map(|word| if *word == "ada" { [1.0, -1.0, 0.0, 0.0] } else { [0.0, 0.0, 1.0, -1.0] });
    put("bert.embeddings.word_embeddings.weight", &[WORDS.len(), HIDDEN], words.collect());
    put("bert.embeddings.position_embeddings.weight", &[WINDOW, HIDDEN], vec![0.0; WINDOW * HIDDEN]);
    put("bert.embeddings.token_type_embeddings.weight", &[2, HIDDEN], vec![0.0; 2 * HIDDEN]);
    let layer = "bert.encoder.layer.0";
    for name in ["bert.embeddings", &format!("{layer}.attention.output"), &format!("{layer}.output")] {
        put(&format!("{name}.LayerNorm.weight"), &[HIDDEN], vec![1.0; HIDDEN]);
        put(&format!("{name}.LayerNorm.bias"), &[HIDDEN], vec![0.0; HIDDEN]);
    }
    let silent = [
        "attention.self.query",
        "attention.self.key",
        "attention.self.value",
        "attention.output.dense",
        "intermediate.dense",
        "output.dense",
    ];
    for name in silent {
        put(&format!("{layer}.{name}.weight"), &[HIDDEN, HIDDEN], vec![0.0; HIDDEN * HIDDEN]);
        put(&format!("{layer}.{name}.bias"), &[HIDDEN], vec![0.0; HIDDEN]);
    }
    put("bert.pooler.dense.weight", &[HIDDEN, HIDDEN], vec![0.0; HIDDEN * HIDDEN]);
    put("bert.pooler.dense.bias", &[HIDDEN], vec![0.0; HIDDEN]);
    for (name, shape, numbers) in head {
        put(name, &shape, numbers);
    }
    tensors
}
