//! `gabfest schema`: JSON Schemas that editors can use.

use crate::{changed_verdicts::Rejudged, exit::Exit, settings::Settings, stdout};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The kind of file
    #[arg(value_enum)]
    what: Of,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Of {
    /// *.scenario.yaml
    Scenario,
    /// *.matrix.yaml
    Matrix,
    /// *.persona.yaml
    Persona,
    /// *.conversation.yaml and *.conversation.json
    Conversation,
    /// *.battery.yaml
    Battery,
    /// gabfest.yaml
    Config,
    /// report.json
    Report,
    /// compare.json, and `gabfest compare --json`
    Compare,
    /// `gabfest noise --json`
    Noise,
    /// `gabfest plan --json`
    Plan,
    /// `gabfest history --json`
    History,
    /// `gabfest trends --json`
    Trends,
    /// rejudge.json
    Rejudge,
    /// The input of custom checks: gabfest.transcript/1
    Transcript,
}

pub(crate) fn print(args: &Args) -> anyhow::Result<Exit> {
    let schema = match args.what {
        Of::Scenario => formats::eliza::FORMAT.schema(),
        Of::Matrix => formats::matrix::schema(),
        Of::Persona => formats::persona::schema(),
        Of::Conversation => formats::line::FORMAT.schema(),
        Of::Battery => formats::battery::FORMAT.schema(),
        Of::Config => yaml::schema::of::<Settings>(),
        Of::Report => report::schema::report(),
        Of::Compare => report::schema::compare(),
        Of::Noise => report::schema::noise(),
        Of::Plan => report::schema::plan(),
        Of::History | Of::Trends => report::schema::trends(),
        Of::Rejudge => yaml::schema::of::<Rejudged>(),
        Of::Transcript => record::published::schema(),
    };
    stdout::line(&serde_json::to_string_pretty(&schema)?)?;
    Ok(Exit::Held)
}
