//! `gabfest schema`: JSON Schemas that editors can use.

use crate::{args::SchemaOf, exit::Exit, settings::Settings, stdout};

pub(crate) fn print(what: SchemaOf) -> anyhow::Result<Exit> {
    let schema = match what {
        SchemaOf::Scenario => scenario::schema::scenario(),
        SchemaOf::Matrix => scenario::schema::matrix(),
        SchemaOf::Persona => scenario::schema::persona(),
        SchemaOf::Conversation => scenario::Format::Line.schema(),
        SchemaOf::Battery => scenario::Format::Battery.schema(),
        SchemaOf::Config => scenario::schema::of::<Settings>(),
        SchemaOf::Report => report::schema::report(),
    };
    stdout::line(&serde_json::to_string_pretty(&schema)?)?;
    Ok(Exit::Held)
}
