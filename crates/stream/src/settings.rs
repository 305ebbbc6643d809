//! What a stream is told before it begins.

use std::path::PathBuf;

use isolde_spec::{Profile, Promise};

use crate::pack::packed;

/// What a stream is told before it begins.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The promise that the transactions are held to: snapshot isolation or serializability by timestamps, snapshot isolation by
    /// snapshots, or by client intervals that of a profile.
    pub promise: Promise,
    /// By client intervals: by which mechanisms the server keeps its promise.
    pub profile: Option<Profile>,
    /// By client intervals: which share of all dependencies has to be decided, from 0 to 1, so that finding nothing counts.
    pub share: f64,
    /// Without promises of the source: after so many milliseconds the verdict on a transaction is final.
    pub timeout: i64,
    /// How many bytes may be held in memory.
    pub memory: usize,
    /// How many bytes may be taken at the end, when what stays open is asked of the whole stream; half of the others if
    /// nothing is said.
    pub at_the_end: Option<usize>,
    /// How many bytes may be held on disk; beyond that the oldest go.
    pub keep: u64,
    /// Where what does not fit into memory goes. Without a folder nothing leaves memory.
    pub folder: Option<PathBuf>,
}

/// What a stream may be told anew when it goes on after a restart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Restrictions {
    pub(crate) timeout: i64,
    pub(crate) memory: usize,
    pub(crate) keep: u64,
}

packed!(Restrictions { timeout, memory, keep });

impl Settings {
    pub(crate) fn restrictions(&self) -> Restrictions {
        let Settings { timeout, memory, keep, .. } = *self;
        Restrictions { timeout, memory, keep }
    }

    /// The usual settings by client intervals.
    pub fn by_intervals(profile: &Profile) -> Settings {
        Settings { profile: Some(profile.clone()), ..Settings::new(profile.promise()) }
    }

    /// The usual settings for a promise: five seconds, 512 MB in memory, 10 GB on disk.
    pub fn new(promise: Promise) -> Settings {
        let (memory, keep) = (512 << 20, 10_000_000_000);
        let (profile, at_the_end, folder) = (None, None, None);
        let (share, timeout) = (0.9, 5_000);
        Settings { promise, profile, share, timeout, memory, at_the_end, keep, folder }
    }
}
