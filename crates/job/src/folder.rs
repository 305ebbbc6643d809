//! The folder of a run.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// What the history of a run is called.
pub(crate) const HISTORY: &str = "history.isolde";

/// What the folder is called for what a stream cannot hold in memory.
pub(crate) const SPILL: &str = "online";

/// Where a run is recorded.
#[derive(Debug)]
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
    /// The folder above it, if it was made for this run.
    made: Option<PathBuf>,
}

impl Folder {
    /// A folder that was not there before: what an earlier run found is never written over.
    pub(crate) fn new(out: &Path, name: &str) -> Result<Folder> {
        let made = (!out.exists()).then(|| out.to_owned());
        let cannot = || {
            let out = out.display();
            format!("cannot make a folder in {out} (--out names another place)")
        };
        fs::create_dir_all(out).with_context(cannot)?;
        for number in 1u32.. {
            let suffix = if number == 1 { String::new() } else { format!("-{number}") };
            let path = out.join(format!("{name}{suffix}"));
            match fs::create_dir(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                done => {
                    done.with_context(cannot)?;
                    return Ok(Folder { path, made });
                }
            }
        }
        bail!("{} is full of folders called {name}", out.display())
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Removes it, if nothing but the history is in it, and what was made for it.
    pub(crate) fn remove(&self) {
        // What cannot be removed does no harm; a folder with something in it stays.
        let _ = fs::remove_file(self.file(HISTORY));
        self.remove_if_empty();
    }

    pub(crate) fn remove_if_empty(&self) {
        let _ = fs::remove_dir(&self.path);
        if let Some(made) = &self.made {
            let _ = fs::remove_dir(made);
        }
    }
}
