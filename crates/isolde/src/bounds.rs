//! What bounds a check: a time, an amount of memory, and Ctrl-C.

use std::time::{Duration, Instant};

use isolde_check::Limits;

use crate::interrupt;

/// How long a check may take, and how much memory. The time begins to run when this is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    end: Option<Instant>,
    bytes: usize,
    steps: u64,
}

impl Bounds {
    /// Without an amount of memory, half of what the machine has.
    pub(crate) fn new(timeout: Option<Duration>, memory: Option<u64>, steps: u64) -> Bounds {
        let bytes = memory.or_else(half_of_the_machine);
        Bounds {
            end: timeout.and_then(|timeout| Instant::now().checked_add(timeout - to_say(timeout))),
            bytes: bytes.map_or(usize::MAX, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX)),
            steps,
        }
    }

    pub(crate) fn is_late(&self) -> bool {
        self.end.is_some_and(|end| Instant::now() >= end)
    }

    /// The same for the checker, which has no clock of its own.
    pub(crate) fn limits<'l>(&self, late: &'l (dyn Fn() -> bool + Sync)) -> Limits<'l> {
        let limits = Limits::default().with_bytes(self.bytes).with_steps(self.steps);
        limits.with_time(late).with_stop(interrupt::check_is_over())
    }
}

/// How much of a time is kept for saying what was found: a witness of a hundred thousand transactions
/// takes some tenths of a second to tell.
fn to_say(timeout: Duration) -> Duration {
    (timeout / 4).min(Duration::from_millis(500))
}

/// Half of the memory that this process can have.
fn half_of_the_machine() -> Option<u64> {
    let meminfo = std::fs::read_to_string("/proc/meminfo").ok()?;
    let total = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let total = total.split_whitespace().next()?.parse::<u64>().ok()? * 1024;
    // A container may have less than its machine; without a limit of its own the file says "max".
    let container = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let container = container.and_then(|text| text.trim().parse::<u64>().ok());
    Some(container.map_or(total, |most| most.min(total)) / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_has_memory() {
        assert!(half_of_the_machine().is_none_or(|half| half > 64 << 20));
    }

    #[test]
    fn time_runs_out() {
        assert!(!Bounds::new(None, None, 1).is_late());
        assert!(Bounds::new(Some(Duration::ZERO), None, 1).is_late());
        assert!(!Bounds::new(Some(Duration::from_secs(3600)), None, 1).is_late());
    }
}
