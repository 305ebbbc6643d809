//! Whatever a file holds, reading it does not panic.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use isolde_probe::{case, recorded};
use proptest::prelude::*;

/// Pieces of case files, so that the deeper parts of the reader are reached, and strange ones.
const PIECES: [&str; 42] = [
    "case ",
    "a",
    "b",
    ": ",
    "\n",
    "\n  ",
    " ",
    "group ",
    "anomaly ",
    "LostUpdate",
    "forbidden ",
    "from ",
    "pl-2",
    "only ",
    "not ",
    "waits ",
    "setup ",
    "on ",
    "PostgreSQL",
    "T1 ",
    "T2 ",
    "x: ",
    "begin",
    "commit",
    "select 1",
    "seen ",
    "when ",
    "x",
    " = ",
    " != ",
    " has ",
    "(",
    ")",
    ", ",
    "1",
    "-9223372036854775809",
    "'",
    "nothing",
    " and ",
    " or ",
    "\u{e9}\u{2028}",
    " commits",
];

/// A record, a part of which is replaced.
const RUN: &str = r#"{"case":"a","dbms":"sqlite-3","innodb_snapshot_isolation":null,"level":"x","setup":["s"],"steps":[["T1","begin"]],"observed":[{"step":0,"session":"T1","event":"ok","result":0}]}"#;

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300, failure_persistence: None,
        rng_seed: prop::test_runner::RngSeed::Fixed(7), ..ProptestConfig::default()
    })]

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,200}(\n\\PC{0,80}){0,4}") {
        let _ = case::read("x.case", &text);
        let _ = recorded::read(&text);
    }

    #[test]
    fn cases_of_known_pieces_are_read_or_refused(
        pieces in prop::collection::vec(prop::sample::select(PIECES.as_slice()), 0..60)
    ) {
        let text = format!("case a: b\n  T1 x: begin\n  {}", pieces.concat());
        if let Ok(cases) = case::read("x.case", &text) {
            for case in cases {
                let _ = (case.suits("SQLite"), case.schedule("SQLite"));
            }
        }
        let _ = case::read("x.case", &format!("case a: b\n  T1 x: begin\n  seen when {}", pieces.concat()));
    }

    #[test]
    fn changed_records_are_read_or_refused(
        at in 0..RUN.len(),
        length in 0..40_usize,
        new in "([0-9\\[\\]{}\",:-]|null|\u{e9}){0,8}"
    ) {
        let end = RUN.len().min(at + length);
        let text = format!("{}{new}{}", &RUN[..at], &RUN[end..]);
        if let Ok(runs) = recorded::read(&text) {
            for run in runs {
                let _ = recorded::to_json(&run);
            }
        }
    }
}
