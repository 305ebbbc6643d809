//! One process of a driver: lines in, lines out, and an end whatever it does.
//!
//! Nothing here trusts the process. Every wait has a deadline, and a line has a greatest length.

use std::fmt;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::complaints::Complaints;

/// The longest line that is read: a list of some hundred thousand numbers.
pub(super) const MAX_LINE: usize = 1 << 20;
/// How much is read at once.
const CHUNK: usize = 8 * 1024;
/// How many lines of standard error are shown.
const LINES_SHOWN: usize = 12;
/// How long to wait for the exit status of a process that closed its output.
const DYING: Duration = Duration::from_millis(300);

/// Why no line came.
#[derive(Debug)]
pub(super) enum NoLine {
    /// It ended, or closed its output.
    Ended(Option<ExitStatus>),
    /// It said nothing in time.
    Silent(Duration),
    /// A line had no end.
    TooLong,
    /// The pipe failed.
    Pipe(io::Error),
}

impl fmt::Display for NoLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoLine::Ended(Some(status)) => write!(f, "the driver ended ({status})"),
            NoLine::Ended(None) => write!(f, "the driver closed its output"),
            NoLine::Silent(time) => {
                write!(f, "no answer of the driver within {} s", time.as_secs_f64())
            }
            NoLine::TooLong => write!(f, "the driver wrote a line of more than {MAX_LINE} bytes"),
            NoLine::Pipe(error) => write!(f, "the pipe to the driver failed: {error}"),
        }
    }
}

/// A running process of a driver.
pub(super) struct Process {
    child: Child,
    /// Gone when its input was closed.
    input: Option<ChildStdin>,
    /// Gone when it came to its end.
    output: Option<ChildStdout>,
    complaints: Complaints,
    /// What was read, and which part of it has not been taken.
    buffer: Vec<u8>,
    from: usize,
    to: usize,
    /// How it ended, once that is known.
    ended: Option<ExitStatus>,
}

impl Process {
    /// Starts a command of a shell.
    pub(super) fn start(command: &str) -> io::Result<Process> {
        let mut shell = Command::new("/bin/sh");
        shell.arg("-c").arg(command);
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C on a terminal is for us. And all that it starts can be ended together.
        shell.process_group(0);
        let mut child = shell.spawn()?;
        let errors = child.stderr.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let complaints = match Complaints::listen(errors) {
            Ok(complaints) => complaints,
            Err(error) => {
                let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
                let _ = child.wait();
                return Err(error);
            }
        };
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let buffer = vec![0; CHUNK];
        Ok(Process { child, input, output, complaints, buffer, from: 0, to: 0, ended: None })
    }

