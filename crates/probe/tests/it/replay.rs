//! Recorded runs of real servers, replayed.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use isolde_probe::recorded::{self, Recorded};
use isolde_probe::replay::{fitting, replay};

use crate::common;

fn shared() -> Option<Vec<Recorded>> {
    let fallback = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared");
    let folder = std::env::var("ISOLDE_SHARED").unwrap_or_else(|_| fallback.to_owned());
    match std::fs::read_to_string(format!("{folder}/schedules/observed.jsonl")) {
        Ok(text) => Some(recorded::read(&text).unwrap()),
        Err(error) => {
            assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "{folder}: {error}");
            eprintln!("\n*** SKIPPED: no recorded runs in {folder}: {error} ***\n");
            None
        }
    }
}

fn reproduces(kind: &str, at_least: usize) {
    let (Some(runs), Some(target)) = (shared(), common::server(kind)) else { return };
    let fits = fitting(&*target, &runs);
    assert!(fits.len() >= at_least, "only {} runs fit {kind}", fits.len());
    let begun = Instant::now();
    let stop = AtomicBool::new(false);
    let consoles = target.consoles().unwrap();
    let done = replay(&*target, consoles, &runs, &fits, (&stop, &|_| ())).unwrap();
    eprintln!("{} runs on {kind} in {:.1?}", done.len(), begun.elapsed());
    assert_eq!(done.len(), fits.len());
    let wrong: Vec<String> = done
        .iter()
        .filter(|r| !r.differences.is_empty() || r.failure.is_some())
        .map(|r| {
            let run = &runs[r.run];
            let (case, level) = (&run.case, &run.level);
            format!(
                "{case} at {level} (snapshots {:?}), line {}: {:?} {:?}",
                run.snapshots, run.line, r.failure, r.differences
            )
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), done.len(), wrong.join("\n"));
}

#[test]
fn postgresql_does_what_was_recorded() {
    reproduces("postgres", 97);
}

#[test]
fn mariadb_does_what_was_recorded() {
    reproduces("mariadb", 221);
}
