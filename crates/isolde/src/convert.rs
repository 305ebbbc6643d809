//! `isolde convert`.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use isolde_history::{Format, JsonlWriter, NativeWriter, Sink, Source};
use isolde_job::load::Reading;
use isolde_job::output::Shape;
use isolde_job::{Dropping, fitted, load, output, shown};

use crate::args::ConvertArgs;
use crate::progress::Progress;
use crate::typed::Dropped;
use crate::{reading, terminal};

pub(crate) fn run(args: &ConvertArgs) -> Result<()> {
    let target = output::format(&args.to, args.to_format.as_deref())?;
    output::may_write(&args.to, args.force)?;
    let reading = args.read.reading()?;
    let progress = Progress::spinner(&format!("converting {}", shown(&args.from)));
    let (source, format) = load::open(&args.from, &reading)?;
    let how = (&reading, &dropping(&args.drop));
    match Shape::of(&args.to, target) {
        Shape::File => {
            output::write(&args.to, args.force, |out| write(&source, format, target, how, out))?;
        }
        Shape::Folder => write_folder(&source, format, target, how, &args.to)?,
    }
    progress.clear();
    Ok(())
}

fn write(
    source: &Source,
    format: &'static Format,
    target: &Format,
    (reading, dropping): (&Reading, &Dropping),
    mut out: &mut dyn Write,
) -> Result<()> {
    // Our own formats take transactions as they come, without holding the history.
    match target.name {
        "isolde" if dropping.parts.is_empty() => {
            let mut writer = NativeWriter::new(&mut out)?;
            pass(source, format, reading, &mut writer)?;
            reading::warn(writer.warnings());
            writer.finish()?;
        }
        "jsonl" if dropping.parts.is_empty() => {
            let mut writer = JsonlWriter::new(&mut out);
            pass(source, format, reading, &mut writer)?;
            reading::warn(writer.warnings());
            writer.finish()?;
        }
        _ => {
            let loaded = load::from_source(source, format, reading)?;
            reading::warn(&loaded.warnings);
            let (history, left_out) = fitted(loaded.history, (target, Shape::File), dropping)?;
            left_out.iter().for_each(terminal::notice);
            let write = target.write.context("the format is not written")?;
            write(&history, out)?;
        }
    }
    Ok(())
}

fn write_folder(
    source: &Source,
    format: &'static Format,
    target: &Format,
    (reading, dropping): (&Reading, &Dropping),
    to: &Path,
) -> Result<()> {
    let loaded = load::from_source(source, format, reading)?;
    reading::warn(&loaded.warnings);
    let (history, left_out) = fitted(loaded.history, (target, Shape::Folder), dropping)?;
    left_out.iter().for_each(terminal::notice);
    let write = target.write_folder.context("the format is not written as a folder")?;
    output::write_folder(to, |make| Ok(write(&history, make)?))
}

fn dropping(typed: &[Dropped]) -> Dropping {
    let part = |dropped: &Dropped| match dropped {
        Dropped::Part(part) => Some(*part),
        Dropped::All => None,
    };
    Dropping { parts: typed.iter().filter_map(part).collect(), rest: typed.contains(&Dropped::All) }
}

fn pass(source: &Source, format: &Format, reading: &Reading, sink: &mut dyn Sink) -> Result<()> {
    (format.read)(source, sink)?;
    reading.set_what_was_said(source.name(), format, sink)
}