    /// Writes whole lines, at once.
    pub(super) fn send(&mut self, lines: &[u8]) -> Result<(), NoLine> {
        let Some(input) = &mut self.input else { return Err(NoLine::Ended(self.ended)) };
        match input.write_all(lines) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(self.dying()),
            done => done.map_err(NoLine::Pipe),
        }
    }

    /// Waits for a line; without its end.
    pub(super) fn line(&mut self, patience: Duration) -> Result<&[u8], NoLine> {
        let deadline = Instant::now() + patience;
        let mut looked = self.from;
        loop {
            let fresh = self.buffer.get(looked..self.to).unwrap_or_default();
            if let Some(at) = fresh.iter().position(|byte| *byte == b'\n') {
                let (from, end) = (self.from, looked + at);
                self.from = end + 1;
                return Ok(self.buffer.get(from..end).unwrap_or_default());
            }
            looked = self.to;
            if self.to - self.from > MAX_LINE {
                return Err(NoLine::TooLong);
            }
            looked -= self.make_room();
            match self.read(deadline) {
                Ok(true) => {}
                Ok(false) => return Err(self.dying()),
                Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                    return Err(NoLine::Silent(patience));
                }
                Err(error) => return Err(NoLine::Pipe(error)),
            }
        }
    }

    /// Makes room for another chunk; by how much what is there has moved.
    fn make_room(&mut self) -> usize {
        let moved = self.from;
        if moved > 0 {
            self.buffer.copy_within(self.from..self.to, 0);
            (self.from, self.to) = (0, self.to - moved);
        }
        if self.buffer.len() < self.to + CHUNK {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        moved
    }

    /// Waits until there is something of its output, and reads it; false at the end of it.
    fn read(&mut self, deadline: Instant) -> io::Result<bool> {
        loop {
            let Some(output) = &mut self.output else { return Ok(false) };
            if ready(output, deadline.saturating_duration_since(Instant::now()))? {
                let room = self.buffer.get_mut(self.to..).unwrap_or_default();
                match output.read(room) {
                    Ok(0) => self.output = None,
                    Ok(count) => {
                        self.to += count;
                        return Ok(true);
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            } else if Instant::now() >= deadline {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
    }

    /// What is to be said of a process that closed its pipes: it may be on its way to its end.
    pub(super) fn dying(&mut self) -> NoLine {
        self.watch(Instant::now() + DYING);
        if self.ended.is_none() && self.is_over() {
            // No process of its group outlives it.
            self.ended = self.kill();
        }
        NoLine::Ended(self.ended)
    }

    /// Reads and throws away until it is over, or until it is time; whether it is over.
    fn watch(&mut self, deadline: Instant) -> bool {
        let nap = Duration::from_millis(5);
        loop {
            let over = self.is_over();
            let wait = if over { Duration::ZERO } else { nap };
            let heard = self.throw_away(wait);
            if (over && !heard) || Instant::now() >= deadline {
                return over;
            }
        }
    }

    /// Waits for its output and throws it away; whether there was any.
    fn throw_away(&mut self, wait: Duration) -> bool {
        match self.output.as_ref().map(|output| ready(output, wait)) {
            Some(Ok(true)) => {
                (self.from, self.to) = (0, 0);
                let more = self.output.as_mut().map(|output| output.read(&mut self.buffer));
                if !matches!(more, Some(Ok(1..))) {
                    self.output = None;
                }
                true
            }
            Some(Ok(false)) => false,
            None | Some(Err(_)) => {
                std::thread::sleep(wait);
                false
            }
        }
    }

    /// Whether the process has ended. It is not buried: as long as it is not, no other process gets its
    /// number.
    pub(super) fn is_over(&self) -> bool {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        self.ended.is_some() || !matches!(waitid(WaitId::Pid(self.pid()), look), Ok(None))
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Closes its input and gives it time to end by itself; whether it did. Then it is killed, with all
    /// that it started.
    pub(super) fn end(&mut self, patience: Duration) -> bool {
        self.input = None;
        let over = self.watch(Instant::now() + patience);
        if self.ended.is_none() {
            self.ended = self.kill();
        }
        over
    }

    fn kill(&mut self) -> Option<ExitStatus> {
        self.input = None;
        // Before it is buried, so that the number is still that of its family.
        let _ = kill_process_group(self.pid(), Signal::KILL);
        self.child.wait().ok()
    }

    /// The last lines that it said on standard error, each indented.
    pub(super) fn last_lines(&self) -> String {
        // What was said just before the end may still be in the pipe.
        let said = self.complaints.last(if self.is_over() { DYING } else { Duration::ZERO });
        let text = String::from_utf8_lossy(&said);
        let all: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = all.get(all.len().saturating_sub(LINES_SHOWN)..).unwrap_or_default();
        last.iter().map(|line| format!("  {}", printable(line, 200))).collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}

/// Waits until the output can be read, or is at its end.
fn ready(output: &ChildStdout, patience: Duration) -> io::Result<bool> {
    let patience = Timespec::try_from(patience).ok();
    let mut fds = [PollFd::new(output, PollFlags::IN)];
    match poll(&mut fds, patience.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(fds.iter().any(|fd| !fd.revents().is_empty()))
}

/// A text from a driver as one that a terminal can show: no control characters, and not too long.
pub(super) fn printable(text: &str, most: usize) -> String {
    let mut shown: String =
        text.chars().take(most).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(most).is_some() {
        shown.push_str("...");
    }
    shown
}
