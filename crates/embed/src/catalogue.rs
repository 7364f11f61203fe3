//! The models that gabfest knows by name: their source, and the digests of their files.

/// The default source of models.
pub const HUB: &str = "https://huggingface.co";

/// The name of the sentence embeddings that `embedded` means.
pub const SENTENCES: &str = "all-MiniLM-L6-v2";

/// A model with known digests of its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    pub name: &'static str,
    /// For people: a description and the licence.
    pub about: &'static str,
    /// Below the hub's address, and above the names of the files.
    pub place: &'static str,
    pub files: [File; 3],
}

/// One file of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct File {
    pub name: &'static str,
    pub bytes: u64,
    /// In hexadecimal digits.
    pub sha256: &'static str,
}

/// The files of every model.
pub const FILES: [&str; 3] = ["config.json", "tokenizer.json", "model.safetensors"];

pub const KNOWN: [Known; 1] = [Known {
    name: SENTENCES,
    about: "sentence embeddings of 384 numbers, English, Apache-2.0",
    place: "sentence-transformers/all-MiniLM-L6-v2/resolve/main",
    files: [
        File { name: FILES[0], bytes: 612, sha256: "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41" },
        File {
            name: FILES[1],
            bytes: 466_247,
            sha256: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        },
        File {
            name: FILES[2],
            bytes: 90_868_376,
            sha256: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        },
    ],
}];

/// The known model of this name.
#[must_use]
pub fn known(name: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.name == name)
}
