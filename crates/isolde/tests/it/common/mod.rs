//! What tests of the command share.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder that goes away with the test.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Folder {
        // Tests of one process run at the same time, and so do those of several.
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("isolde-test-{name}-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_isolde"));
        command.args(args).current_dir(&self.0);
        command
    }

    pub(crate) fn isolde(&self, args: &[&str]) -> Ran {
        Ran::of(&self.command(args).output().unwrap())
    }

    /// The name of a file in it.
    pub(crate) fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What a command said.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn of(output: &Output) -> Ran {
        Ran {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Whether a server's program is on this machine. In CI it has to be; elsewhere its absence is said
/// loudly, and the test passes.
pub(crate) fn has(program: &str, places: &[&str]) -> bool {
    let path = std::env::var("PATH").unwrap_or_default();
    let folders = path.split(':').chain(places.iter().copied());
    let found = folders.map(|f| Path::new(f).join(program)).any(|p| p.is_file());
    if !found {
        assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "{program} is not installed");
        eprintln!("SKIPPED: {program} is not installed on this machine (scripts/test.sh does it)");
    }
    found
}

pub(crate) fn has_postgres() -> bool {
    let debian: Vec<String> = (9..30).map(|n| format!("/usr/lib/postgresql/{n}/bin")).collect();
    has("postgres", &debian.iter().map(String::as_str).collect::<Vec<_>>())
}

pub(crate) fn has_etcd() -> bool {
    has("etcd", &["/usr/bin", "/usr/local/bin"])
}

pub(crate) fn has_mariadb() -> bool {
    has("mariadbd", &["/usr/sbin", "/usr/libexec", "/usr/local/sbin"])
}
