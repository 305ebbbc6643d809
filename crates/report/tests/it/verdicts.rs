//! What verdicts look like.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::needless_pass_by_value, reason = "expectations are made where they are used")]

use expect_test::expect;
use isolde_history::notation::parse;
use isolde_report::{Decided, Telling, summary_to_text, to_json, to_text};
use isolde_spec::Level;

use crate::shown::{ask, shows};

const LOST: &str = "initial 0\n\
    a 1: w(x,1)\n\
    b 2: r(x,1) w(x,2)\n\
    c 3: r(x,1) w(x,3)\n\
    d 4: r(x,1) w(x,4)\n";
const SKEW: &str = "initial 0\na 1: r(x,0) r(y,0) w(x,1)\nb 2: r(x,0) r(y,0) w(y,1)\n";
const STALE_SESSION: &str = "initial 0\na T8: r(x,0) w(x,1)\na T9: r(x,0)\n";
const STALE_CLOCK: &str = "initial 0\na 1: r(x,0) w(x,1) @[1,2]\nb 2: r(x,0) @[5,6]\n";
const TWICE: &str = "a: append(x,1)\nb: append(x,1)\nc: list(x,[1])\nd: list(x,[1])\n";

#[test]
fn a_level_that_holds() {
    shows(
        "a: w(x,1)\nb: r(x,1)",
        Level::Serializable,
        expect![[r#"
            serializable: holds
              method     dependency graph (version order known for all keys)
              evidence   values; version order: one version (1 key); session order
              figures    2 transactions, 2 operations, 1 key, 2 nodes, 1 edge
        "#]],
    );
}

#[test]
fn a_cycle_is_told_step_by_step() {
    shows(
        SKEW,
        Level::Serializable,
        expect![[r#"
            serializable: violated
              found      at least 1 WriteSkew
              WriteSkew: two transactions each overwrote what the other had read
                T1 read y = 0 and wrote x = 1, while T2 read x = 0 and wrote y = 1: each overwrote what the
                other had read, so neither can have come first.

                a                b
                + T1 r(x,0)
                | * r(y,0)
                |                + T2 * r(x,0)
                + * w(x,1)       |
                                 |   r(y,0)
                                 + * w(y,1)

                T1 -rw-> T2  T2 overwrote the version of y that T1 read: r(y,0), w(y,1)
                T2 -rw-> T1  T1 overwrote the version of x that T2 read: r(x,0), w(x,1)
                promise  serializable: some order of the transactions, one after another, explains everything
                         that was read, and keeps the order of every session
                broken   because one of the two has to come first, and then the other has to see its write, and
                         neither saw the other's
                visible  in the first 2 of 2 transactions
              method     dependency graph (version order known for all keys)
              evidence   values; version order: one version (2 keys); session order
              figures    2 transactions, 6 operations, 2 keys, 2 nodes, 2 edges, 1 strongly connected component,
                         2 transactions in cycles, 2 anti-dependencies in cycles
              search     94 edges of a budget of 2,000,000
        "#]],
    );
}

#[test]
fn a_cycle_comes_with_what_supports_it_and_says_how_much_more_there_is() {
    shows(
        LOST,
        Level::SnapshotIsolation,
        expect![[r#"
            snapshot-isolation: violated
              found      3 LostUpdate
              LostUpdate: two transactions read the same version of a key and both overwrote it
                T2 and T3 both read x = 1, written by T1, and both wrote x: one update is lost.

                a                b                c
                + T1 w(x,1)
                                 + T2 r(x,1)
                                 |                + T3 r(x,1)
                                 + w(x,2)         |
                                                  + w(x,3)

                T2 -rw-> T3  T3 overwrote the version of x that T2 read: r(x,1), w(x,3)
                T3 -rw-> T2  T2 overwrote the version of x that T3 read: r(x,1), w(x,2)
                promise  snapshot-isolation: every transaction reads from a snapshot of the committed state, and
                         of two concurrent transactions that write the same key only one commits
                broken   because the second writer had read a stale version and should have been aborted; both
                         committed
                visible  in the first 3 of 4 transactions
              witnesses  1 more kept: --all shows it, --json too
              method     dependency graph (version order known for all keys)
              evidence   values; version order: read-modify-write chains (1 key); session order
              figures    4 transactions, 7 operations, 1 key, 4 nodes, 9 edges, 3 divergences,
                         6 anti-dependencies in cycles
              search     0 edges of a budget of 2,000,000
        "#]],
    );
}

#[test]
fn all_witnesses_are_shown_if_asked_for() {
    let history = parse(LOST).unwrap();
    let lost = ask(&history, Level::SnapshotIsolation);
    let text = to_text(&history, &lost, &Telling { all: true, ..Telling::default() });
    assert!(!text.contains("--all"), "{text}");
    let kept = lost.verdict.witnesses().len();
    assert!(kept > 1);
    assert_eq!(text.matches("  LostUpdate: ").count(), kept, "{text}");
}

#[test]
fn a_local_anomaly_names_its_operations() {
    shows(
        "initial 0\na: w(x,1) abort\nb: r(x,1)",
        Level::SnapshotIsolation,
        expect![[r#"
            snapshot-isolation: violated
              found      1 AbortedRead
              AbortedRead: a transaction read a value that was rolled back
                #1 read x = 1 of #0, which was rolled back.

                a                b
                + #0 w(x,1)
                + rolled back
                                 + #1 r(x,1)

                promise  snapshot-isolation: every transaction reads from a snapshot of the committed state, and
                         of two concurrent transactions that write the same key only one commits
                broken   because aborted data never became part of the database, and a transaction read it
                visible  in the first 2 of 2 transactions
              method     dependency graph (version order known for all keys)
              evidence   values; version order: one version (1 key); session order
              figures    2 transactions, 2 operations, 1 key, 2 nodes
        "#]],
    );
}

#[test]
fn a_variant_says_that_it_needs_session_order() {
    shows(
        STALE_SESSION,
        Level::Serializable,
        expect![[r#"
            serializable: violated
              found      at least 1 SessionGuaranteeViolation
              SessionGuaranteeViolation (needs session order): a transaction missed a write of an earlier
                  transaction of its session
                T9 came after T8 in the same session, and yet it read x = 0, the initial value, which T8 had
                overwritten with 1.

                a
                + T8 r(x,0)
                + * w(x,1)
                + T9 * r(x,0)

                T8 -so-> T9  T8 came before T9 in their session
                T9 -rw-> T8  T8 overwrote the version of x that T9 read: r(x,0), w(x,1)
                promise  serializable: some order of the transactions, one after another, explains everything
                         that was read, and keeps the order of every session
                broken   because a transaction has to see what its own session wrote before, and here it missed
                         such a write
                visible  in the first 2 of 2 transactions
              method     dependency graph (version order known for all keys)
              evidence   values; version order: one version (1 key); session order
              figures    2 transactions, 3 operations, 1 key, 2 nodes, 2 edges, 1 strongly connected component,
                         2 transactions in cycles, 1 anti-dependency in cycle
              search     87 edges of a budget of 2,000,000
        "#]],
    );
}

#[test]
fn a_variant_says_that_it_needs_real_time() {
    shows(
        STALE_CLOCK,
        Level::StrictSerializable,
        expect![[r#"
            strict-serializable: violated
              found      at least 1 G-single
              G-single (needs real time): a cycle with exactly one anti-dependency
                T2 began after T1 had ended, and yet it read x = 0, the initial value, which T1 had overwritten
                with 1.

                ns  a                b
                 1  + T1 r(x,0)
                    | * w(x,1)
                 2  + committed
                 5                   + T2 * r(x,0)
                 6                   + committed

                T1 -rt-> T2  T1 had ended before T2 began
                T2 -rw-> T1  T1 overwrote the version of x that T2 read: r(x,0), w(x,1)
                promise  strict-serializable: some order of the transactions, one after another, explains
                         everything that was read, and if one transaction ended before another began, it comes
                         first in the order
                broken   because a transaction came after another one, directly or over others in between, and
                         missed a write of it
                visible  in the first 2 of 2 transactions
              method     dependency graph (version order known for all keys)
              evidence   values; version order: one version (1 key); session order; client intervals
              figures    2 transactions, 3 operations, 1 key, 3 nodes, 3 edges, 1 strongly connected component,
                         2 transactions in cycles, 1 anti-dependency in cycle
              search     111 edges of a budget of 2,000,000
        "#]],
    );
}

#[test]
fn what_nobody_saw_says_so() {
    let text = "a 1: w(x,1) w(y,1)\nb 2: w(x,2) w(y,2)\nc 3: r(x,1) r(y,2)\n";
    shows(
        text,
        Level::Serializable,
        expect![[r#"
            serializable: violated
              found      at least 1 FracturedRead
              FracturedRead: a transaction saw one write of another one and missed another
                T3 read y = 2 of T2 although it had seen T1, so T1 came before T2, and T3 read x = 1 of T1
                although it had seen T2, so T2 came before T1: no order of them does all that.

                a                b                c
                + T1
                |                + T2 w(x,2)
                | w(x,1)         |
                + w(y,1)         |
                                 + w(y,2)
                                                  + T3 r(x,1)
                                                  + r(y,2)

                T1 -ww-> T2  T2 overwrote the version of y that T1 wrote: w(y,1), w(y,2)
                    inferred: T3, which had seen T1, read r(y,2) of T2, so T1 came first. It had seen T1,
                      because
                      T3 read the version of x that T1 wrote: w(x,1), r(x,1)
                T2 -ww-> T1  T1 overwrote the version of x that T2 wrote: w(x,2), w(x,1)
                    inferred: T3, which had seen T2, read r(x,1) of T1, so T2 came first. It had seen T2,
                      because
                      T3 read the version of y that T2 wrote: w(y,2), r(y,2)
                promise  serializable: some order of the transactions, one after another, explains everything
                         that was read, and keeps the order of every session
                broken   because a transaction saw one write of another one and missed a second one, where it
                         has to see all of them or none
                visible  in the first 3 of 3 transactions
              method     axiom of the level (causal consistency, which the level implies, is broken)
              evidence   values; session order
              figures    3 transactions, 6 operations, 2 keys, 3 nodes, 4 edges, 2 inferred edges,
                         1 strongly connected component, 2 transactions in cycles
        "#]],
    );
}

#[test]
fn what_is_unknown_says_why() {
    shows(
        TWICE,
        Level::Serializable,
        expect![[r#"
            serializable: unknown, because operation 1 of transaction #2 (key x) read a value that was written
              more than once (and 1 more like it)
              note       operation 1 of transaction #3 (key x) read a value that was written more than once
              note       operation 1 of transaction #2 (key x) read a list to which a value was appended twice
              method     dependency graph with inferred edges (version order could not be inferred for 1 key)
              evidence   values; version order: not known (1 key); session order
              figures    4 transactions, 4 operations, 1 key, 4 nodes
        "#]],
    );
}

#[test]
fn session_order_alone() {
    let history = parse(STALE_SESSION).unwrap();
    let stale = Decided { holds_without_session_order: true, ..ask(&history, Level::Serializable) };
    assert!(
        to_text(&history, &stale, &Telling::default())
            .contains("\n  it holds without session order\n")
    );
    assert_eq!(to_json(&history, &stale)["holds_without_session_order"], true);
    let summary = summary_to_text(&history, &[stale], &Telling::default());
    let words: Vec<&str> = summary.split_whitespace().collect();
    assert!(words.join(" ").contains("; it holds without session order "), "{summary}");
}

#[test]
fn long_transactions_and_lists_are_cut_and_json_has_them_whole() {
    let mut text = "initial 0\na 1: append(x,0)".to_owned();
    (0..200).for_each(|n| text += &format!(" w(k{n},1)"));
    let elements: Vec<String> = (0..300).map(|n| n.to_string()).collect();
    text += &format!("\nb 2: list(x,[{}]) w(k0,2)\n", elements.join(","));
    let history = parse(&text).unwrap();
    let thin = ask(&history, Level::ReadCommitted);
    let text = to_text(&history, &thin, &Telling::default());
    assert!(text.contains("list(x,[0,1,2") && text.contains("..."), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    let json = to_json(&history, &thin).to_string();
    assert!(json.contains(&format!("list(x,[{}])", elements.join(","))));
}
