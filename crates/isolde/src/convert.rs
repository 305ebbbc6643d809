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
        write_all(&source, format, target, "to standard output", io::stdout().lock())?;
    } else if is_stream(&args.to) {
        let name = args.to.display().to_string();
        let out = fs::OpenOptions::new().write(true).open(&args.to);
        let out = out.with_context(|| format!("cannot write {name}"))?;
        write_all(&source, format, target, &name, out)?;
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
    if args.to.as_os_str() == "-" {
        bail!("nothing says which format to write\n  hint: --to names one, see `isolde formats`");
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

/// Whether the target is a pipe or a device, which takes what is written and must not be replaced.
fn is_stream(to: &Path) -> bool {
    fs::metadata(to).is_ok_and(|kind| !kind.is_file() && !kind.is_dir())
}

/// Writes beside the target and renames: a failure leaves no half file, and no old file destroyed.
fn write_file(source: &Source, format: &Format, target: &Format, to: &Path) -> Result<()> {
    // A link stays a link: what it points to is replaced.
    let to = &fs::canonicalize(to).unwrap_or_else(|_| to.to_owned());
    let mut temporary = to.as_os_str().to_owned();
    temporary.push(format!(".{}.part", std::process::id()));
    let temporary = PathBuf::from(temporary);
    let name = to.display().to_string();
    let cannot_write = || format!("cannot write {name}");
    let file = fs::File::create(&temporary).with_context(cannot_write)?;
    let done = write_all(source, format, target, &name, file)
        .and_then(|()| fs::rename(&temporary, to).with_context(cannot_write));
    if done.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&temporary);
    }
    done
}

/// Writes everything; an error of the output is reported as such, wherever it came to light.
fn write_all(
    source: &Source,
    format: &Format,
    target: &Format,
    name: &str,
    out: impl Write,
) -> Result<()> {
    let mut out = BufWriter::new(Watched { out, failed: None });
    let done = write(source, format, target, &mut out).and_then(|()| Ok(out.flush()?));
    match out.get_mut().failed.take() {
        Some(error) => Err(error).with_context(|| format!("cannot write {name}")),
        None => done,
    }
}

/// Remembers the first error of an output. Readers and writers pass errors on as text, in which a
/// closed pipe could not be told from a full disk.
struct Watched<W> {
    out: W,
    failed: Option<io::Error>,
}

impl<W: Write> Watched<W> {
    fn watch<T>(&mut self, done: io::Result<T>) -> io::Result<T> {
        done.map_err(|error| {
            let (kind, text) = (error.kind(), error.to_string());
            if kind != io::ErrorKind::Interrupted {
                self.failed.get_or_insert(error);
            }
            io::Error::new(kind, text)
        })
    }
}

impl<W: Write> Write for Watched<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let done = self.out.write(bytes);
        self.watch(done)
    }

    fn flush(&mut self) -> io::Result<()> {
        let done = self.out.flush();
        self.watch(done)
    }
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
