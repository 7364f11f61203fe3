//! `gabfest qnamaker test`: the options of `bf qnamaker:test` as a plan and its settings, played like any other run.

use std::path::{Path, PathBuf};

use agent::qnamaker::Settings;
use anyhow::{Context as _, anyhow};
use coordinator::Observers;
use formats::read;
use record::{call::Spend, count::plural};
use scenario::{
    Diagnostic,
    plan::{self, Choices},
};

use crate::{
    args::Capacity,
    assemble, clock, diagnostics,
    exit::{Exit, usage},
    finish::Shown,
    play,
    run_folder::RunFolder,
    settings::Read,
    stdout,
};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Ask every question of a knowledge base, and write it with the answers
    Test(Box<TestArgs>),
}

#[derive(Debug, clap::Args)]
pub(crate) struct TestArgs {
    /// The endpoint key of the QnA service
    #[arg(short, long = "endpointKey", value_name = "KEY", env = "QNAMAKER_ENDPOINTKEY", hide_env_values = true)]
    endpoint_key: String,
    /// Overwrite the file of --out
    #[arg(short, long)]
    force: bool,
    /// A .qna file, a knowledge base as JSON, a batch tester's table, or a folder of .qna files (stdin)
    #[arg(short, long = "in", value_name = "PATH", default_value = "-")]
    input: PathBuf,
    /// The id of the knowledge base
    #[arg(short, long = "kbId", value_name = "ID", env = "QNAMAKER_KBID")]
    kb_id: String,
    /// Write the result here: a file, or a folder that exists (stdout)
    #[arg(short, long, value_name = "PATH")]
    out: Option<PathBuf>,
    /// The address of the QnA service, with or without `/qnamaker`
    #[arg(long, value_name = "URL", env = "QNAMAKER_HOSTNAME")]
    hostname: String,
    /// Log the progress
    #[arg(long)]
    log: bool,
    /// Answers with a smaller score, 0 to 100, are no match
    #[arg(long = "scorethreshold", value_name = "SCORE")]
    score_threshold: Option<f64>,
    /// Ask the test index instead of the published one
    #[arg(long)]
    test: bool,
}

/// The name of the agent in the plan.
const AGENT: &str = "qnamaker";

pub(crate) async fn test(args: TestArgs) -> anyhow::Result<Exit> {
    let out = args.out.as_deref().map(|out| out_file(out, &args.input, args.force)).transpose()?;
    let reading = read::questions(&args.input);
    diagnostics::print(&reading.diagnostics);
    if reading.diagnostics.iter().any(Diagnostic::is_error) {
        return Err(usage(anyhow!("nothing was asked: {}", diagnostics::count(&reading.diagnostics))));
    }
    let choices =
        Choices { name: args.input.display().to_string(), agents: vec![AGENT.to_owned()], ..Choices::default() };
    let plan = plan::build(&reading, &choices).map_err(|faults| {
        diagnostics::print(&faults);
        usage(anyhow!("nothing was asked: {}", diagnostics::count(&faults)))
    })?;
    if args.log {
        let index = if args.test { "test" } else { "published" };
        let count = plural(plan.case_count(), "question", "questions");
        diagnostics::note(&format!("asking {count} of the {index} index of {}", args.kb_id));
    }
    let read = settings(&args);
    let capacity = Capacity::default();
    let resources = assemble::resources(&read, &[], &capacity, None).await?;
    // The result has the questions and answers; nothing else of the run is kept.
    let kept = tempfile::tempdir().context("failed to make a temporary folder")?;
    let run = clock::new_run_id();
    let folder = RunFolder::begin(&run, &plan, Some(kept.path())).await?;
    let worker = (resources, assemble::slots(&read, &capacity));
    let shown = Shown::AGAIN;
    let exit =
        play::play((plan, Spend::default(), None), worker, Observers::default(), &run, &folder, shown, None).await?;
    let text = ["report.qna", "report.qna.tsv"].map(|name| std::fs::read_to_string(kept.path().join(name)));
    let text = text.into_iter().find_map(Result::ok).context("the run left no result")?;
    say_errors(&text);
    match out {
        None => stdout::document(&text)?,
        Some(path) => {
            std::fs::write(&path, text).with_context(|| format!("failed to write {}", path.display()))?;
            diagnostics::note(&format!("the result is in {}", path.display()));
        }
    }
    Ok(exit)
}

fn settings(args: &TestArgs) -> Read {
    let agent = agent::Settings {
        qnamaker: Some(Settings {
            url: args.hostname.clone(),
            knowledge_base: args.kb_id.clone(),
            key: None,
            score_threshold: args.score_threshold,
            top: None,
            test_index: args.test,
        }),
        ..agent::Settings::default()
    };
    let mut read = Read::default();
    read.settings.agents.insert(AGENT.to_owned(), agent);
    read.keys.insert(AGENT.to_owned(), args.endpoint_key.clone().into());
    read
}

/// A wrong key or address must not look like an empty result.
fn say_errors(text: &str) {
    let mut errors = text.lines().filter_map(|line| {
        line.strip_prefix("> ERROR, ").or_else(|| line.split_once("\tError: ").map(|(_, message)| message))
    });
    if let Some(first) = errors.next() {
        let all = plural(errors.count() as u64 + 1, "question was", "questions were");
        diagnostics::note(&format!("{all} not answered; the first: {first}"));
    }
}

/// The path of the result. Without `force`, an existing file stays, and the result goes to `name(1).qna`.
fn out_file(out: &Path, input: &Path, force: bool) -> anyhow::Result<PathBuf> {
    let path = if out.is_dir() {
        let name = input.file_stem().filter(|_| input != Path::new("-")).unwrap_or("result".as_ref());
        let is_table = input.extension().is_some_and(|ending| ending == "tsv");
        out.join(format!("{}{}", name.to_string_lossy(), if is_table { ".qna.tsv" } else { ".qna" }))
    } else {
        let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !folder.is_dir() {
            return Err(usage(anyhow!(
                "there is no folder {}\nhint: --out names a file in a folder that exists",
                folder.display()
            )));
        }
        out.to_path_buf()
    };
    if force || !path.exists() {
        return Ok(path);
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let ending = path.extension().map(|ending| format!(".{}", ending.to_string_lossy())).unwrap_or_default();
    let numbered = (1_u32..).map(|number| path.with_file_name(format!("{stem}({number}){ending}")));
    numbered.into_iter().find(|path| !path.exists()).context("every numbered name is taken")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_never_takes_the_place_of_another() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let out = |out: &Path, force: bool| out_file(out, Path::new("a/faq.en-us.qna"), force).unwrap();
        assert_eq!(out(&at("x.qna"), false), at("x.qna"));
        std::fs::write(at("x.qna"), "").unwrap();
        assert_eq!(out(&at("x.qna"), false), at("x(1).qna"));
        std::fs::write(at("x(1).qna"), "").unwrap();
        assert_eq!(out(&at("x.qna"), false), at("x(2).qna"));
        assert_eq!(out(&at("x.qna"), true), at("x.qna"));
        assert_eq!(out(folder.path(), false), at("faq.en-us.qna"));
        assert_eq!(out_file(folder.path(), Path::new("-"), false).unwrap(), at("result.qna"));
        assert!(out_file(&at("no/x.qna"), Path::new("-"), false).is_err());
    }
}
