//! A temporary folder for an engine. A process that is killed cannot remove its own; the next one does. The owner
//! of a folder holds a lock in it, which the operating system lets go of however the owner ends.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// What the names of all these folders begin with.
const PREFIX: &str = "isolde-";
const LOCK: &str = "isolde.lock";
const DATA: &str = "data";

/// A folder that goes away with this, or with the next one that is made after a crash.
pub(crate) struct Scratch {
    data: PathBuf,
    // Dropped in this order: the folder goes while its lock is held.
    _folder: TempDir,
    _lock: File,
}

impl Scratch {
    /// Makes one, and removes those whose owners are gone.
    pub(crate) fn new(engine: &str) -> io::Result<Scratch> {
        let folder = TempDir::with_prefix(format!("{PREFIX}{engine}-"))?;
        let uid = fs::metadata(folder.path())?.uid();
        if let Some(parent) = folder.path().parent() {
            sweep(parent, uid);
        }
        // It gets its name only when it is locked: no other process finds one that is not.
        let early = folder.path().join("isolde.lock.new");
        let lock = File::create(&early)?;
        lock.lock()?;
        fs::rename(&early, folder.path().join(LOCK))?;
        let data = folder.path().join(DATA);
        fs::create_dir(&data)?;
        Ok(Scratch { data, _folder: folder, _lock: lock })
    }

    /// Where the engine may write.
    pub(crate) fn path(&self) -> &Path {
        &self.data
    }
}

/// Removes the folders of this user whose owners are gone. A folder that cannot be removed stays.
fn sweep(parent: &Path, uid: u32) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        // A link is no folder here, wherever it leads.
        let folder = entry.metadata().is_ok_and(|about| about.is_dir() && about.uid() == uid);
        if ours && folder {
            let _ = remove_if_left(&entry.path());
        }
    }
}

fn remove_if_left(folder: &Path) -> io::Result<()> {
    let lock = File::open(folder.join(LOCK))?;
    match lock.try_lock() {
        Ok(()) => fs::remove_dir_all(folder),
        // Its owner is there.
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_whose_owner_was_killed_is_removed_by_the_next() {
        let kept = Scratch::new("kept").unwrap();
        let parent = kept._folder.path().parent().unwrap().to_owned();
        let left = parent.join(format!("{PREFIX}left-{}", std::process::id()));
        let foreign = parent.join(format!("{PREFIX}foreign-{}", std::process::id()));
        for folder in [&left, &foreign] {
            fs::create_dir(folder).unwrap();
        }
        fs::write(left.join(LOCK), "").unwrap();
        let next = Scratch::new("next").unwrap();
        assert!(!left.exists() && kept.path().is_dir() && next.path().is_dir());
        assert!(foreign.is_dir(), "one without a lock is not ours");
        fs::remove_dir(&foreign).unwrap();
    }
}
