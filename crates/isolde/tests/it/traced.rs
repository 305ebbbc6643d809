//! Exact interleavings on real servers, traced with the client's intervals: what a server did is right by its own profile,
//! and what a stronger level forbids is found by that level's, by the mechanism that forbids it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use isolde_check::{Options, check};
use isolde_history::notation::{parse, to_text, write_value};
use isolde_history::{Datum, Format, History, OpKind, Outcome, Source};
use isolde_spec::{Anomaly, Answer, Level, Profile, Promise, Verdict};
use isolde_stream::intervals::decide;

use crate::common::{Folder, has_mariadb, has_postgres};

const CASES: &str = include_str!("traced.case");

/// The traces of all cases of a server, ours and those that come with Isolde: by case and level.
fn traces(server: &str) -> BTreeMap<(String, String), History> {
    let folder = Folder::new("traced");
    let cases = folder.file("traced.case");
    std::fs::write(&cases, CASES).unwrap();
    let args = ["probe", server, "--group", "all", "--cases", &cases, "--traces", "traces"];
    let ran = folder.isolde(&args);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let mut traces = BTreeMap::new();
    for entry in std::fs::read_dir(folder.path().join("traces")).unwrap() {
        let path = entry.unwrap().path();
        let source = Source::open(&path).unwrap();
        let history = Format::recognise(&source).unwrap().load(&source).unwrap().finish();
        let name = path.file_name().unwrap().to_str().unwrap();
        let (case, level) = name.strip_suffix(".jsonl").unwrap().rsplit_once('.').unwrap();
        traces.insert((case.to_owned(), level.to_owned()), history);
    }
    // All of ours can be traced: their statements are simple.
    assert!(!ran.err.lines().any(|line| line.trim_start().starts_with("i-")), "{}", ran.err);
    traces
}

fn ask(history: &History, profile: &Profile) -> Verdict {
    decide(history, profile, &Options::default(), 0.0)
}

/// What is found, once each: the mechanism and the anomaly.
fn found(verdict: &Verdict) -> Vec<String> {
    let told = verdict.witnesses().iter().map(|witness| {
        let mechanism = witness.mirrored.as_ref().unwrap().mechanism.name();
        format!("{mechanism}: {}", witness.anomaly.name())
    });
    let mut found: Vec<String> = told.collect();
    found.sort();
    found.dedup();
    found
}

/// Nothing is wrong by the profile of the server and the level that the trace is of.
fn all_are_right(traces: &BTreeMap<(String, String), History>) {
    for ((case, level), history) in traces {
        let server = history.info_text("server").unwrap();
        let profile = Profile::find(server, level).unwrap_or_else(|| panic!("{server} {level}"));
        let verdict = ask(history, profile);
        // Where nothing committed there is nothing to say.
        let silent = matches!(verdict.answer, Answer::NoViolation { .. } | Answer::Unknown(_));
        assert!(silent, "{case} at {level}: {verdict:#?}");
    }
}

/// Each: the case, the level at which it ran, the profile, and what is found.
type Wrong<'a> = (&'a str, &'a str, &'a str, &'a [&'a str]);

