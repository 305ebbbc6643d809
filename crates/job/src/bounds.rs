//! What bounds a check: a time, an amount of memory, and a stop.

use std::time::{Duration, Instant};

use isolde_check::Limits;

use crate::stop::Stop;

/// How long a check may take, how much memory, and the handle that ends it. The time begins to run when
/// this is made.
#[derive(Clone, Debug)]
pub struct Bounds {
    timeout: Option<Duration>,
    end: Option<Instant>,
    bytes: usize,
    steps: u64,
    stop: Stop,
}

impl Bounds {
    /// Without an amount of memory, half of what the machine has.
    pub fn new(
        timeout: Option<Duration>,
        memory: Option<u64>,
        steps: Option<u64>,
        stop: &Stop,
    ) -> Bounds {
        let bytes = memory.or_else(half_of_the_machine);
        Bounds {
            timeout,
            end: timeout.and_then(|timeout| Instant::now().checked_add(timeout - to_say(timeout))),
            bytes: bytes.map_or(usize::MAX, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX)),
            steps: steps.unwrap_or(Limits::default().steps()),
            stop: stop.clone(),
        }
    }

    /// The same for another check, whose time begins to run now.
    #[must_use]
    pub fn again(&self) -> Bounds {
        let end = |timeout: Duration| Instant::now().checked_add(timeout - to_say(timeout));
        Bounds { end: self.timeout.and_then(end), ..self.clone() }
    }

    /// Whether the time is over.
    pub fn is_late(&self) -> bool {
        self.end.is_some_and(|end| Instant::now() >= end)
    }

    /// The same for the checker, which has no clock of its own.
    pub fn limits<'l>(&'l self, late: &'l (dyn Fn() -> bool + Sync)) -> Limits<'l> {
        let limits = Limits::default().with_bytes(self.bytes).with_steps(self.steps);
        limits.with_time(late).with_stop(self.stop.check_flag())
    }
}

/// How much of a time is kept for saying what was found: a witness of a hundred thousand transactions
/// takes some tenths of a second to tell.
fn to_say(timeout: Duration) -> Duration {
    (timeout / 4).min(Duration::from_millis(500))
}

/// Half of the memory that this process can have.
pub(crate) fn half_of_the_machine() -> Option<u64> {
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
        let bounds = |timeout| Bounds::new(timeout, None, None, &Stop::new());
        assert!(!bounds(None).is_late());
        assert!(bounds(Some(Duration::ZERO)).is_late());
        assert!(!bounds(Some(Duration::from_secs(3600))).is_late());
        assert!(bounds(Some(Duration::ZERO)).again().is_late());
    }
}
