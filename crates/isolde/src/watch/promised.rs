//! Which promise a stream is held to.

use isolde_history::{History, info};
use isolde_job::IntervalQuestion;
use isolde_spec::{By, KnownBy, Level, Promise};
use isolde_watch::HeldTo;

/// What a stream is held to, and what the user should know of the choice.
pub(super) struct ChosenPromise {
    pub(super) held_to: HeldTo,
    pub(super) note: Option<String>,
}

impl ChosenPromise {
    fn new(promise: Promise, note: Option<String>) -> ChosenPromise {
        ChosenPromise { held_to: HeldTo { promise, profile: None }, note }
    }
}

/// As it is named in a sentence: by intervals, transactions are held against the mechanisms of the server, which know of no
/// sessions.
pub(super) fn named(promise: Promise) -> String {
    let of_sessions = promise.by == By::Intervals || promise.session_order;
    Promise { session_order: of_sessions, ..promise }.to_string()
}

/// By what was typed; else by snapshots where the first transactions have those and no timestamps; else by timestamps.
pub(super) fn choose(
    history: &History,
    wanted: Option<Level>,
    by: Option<By>,
    question: &IntervalQuestion,
) -> Result<ChosenPromise, String> {
    if by == Some(By::Intervals) {
        return by_intervals(history, wanted, question);
    }
    if history.rows_by_column() {
        return Err("values are rows by column, which only client intervals can judge\n  hint: --evidence intervals"
            .to_owned());
    }
    let timed = || history.txns().any(|txn| txn.start_ts().or(txn.commit_ts()).is_some());
    let shown = || history.txns().any(|txn| txn.snapshot().is_some());
    match by {
        Some(By::Snapshots) => by_snapshots(wanted),
        None if !timed() && shown() => by_snapshots(wanted),
        _ => by_timestamps(history, wanted),
    }
}

/// By the profile that was named, or that of the server in the header.
fn by_intervals(
    history: &History,
    wanted: Option<Level>,
    question: &IntervalQuestion,
) -> Result<ChosenPromise, String> {
    let profile = question.profile_for(history, wanted).map_err(|error| error.to_string())?;
    let known = match profile.known_by {
        KnownBy::Runs => String::new(),
        KnownBy::Documentation => ", as its documentation says".to_owned(),
    };
    let note = format!("by which mechanisms the server keeps that: {}{known}", profile.name());
    let held_to = HeldTo { promise: profile.promise(), profile: Some(profile) };
    Ok(ChosenPromise { held_to, note: Some(note) })
}

/// Only snapshot isolation has rules by snapshots; what is stronger is that and more.
fn by_snapshots(wanted: Option<Level>) -> Result<ChosenPromise, String> {
    if let Some(level) = wanted.filter(|level| *level != Level::SnapshotIsolation) {
        return Err(format!(
            "{level} has no rules by snapshots on a stream\n  hint: --level si, or record a file and ask \
             `isolde check --level {level}`"
        ));
    }
    Ok(ChosenPromise::new(Promise::by_snapshots(Level::SnapshotIsolation), None))
}

/// The level that was typed; else what the header says; else snapshot isolation. Only these two have rules by
/// timestamps.
fn by_timestamps(history: &History, wanted: Option<Level>) -> Result<ChosenPromise, String> {
    let serial = history.info_text(info::COMMIT_ORDER) == Some(info::SERIAL);
    let (level, note) = match wanted {
        Some(level @ (Level::SnapshotIsolation | Level::Serializable)) => (level, None),
        Some(level) => {
            return Err(format!(
                "{level} has no rules by timestamps\n  hint: --level si or --level ser, or record a file \
                 and ask `isolde check --level {level}`"
            ));
        }
        None => said(history.info_text(info::LEVEL), serial),
    };
    if level == Level::Serializable && !serial {
        return Err("serializable cannot be judged by timestamps: nothing says that commit order is a serial order\n  \
                    hint: if it is, say so with --fact commit-order=serial"
            .to_owned());
    }
    Ok(ChosenPromise::new(Promise::by_timestamps(level), note))
}

/// What the level in a header amounts to.
fn said(name: Option<&str>, serial: bool) -> (Level, Option<String>) {
    let level = name.and_then(|name| Level::named(&name.to_lowercase()));
    if serial && level.is_none_or(|level| level.implies(Level::Serializable)) {
        return (Level::Serializable, None);
    }
    let weaker = level.is_some_and(|level| !level.implies(Level::SnapshotIsolation));
    let note = name.filter(|_| weaker).map(|name| {
        format!("the header says {name}, which has no rules by timestamps: --level says what to hold it to")
    });
    (Level::SnapshotIsolation, note)
}
