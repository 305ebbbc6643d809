//! How many sessions this machine has threads for. A thread that cannot get its memory ends the whole
//! process, so the limit has to be known before the first one is started.

use std::fs;

/// A stack with its guard page, and the same for the stack on which signals are handled.
const MAPPINGS: u64 = 4;
/// What a thread and its session touch at least.
const BYTES: u64 = 64 << 10;
/// For the rest of this process.
const SPARE: u64 = 100;

/// More sessions than this machine has threads for.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "{sessions} sessions need as many threads, and there is room for {most}: {limit}\n  \
     hint: --sessions {most} or fewer, or raise that limit"
)]
pub struct TooManySessions {
    /// How many were asked for.
    pub sessions: u32,
    /// How many there can be.
    pub most: u64,
    /// What limits them, with its figure.
    pub limit: String,
}

/// Whether there can be so many sessions, each on a thread.
pub fn room_for(sessions: u32) -> Result<(), TooManySessions> {
    let tightest = limits().into_iter().min_by_key(|(most, _)| *most);
    match tightest {
        Some((most, limit)) if u64::from(sessions) > most => {
            Err(TooManySessions { sessions, most, limit })
        }
        _ => Ok(()),
    }
}

/// All limits that can be told here, and how many more threads each allows.
fn limits() -> Vec<(u64, String)> {
    [mappings(), number("/proc/sys/kernel/threads-max", "kernel.threads-max"), processes()]
        .into_iter()
        .chain([container(), memory()])
        .flatten()
        .map(|(most, limit)| (most.saturating_sub(SPARE), limit))
        .collect()
}

fn mappings() -> Option<(u64, String)> {
    let most = read_number("/proc/sys/vm/max_map_count")?;
    let now = fs::read_to_string("/proc/self/maps").ok()?.lines().count() as u64;
    Some((most.saturating_sub(now) / MAPPINGS, format!("vm.max_map_count is {most}")))
}

/// Of a user, not of this process; the superuser is not bound by it.
fn processes() -> Option<(u64, String)> {
    let word = |file: &str, name: &str, at: usize| {
        let text = fs::read_to_string(file).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().nth(at)?.parse::<u64>().ok()
    };
    // The effective user is the second of four.
    if word("/proc/self/status", "Uid:", 1)? == 0 {
        return None;
    }
    let most = word("/proc/self/limits", "Max processes", 0)?;
    Some((most, format!("RLIMIT_NPROC (ulimit -u) is {most}")))
}

fn container() -> Option<(u64, String)> {
    let most = read_number("/sys/fs/cgroup/pids.max")?;
    let now = read_number("/sys/fs/cgroup/pids.current").unwrap_or(0);
    Some((most.saturating_sub(now), format!("the control group's pids.max is {most}")))
}

fn memory() -> Option<(u64, String)> {
    let meminfo = fs::read_to_string("/proc/meminfo").ok()?;
    let free = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let free = free.split_whitespace().next()?.parse::<u64>().ok()? * 1024;
    let group = read_number("/sys/fs/cgroup/memory.max")
        .map(|most| most.saturating_sub(read_number("/sys/fs/cgroup/memory.current").unwrap_or(0)));
    let free = group.map_or(free, |group| group.min(free));
    Some((free / BYTES, format!("{} MB of memory are free", free >> 20)))
}

fn number(file: &str, name: &str) -> Option<(u64, String)> {
    read_number(file).map(|most| (most, format!("{name} is {most}")))
}

fn read_number(file: &str) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_sessions_have_room_and_millions_do_not() {
        assert_eq!(room_for(8), Ok(()));
        let error = room_for(u32::MAX).unwrap_err();
        assert!(error.most > 8 && error.most < u64::from(u32::MAX), "{error}");
    }
}
