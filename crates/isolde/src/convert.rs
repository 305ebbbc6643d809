//! `isolde convert`.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use isolde_history::{Format, JsonlWriter, NativeWriter, Source};

use crate::args::ConvertArgs;
use crate::load;

pub(crate) fn run(args: &ConvertArgs) -> Result<()> {
    let target = target_format(args)?;
    let to_stdout = args.to.as_os_str() == "-";
    if !to_stdout && !args.force && args.to.exists() {
        bail!("{} exists\n  hint: --force overwrites it", args.to.display());
    }
    let progress = load::progress(&format!("converting {}", args.from.display()));
    let (source, format) = load::open(&args.from, args.format.as_deref())?;
    if to_stdout {
        let mut out = BufWriter::new(io::stdout().lock());
        write(&source, format, target, &mut out)?;
        out.flush()?;
    } else {
        write_file(&source, format, target, &args.to)?;
    }
    progress.finish_and_clear();
    Ok(())
}

fn target_format(args: &ConvertArgs) -> Result<&'static Format> {
    if let Some(name) = &args.to_format {
        let format = load::named(name)?;
        if format.write.is_none() {
            bail!("{name} is read but not written\n  hint: see `isolde formats`");
        }
        return Ok(format);
    }
    let name = match args.to.extension().and_then(|e| e.to_str()) {
        Some("isolde") => "isolde",
        Some("jsonl") => "jsonl",
        Some("edn") => "jepsen-edn",
        Some("bincode") => "dbcop-bincode",
        _ => bail!(
            "the name {} does not say which format to write\n  hint: --to names one, see `isolde formats`",
            args.to.display()
        ),
    };
    load::named(name)
}

/// Writes beside the target and renames: a failure leaves no half file, and no old file destroyed.
fn write_file(source: &Source, format: &Format, target: &Format, to: &Path) -> Result<()> {
    let mut temporary = to.as_os_str().to_owned();
    temporary.push(format!(".{}.part", std::process::id()));
    let temporary = PathBuf::from(temporary);
    let cannot_write = || format!("cannot write {}", to.display());
    let file = fs::File::create(&temporary).with_context(cannot_write)?;
    let mut out = BufWriter::new(file);
    let done = write(source, format, target, &mut out)
        .and_then(|()| out.flush().with_context(cannot_write))
        .and_then(|()| fs::rename(&temporary, to).with_context(cannot_write));
    if done.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&temporary);
    }
    done
}

fn write(source: &Source, format: &Format, target: &Format, mut out: &mut dyn Write) -> Result<()> {
    // Our own formats take transactions as they come, without holding the history.
    match target.name {
        "isolde" => {
            let mut writer = NativeWriter::new(&mut out)?;
            (format.read)(source, &mut writer)?;
            load::warn(writer.warnings());
            writer.finish()?;
        }
        "jsonl" => {
            let mut writer = JsonlWriter::new(&mut out);
            (format.read)(source, &mut writer)?;
            load::warn(writer.warnings());
            writer.finish()?;
        }
        _ => {
            let (history, warnings) = format.load(source)?.finish_with_warnings();
            load::warn(&warnings);
            let write = target.write.context("the format is not written")?;
            write(&history, out)?;
        }
    }
    Ok(())
}
