//! `isolde formats`.

use std::io::Write;

use anyhow::Result;
use isolde_history::FORMATS;
use serde_json::json;

use crate::args::FormatsArgs;

pub(crate) fn run(args: &FormatsArgs) -> Result<()> {
    let mut out = std::io::stdout().lock();
    if args.json {
        let format = |f: &&isolde_history::Format| {
            json!({
                "name": f.name,
                "title": f.title,
                "example": f.example,
                "reads": true,
                "writes": f.write.is_some(),
            })
        };
        let all: Vec<_> = FORMATS.iter().map(format).collect();
        writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?;
        return Ok(());
    }
    for format in FORMATS {
        let does = if format.write.is_some() { "reads, writes" } else { "reads" };
        writeln!(out, "{:<14} {does:<14} {}", format.name, format.title)?;
        writeln!(out, "{:<14} {:<14} {}\n", "", "", format.example)?;
    }
    writeln!(out, "The format is recognised from the content; --format forces it.")?;
    Ok(())
}