#[track_caller]
fn each_is_found(traces: &BTreeMap<(String, String), History>, wrong: &[Wrong<'_>]) {
    for (case, level, profile, expected) in wrong {
        let history = &traces[&((*case).to_owned(), (*level).to_owned())];
        let verdict = ask(history, Profile::named(profile).unwrap());
        assert_eq!(found(&verdict), *expected, "{case} at {level} by {profile}: {verdict:#?}");
    }
}

/// In these cases all transactions commit, which is what they are about.
#[track_caller]
fn all_commit(traces: &BTreeMap<(String, String), History>, cases: &[(&str, &str)]) {
    for (case, level) in cases {
        let history = &traces[&((*case).to_owned(), (*level).to_owned())];
        let committed = history.txns().all(|txn| txn.outcome() == Outcome::Committed);
        assert!(committed && history.txn_count() > 1, "{case} at {level}");
    }
}

const FUTURE: &str = "consistent read: UncommittedVersionRead";
const STALE: &str = "consistent read: StaleRead";
const LOCKS: &str = "mutual exclusion: BrokenLock";
const WRITERS: &str = "first updater wins: ConcurrentWrites";
const SKEW: &str = "serialization certifier: WriteSkew";
const DANGEROUS: &str = "serialization certifier: DangerousStructure";
const G2: &str = "serialization certifier: G2-item";

#[test]
fn what_postgres_does_is_right_by_its_profiles_and_wrong_by_stronger_ones() {
    if !has_postgres() {
        return;
    }
    let traces = traces("postgres");
    assert!(traces.len() > 150, "{}", traces.len());
    all_are_right(&traces);
    let (rc, rr, ser) = ("read-committed", "repeatable-read", "serializable");
    let (by_rr, by_ser) = ("postgresql/repeatable-read", "postgresql/serializable");
    each_is_found(
        &traces,
        &[
            ("i-lost-update", rc, by_rr, &[WRITERS]),
            ("i-half", rc, by_rr, &[FUTURE, WRITERS]),
            ("i-append", rc, by_rr, &[FUTURE, WRITERS]),
            ("i-mixed", rc, by_rr, &[FUTURE]),
            ("i-phantom", rc, by_rr, &[WRITERS]),
            ("i-read-skew", rc, by_rr, &[FUTURE]),
            ("i-select-1", rc, by_rr, &[]),
            ("i-own-write-first", rc, by_rr, &[FUTURE]),
            ("i-impossible-where", rc, by_rr, &[FUTURE]),
            ("i-gone", rc, by_rr, &[FUTURE]),
            ("i-write-skew", rr, by_ser, &[DANGEROUS, SKEW]),
            ("i-read-only-anomaly", rr, by_ser, &[DANGEROUS, G2]),
            ("G2-item", rr, by_ser, &[DANGEROUS, SKEW]),
            // Not what SERIALIZABLE refuses, though two anti-dependencies follow each other.
            ("i-chain-in-order", rr, by_ser, &[]),
            ("i-chain-of-writers", rr, by_ser, &[]),
            ("i-chain-of-a-reader", rr, by_ser, &[]),
            ("i-inserted-again", rr, by_ser, &[]),
            ("i-only-locked", rr, by_ser, &[]),
        ],
    );
    let lawful = ["i-chain-of-writers", "i-chain-of-a-reader", "i-inserted-again"];
    let locked = ["i-only-locked", "i-shared", "i-key-share", "i-snapshot-at-start"];
    let cases: Vec<(&str, &str)> =
        lawful.iter().chain(&locked).flat_map(|case| [(*case, rr), (*case, ser)]).collect();
    all_commit(&traces, &cases);
    // A key-share lock that excluded updates of other columns, as other locks do, would look broken.
    each_is_found(&traces, &[("i-key-share", ser, "mariadb/read-committed", &[STALE, LOCKS])]);
}

#[test]
fn what_mariadb_does_is_right_by_its_profiles_and_wrong_by_stronger_ones() {
    if !has_mariadb() {
        return;
    }
    let traces = traces("mariadb");
    assert!(traces.len() > 250, "{}", traces.len());
    all_are_right(&traces);
    let (rc, rr, rrs) = ("read-committed", "repeatable-read", "repeatable-read-snapshot");
    let (by_rr, by_rrs) = ("mariadb/repeatable-read", "mariadb/repeatable-read-snapshot");
    // Whose first statement takes the snapshot, whatever it does.
    let by_first = "postgresql/repeatable-read";
    each_is_found(
        &traces,
        &[
            ("i-lost-update", rr, by_rrs, &[WRITERS]),
            ("i-own-row", rr, by_rrs, &[WRITERS]),
            ("i-half", rr, by_rrs, &[WRITERS]),
            ("i-append", rr, by_rrs, &[WRITERS]),
            ("i-mixed", rr, by_rrs, &[FUTURE]),
            ("i-phantom", rr, by_rrs, &[WRITERS]),
            ("i-gone", rr, by_rrs, &[FUTURE]),
            ("i-read-skew", rc, by_rr, &[FUTURE]),
            ("i-consistent-snapshot", rc, by_rr, &[FUTURE]),
            ("i-own-write-first", rr, by_first, &[FUTURE]),
            ("i-impossible-where", rr, by_first, &[FUTURE]),
            ("i-write-skew", rrs, "mariadb/serializable", &[LOCKS, SKEW]),
            ("i-read-skew", rrs, "mariadb/serializable", &[STALE, LOCKS]),
            (
                "i-lost-update",
                rr,
                "mariadb/serializable",
                &[LOCKS, "serialization certifier: LostUpdate"],
            ),
        ],
    );
    let cases = ["i-lost-update", "i-own-row", "i-half", "i-mixed", "i-phantom", "i-gone"];
    let more = ["i-no-change", "i-impossible-where", "i-select-1", "i-own-write-first", "i-append"];
    let cases: Vec<(&str, &str)> = cases.iter().chain(&more).map(|case| (*case, rr)).collect();
    all_commit(&traces, &cases);
    lists_show_the_same_by_values(&traces[&("i-append".to_owned(), rr.to_owned())]);
}

/// The texts of `i-append` are lists: what the trace shows by intervals its values show, too. T1 has read the first list
/// before T2 extended it, extends what T2 left, and does not see the other list that T2 extended.
#[track_caller]
fn lists_show_the_same_by_values(trace: &History) {
    let lists = as_lists(trace);
    let verdict = check(&lists, Promise::of(Level::SnapshotIsolation), &Options::default());
    let found: Vec<Anomaly> = verdict.counts.iter().map(|counted| counted.anomaly).collect();
    // Both are called G-single elsewhere.
    let expected = [Anomaly::NonMonotonicRead, Anomaly::LostUpdate];
    assert_eq!(found, expected, "{}\n{verdict:#?}", to_text(&lists));
    // Each read sees committed lists, whole transactions, and none twice.
    let weak = check(&lists, Promise::of(Level::Pl2), &Options::default());
    assert_eq!(weak.holds(), Some(true), "{weak:#?}");
}

/// The same transactions with texts such as 'a,b' read as lists, and each write as an append of the last element.
fn as_lists(trace: &History) -> History {
    let pool = trace.pool();
    let mut lists = String::from("initial none\ninit: append([test,1],a) append([test,2],x)\n");
    for txn in trace.txns() {
        lists += &format!("t{}:", txn.id().index());
        for op in txn.ops() {
            let Datum::Row(row) = pool.datum(op.value()) else { panic!("no row by column") };
            let text = row.pairs().find_map(|(_, cell)| pool.as_text(cell)).unwrap();
            let mut key = String::new();
            write_value(pool, pool.key_name(op.key()), &mut key);
            lists += &match op.kind() {
                OpKind::Read => format!(" list({key},[{text}])"),
                _ => format!(" append({key},{})", text.rsplit(',').next().unwrap()),
            };
        }
        lists.push('\n');
    }
    parse(&lists).unwrap()
}
