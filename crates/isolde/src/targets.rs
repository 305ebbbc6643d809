//! `isolde targets`.

use anyhow::Result;
use isolde_target::KINDS;
use serde_json::json;

use crate::args::TargetsArgs;
use crate::ran;

pub(crate) fn run(args: &TargetsArgs) -> Result<()> {
    if args.json {
        let all: Vec<_> = KINDS
            .iter()
            .map(|kind| json!({"name": kind.name, "urls": kind.schemes, "summary": kind.summary}))
            .collect();
        return ran::print(&(serde_json::to_string_pretty(&all)? + "\n"));
    }
    let width = KINDS.iter().map(|k| k.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for kind in KINDS {
        text += &format!("{:width$}  {}\n", kind.name, kind.summary);
    }
    ran::print(&text)
}
