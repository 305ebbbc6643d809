//! A process that keeps a server, and ends with it, whatever happens to us.
//!
//! Dropping is not enough: a killed process drops nothing. So a shell stands between us and the
//! server, and reads from a pipe that we hold. The operating system closes it when we are gone.

use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::place::User;
use crate::target::OpenError;

const SCRIPT: &str = include_str!("supervise.sh");

/// How long a server may take to start on a busy machine.
const START: Duration = Duration::from_secs(60);
/// How long it may take to stop: the script's patience with each signal, and some more.
const STOP: Duration = Duration::from_secs(15);

/// What to run.
pub(super) struct Orders {
    /// The fresh folder, which holds everything that the server writes.
    pub(super) folder: PathBuf,
    /// Who runs it, if not we.
    pub(super) user: Option<User>,
    /// The command that prepares the folder.
    pub(super) init: Vec<String>,
    /// The server itself.
    pub(super) serve: Vec<String>,
    /// The signals that stop it, the gentlest first.
    pub(super) stop: &'static str,
}

/// A server that is stopped when this is dropped.
pub(super) struct Supervised {
    folder: PathBuf,
    shell: Child,
    keep: bool,
}

impl Supervised {
    /// Starts it; it does not answer yet.
    pub(super) fn start(orders: &Orders) -> Result<Supervised, OpenError> {
        let folder = orders.folder.clone();
        let script = format!(
            "folder={}\nstop='{}'\ninit() {{ {}; }}\nserve() {{ exec {}; }}\n{SCRIPT}",
            quote(&folder.to_string_lossy()),
            orders.stop,
            quoted(&orders.init),
            quoted(&orders.serve),
        );
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(script).stdin(Stdio::piped());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        // Our folder may be closed to the user that the server runs as. Ctrl-C on a terminal is
        // for us; the server goes when we are gone.
        command.current_dir("/").process_group(0).env("LC_ALL", "C");
        if let Some(user) = orders.user {
            command.uid(user.id).gid(user.group).env("HOME", &folder);
        }
        match command.spawn() {
            Ok(shell) => Ok(Supervised { folder, shell, keep: false }),
            Err(error) => {
                let _ = fs::remove_dir_all(&folder);
                Err(OpenError::new(format!("cannot run /bin/sh: {error}")))
            }
        }
    }

    /// Leaves the server running and the folder in place, whatever happens to us from now on.
    pub(super) fn keep(&mut self) {
        if let Some(pipe) = &mut self.shell.stdin {
            self.keep = pipe.write_all(b"keep\n").and_then(|()| pipe.flush()).is_ok();
        }
    }

    /// Waits until `probe` finds that the server answers; `None` is "not yet".
    pub(super) fn wait<T>(
        &mut self,
        mut probe: impl FnMut() -> Result<Option<T>, OpenError>,
    ) -> Result<T, OpenError> {
        let deadline = Instant::now() + START;
        while Instant::now() < deadline {
            // The shell itself ends only if it cannot even enter the folder.
            if self.exited() || !matches!(self.shell.try_wait(), Ok(None)) {
                let problem = "the server did not start; the end of its log is:";
                return Err(OpenError::new(format!("{problem}\n{}", tail(&self.log(), 20)))
                    .hint(format!("it had to run in {}", self.folder.display())));
            }
            // The pid appears when the folder is prepared; until then nobody can listen.
            if self.pid().is_some()
                && let Some(found) = probe()?
            {
                return Ok(found);
            }
            sleep(Duration::from_millis(15));
        }
        let problem = format!("the server did not answer within {} s", START.as_secs());
        Err(OpenError::new(format!("{problem}; the end of its log is:\n{}", tail(&self.log(), 20))))
    }

    /// The server's process.
    pub(super) fn pid(&self) -> Option<u32> {
        fs::read_to_string(self.folder.join("pid")).ok()?.trim().parse().ok()
    }

    /// Whether the server has ended (or could not be started).
    pub(super) fn exited(&self) -> bool {
        self.folder.join("exited").exists()
    }

    /// Where it writes what it has to say.
    pub(super) fn log(&self) -> PathBuf {
        self.folder.join("log")
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        if self.keep {
            return;
        }
        let deadline = Instant::now() + STOP;
        while matches!(self.shell.try_wait(), Ok(None)) && Instant::now() < deadline {
            sleep(Duration::from_millis(10));
        }
        // The shell has removed it already, unless somebody killed the shell.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The last lines of a file, each indented.
pub(super) fn tail(path: &Path, lines: usize) -> String {
    let bytes = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let all: Vec<&str> = text.lines().collect();
    let last = &all[all.len().saturating_sub(lines)..];
    last.iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn quoted(words: &[String]) -> String {
    words.iter().map(|w| quote(w)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_pass_a_shell_unchanged() {
        let words = ["a b", "it's", "$HOME", "`x`", "\\", "\"", "*"].map(str::to_owned);
        let script = format!("printf '%s|' {}", quoted(&words));
        let out = Command::new("/bin/sh").arg("-c").arg(script).output().unwrap();
        assert_eq!(String::from_utf8(out.stdout).unwrap(), words.join("|") + "|");
    }
}
