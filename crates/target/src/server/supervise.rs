//! A process that keeps a server, and ends with it, whatever happens to us.
//!
//! Dropping is not enough: a killed process drops nothing. So a shell stands between us and the
//! server, and reads from a pipe that we hold. The operating system closes it when we are gone.

use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::place::User;
use crate::target::OpenError;

const SCRIPT: &str = include_str!("supervise.sh");

/// How long a server may take to start on a busy machine.
const START: Duration = Duration::from_secs(60);
/// How long it may take to stop: the script's patience with each signal, and some more.
const STOP: Duration = Duration::from_secs(15);

/// What the script does to a server when it is told to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Word {
    /// Leaves it and its folder when we are gone.
    Keep,
    /// Stops its processes where they are.
    Pause,
    /// Lets them go on.
    Resume,
    /// Kills them; it stays down.
    Kill,
    /// Asks it to end; it stays down.
    Stop,
    /// Starts it again.
    Start,
    /// It has answered: if it ends now, that is its own doing.
    Settled,
    /// Starts it again whenever it ends by itself.
    Revive,
}

impl Word {
    const fn text(self) -> &'static str {
        match self {
            Word::Keep => "keep",
            Word::Pause => "pause",
            Word::Resume => "resume",
            Word::Kill => "kill",
            Word::Stop => "stop",
            Word::Start => "start",
            Word::Settled => "settled",
            Word::Revive => "revive",
        }
    }
}

/// The pipe to the script, and how many words went through it.
struct Pipe {
    to: Option<ChildStdin>,
    said: u64,
}

/// What to run.
pub(super) struct Orders {
    /// The fresh folder, which holds everything that the server writes.
    pub(super) folder: PathBuf,
    /// The user that runs it, if not ours.
    pub(super) user: Option<User>,
    /// The command that prepares the folder.
    pub(super) init: Vec<String>,
    /// The server itself.
    pub(super) serve: Vec<String>,
    /// The server when it comes back, if that is another command than the first time.
    pub(super) again: Option<Vec<String>>,
    /// The signals that stop it, the gentlest first.
    pub(super) stop: &'static str,
    /// The process whose network namespace it runs in, if not in ours.
    pub(super) inside: Option<u32>,
}

/// A server that is stopped when this is dropped.
pub(super) struct Supervised {
    folder: PathBuf,
    shell: Mutex<Child>,
    pipe: Mutex<Pipe>,
    keep: bool,
}

impl Supervised {
    /// Starts it; it does not answer yet.
    pub(super) fn start(orders: &Orders) -> Result<Supervised, OpenError> {
        let folder = orders.folder.clone();
        let script = format!(
            "folder={}\nstop='{}'\ninit() {{ {}; }}\nserve() {{ exec {}; }}\n\
             serve_again() {{ exec {}; }}\n{SCRIPT}",
            quote(&folder.to_string_lossy()),
            orders.stop,
            quoted(&orders.init),
            quoted(&orders.serve),
            quoted(orders.again.as_ref().unwrap_or(&orders.serve)),
        );
        let mut command = shell(orders);
        command.arg("-c").arg(script).stdin(Stdio::piped());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        // Our folder may be closed to the user that the server runs as. Ctrl-C on a terminal is
        // for us; the server goes when we are gone.
        command.current_dir("/").process_group(0).env("LC_ALL", "C");
        if orders.user.is_some() {
            command.env("HOME", &folder);
        }
        match command.spawn() {
            Ok(mut shell) => {
                let pipe = Mutex::new(Pipe { to: shell.stdin.take(), said: 0 });
                Ok(Supervised { folder, shell: Mutex::new(shell), pipe, keep: false })
            }
            Err(error) => {
                let _ = fs::remove_dir_all(&folder);
                Err(OpenError::new(format!("cannot run /bin/sh: {error}")))
            }
        }
    }

    /// Leaves the server running and the folder in place, whatever happens to us from now on.
    pub(super) fn keep(&mut self) {
        self.keep = self.tell(Word::Keep).is_ok();
    }

    /// Has the script do something, and waits until it has.
    pub(super) fn tell(&self, word: Word) -> Result<(), String> {
        let mut pipe = self.pipe.lock().unwrap_or_else(PoisonError::into_inner);
        pipe.said += 1;
        let number = pipe.said.to_string();
        let line = format!("{} {number}\n", word.text());
        let sent =
            pipe.to.as_mut().map(|to| to.write_all(line.as_bytes()).and_then(|()| to.flush()));
        if !matches!(sent, Some(Ok(()))) {
            return Err("no process listens there that could do it".to_owned());
        }
        let deadline = Instant::now() + STOP;
        while Instant::now() < deadline {
            let answered = fs::read_to_string(self.folder.join("answered")).unwrap_or_default();
            if answered.trim() == number {
                return Ok(());
            }
            sleep(Duration::from_millis(2));
        }
        Err(format!("it did not {} within {} s", word.text(), STOP.as_secs()))
    }

    /// Waits until the server answers.
    pub(super) fn wait(
        &self,
        answers: impl Fn() -> Result<bool, OpenError>,
    ) -> Result<(), OpenError> {
        let deadline = Instant::now() + START;
        while Instant::now() < deadline {
            // The shell itself ends only if it cannot even enter the folder.
            if self.exited() || self.shell_ended() {
                let problem = "the server did not start; the end of its log is:";
                return Err(OpenError::new(format!("{problem}\n{}", tail(&self.log(), 20)))
                    .hint(format!("it had to run in {}", self.folder.display())));
            }
            // The pid appears when the folder is prepared; until then no server can listen.
            if self.pid().is_some() && answers()? {
                return Ok(());
            }
            sleep(Duration::from_millis(15));
        }
        let problem = format!("the server did not answer within {} s", START.as_secs());
        Err(OpenError::new(format!("{problem}; the end of its log is:\n{}", tail(&self.log(), 20))))
    }

    fn shell_ended(&self) -> bool {
        let mut shell = self.shell.lock().unwrap_or_else(PoisonError::into_inner);
        !matches!(shell.try_wait(), Ok(None))
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
        drop(self.pipe.lock().unwrap_or_else(PoisonError::into_inner).to.take());
        if self.keep {
            return;
        }
        let deadline = Instant::now() + STOP;
        while !self.shell_ended() && Instant::now() < deadline {
            sleep(Duration::from_millis(10));
        }
        // The shell has removed it already, unless the shell was killed.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A shell of that user, in that namespace; only root can enter one.
fn shell(orders: &Orders) -> Command {
    let Some(holder) = orders.inside else {
        let mut command = Command::new("/bin/sh");
        if let Some(user) = orders.user {
            command.uid(user.id).gid(user.group);
        }
        return command;
    };
    let mut command = Command::new("nsenter");
    command.args(["--net", "-t", &holder.to_string()]);
    if let Some(user) = orders.user {
        command.args(["--setuid", &user.id.to_string(), "--setgid", &user.group.to_string()]);
    }
    command.arg("/bin/sh");
    command
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
