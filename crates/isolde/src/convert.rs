//! `isolde convert`.

use std::io::Write;

use anyhow::{Context, Result};
use isolde_history::{Format, JsonlWriter, NativeWriter, Source};
use isolde_job::{load, output};

use crate::args::ConvertArgs;
use crate::progress::Progress;
use crate::reading;

pub(crate) fn run(args: &ConvertArgs) -> Result<()> {
    let target = output::format(&args.to, args.to_format.as_deref())?;
    output::may_write(&args.to, args.force)?;
    let progress = Progress::spinner(&format!("converting {}", args.from.display()));
    let (source, format) = load::open(&args.from, args.format.as_deref())?;
    output::write(&args.to, |out| write(&source, format, target, out))?;
    progress.clear();
    Ok(())
}

fn write(source: &Source, format: &Format, target: &Format, mut out: &mut dyn Write) -> Result<()> {
    // Our own formats take transactions as they come, without holding the history.
    match target.name {
        "isolde" => {
            let mut writer = NativeWriter::new(&mut out)?;
            (format.read)(source, &mut writer)?;
            reading::warn(writer.warnings());
            writer.finish()?;
        }
        "jsonl" => {
            let mut writer = JsonlWriter::new(&mut out);
            (format.read)(source, &mut writer)?;
            reading::warn(writer.warnings());
            writer.finish()?;
        }
        _ => {
            let (history, warnings) = format.load(source)?.finish_with_warnings();
            reading::warn(&warnings);
            let write = target.write.context("the format is not written")?;
            write(&history, out)?;
        }
    }
    Ok(())
}
