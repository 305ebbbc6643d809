//! What a stream takes: processor time of this thread, memory of this process.

use rustix::time::{ClockId, clock_gettime};

use crate::command::{high_water_mb, megabytes};

/// Seconds that this thread has had a processor.
pub(crate) fn thread_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// What the process holds: memory that belongs to no file, now, and the most that it held of any.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Resident {
    pub(crate) now_mb: f64,
    pub(crate) peak_mb: f64,
}

impl Resident {
    pub(crate) fn now() -> Resident {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let now_mb = megabytes(&status, "RssAnon:").unwrap_or(0.0);
        Resident { now_mb, peak_mb: high_water_mb(&status).unwrap_or(0.0) }
    }
}
