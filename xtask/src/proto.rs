//! Generates the Rust code of the protocol into a folder, without protoc.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use prost::Message as _;

/// The folder of the committed generated code.
pub(crate) fn checked_in() -> PathBuf {
    root().join("proto/src/generated")
}

pub(crate) fn generate(out: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(out)?;
    let proto = root().join("proto");
    let set = protox::compile(["gabfest/v1/gabfest.proto"], [&proto]).context("failed to compile the .proto file")?;
    std::fs::write(out.join("gabfest.v1.bin"), set.encode_to_vec())?;
    tonic_prost_build::configure()
        .build_transport(false)
        .bytes(".gabfest.v1")
        .extern_path(".gabfest.v1.ExportedTrial", "crate::ExportedTrial")
        .out_dir(out)
        .compile_fds(set)
        .context("failed to generate code")?;
    Ok(())
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[cfg(test)]
mod tests {
    /// `proto/src/exported.rs` has this message written by hand.
    #[test]
    fn the_message_that_is_not_generated_has_these_fields() {
        let set = protox::compile(["gabfest/v1/gabfest.proto"], [super::root().join("proto")]).expect("it compiles");
        let message = set.file.iter().flat_map(|file| &file.message_type).find(|found| found.name() == "ExportedTrial");
        let fields = &message.expect("the message").field;
        let found: Vec<_> = fields.iter().map(|field| (field.name(), field.number(), field.type_name())).collect();
        let expected = [("trial", 1, ".gabfest.v1.Trial"), ("turns", 2, ".gabfest.v1.Turn"), ("unreadable", 3, "")];
        assert_eq!(found, expected);
    }

    #[test]
    fn checked_in_code_matches_the_proto_file() {
        let fresh = tempfile::tempdir().expect("a temporary folder");
        super::generate(fresh.path()).expect("the .proto file compiles");
        for name in ["gabfest.v1.rs", "gabfest.v1.bin"] {
            let made = std::fs::read(fresh.path().join(name)).expect("generated");
            let kept = std::fs::read(super::checked_in().join(name)).expect("checked in");
            assert!(made == kept, "proto/src/generated/{name} is stale: run `cargo xtask proto`");
        }
    }
}
