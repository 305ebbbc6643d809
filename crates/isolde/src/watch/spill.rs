//! A temporary folder for what does not fit into memory.

use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A folder that goes away with this. It holds a lock while it is used, so that if the process is killed the next
/// run that makes temporary folders removes it.
pub(crate) struct Spill {
    folder: PathBuf,
    _lock: File,
}

impl Spill {
    /// Makes one in that folder, or where temporary files go.
    pub(crate) fn new(parent: Option<&Path>) -> Result<Spill> {
        let parent = parent.map_or_else(std::env::temp_dir, Path::to_owned);
        let folder = parent.join(format!("isolde-watch-{}", std::process::id()));
        let cannot = || format!("cannot write to {}", isolde_job::shown(&parent));
        // Only this user may see what the transactions wrote.
        DirBuilder::new().mode(0o700).create(&folder).with_context(cannot)?;
        let early = folder.join("isolde.lock.new");
        let lock = File::create(&early).with_context(cannot)?;
        lock.lock().with_context(cannot)?;
        fs::rename(&early, folder.join("isolde.lock")).with_context(cannot)?;
        fs::create_dir(folder.join("data")).with_context(cannot)?;
        Ok(Spill { folder, _lock: lock })
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join("data")
    }
}

impl Drop for Spill {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next run.
        let _ = fs::remove_dir_all(&self.folder);
    }
}
