//! Many small files in one command, such as the logs of etcd.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use isolde_spec::Level;
use serde_json::json;

use crate::command::{Command, CommandArgs};
use crate::measure;

#[derive(clap::Args)]
pub(crate) struct LogsArgs {
    /// Where the files are
    #[arg(long)]
    folder: PathBuf,
    /// The level to decide
    #[arg(long, default_value = "linearizable", value_parser = measure::level)]
    level: Level,
    #[command(flatten)]
    command: CommandArgs,
}

pub(crate) fn run(args: &LogsArgs) -> Result<()> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&args.folder)? {
        let path = entry?.path();
        if path.is_file() {
            files.push(path);
        }
    }
    ensure!(!files.is_empty(), "there are no files in {}", args.folder.display());
    files.sort();
    let count = files.len();
    let command = Command::on(&args.command.isolde()?, files);
    let took = command.check(args.level, args.command.runs)?;
    let mut line = json!({
        "bench": "logs",
        "level": args.level.name(),
        "files": count,
        "bytes": command.file_bytes(),
    });
    took.show(&mut line);
    println!("{line}");
    Ok(())
}
