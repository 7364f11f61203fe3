//! Which conversations were not kept, so that nobody looks for them.

use record::{Summary, summary::KeptTranscripts};
use scenario::plan::Transcripts;

use super::model::{Block, Kind, Section};
use crate::figures::count;

pub(super) fn section(summary: &Summary) -> Section {
    let dropped = summary.transcripts.filter(|of| of.dropped > 0);
    Section::new(Kind::Transcripts, "Transcripts", dropped.map(|of| Block::Note(note(of))))
}

fn note(KeptTranscripts { kept, dropped }: KeptTranscripts) -> String {
    let others = if kept == Transcripts::Sample { " and a sample of the others" } else { "" };
    format!(
        "The setting transcripts: {} keeps the transcripts of conversations that did not pass{others}; {} are not kept. All figures come from the records of all trials",
        kept.name(),
        count(dropped)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_how_many_transcripts_are_not_kept() {
        assert_eq!(
            note(KeptTranscripts { kept: Transcripts::Sample, dropped: 35_210 }),
            "The setting transcripts: sample keeps the transcripts of conversations that did not pass and a sample of the others; 35,210 are not kept. All figures come from the records of all trials"
        );
    }
}
