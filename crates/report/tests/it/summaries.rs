//! What verdicts on all levels look like together.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::needless_pass_by_value, reason = "expectations are made where they are used")]

use expect_test::expect;
use isolde_history::notation::parse;
use isolde_report::{summary_to_json, to_json};
use isolde_spec::Level;

use crate::shown::{ask, ask_all, sums_up};

const SKEW: &str = "initial 0\na 1: r(x,0) r(y,0) w(x,1)\nb 2: r(x,0) r(y,0) w(y,1)\n";
const STALE_CLOCK: &str = "initial 0\na 1: r(x,0) w(x,1) @[1,2]\nb 2: r(x,0) @[5,6]\n";
const TWICE: &str = "a: append(x,1)\nb: append(x,1)\nc: list(x,[1])\nd: list(x,[1])\n";

#[test]
fn without_a_level_the_strongest_that_holds() {
    sums_up(
        SKEW,
        expect![[r#"
            strongest level that holds: snapshot-isolation
              method     dependency graph (version order known for all keys)
              evidence   values; version order: one version (2 keys); session order
              figures    2 transactions, 6 operations, 2 keys, 2 nodes, 2 edges
            violated or undecided:
              repeatable-read            violated: WriteSkew
              strong-snapshot-isolation  unknown: not every transaction has an interval, so real time cannot be
                                         checked
              serializable               violated: WriteSkew
              strict-serializable        violated: WriteSkew
            why serializable is violated:
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
fn two_levels_may_be_the_strongest() {
    let text = "initial 0\n\
        a 1: r(x,0) @[10,20]\nb 2: w(x,1) r(y,0) @[1,30]\nc 3: w(y,1) @[1,5]\n";
    sums_up(
        text,
        expect![[r#"
            strongest levels that hold: strong-snapshot-isolation and serializable
              method     dependency graph (version order known for all keys)
              evidence   values; version order: one version (2 keys); session order
              figures    3 transactions, 4 operations, 2 keys, 3 nodes, 2 edges
            violated or undecided:
              strict-serializable  violated: G2-item (needs real time)
            why strict-serializable is violated:
              G2-item (needs real time): a cycle with adjacent anti-dependencies
                T1 read x = 0, which T2 overwrote with 1; T2 read y = 0, which T3 overwrote with 1; T1 began
                after T3 had ended: each of T1, T2 and T3 must come before the next, and the last before the
                first.

                ns  b                c                a
                 1  + T2
                 1  |                + T3
                    | w(x,1)         |
                    | r(y,0)         |
                    |                | w(y,1)
                 5  |                + committed
                10  |                                 + T1 r(x,0)
                20  |                                 + committed
                30  + committed

                T1 -rw-> T2  T2 overwrote the version of x that T1 read: r(x,0), w(x,1)
                T2 -rw-> T3  T3 overwrote the version of y that T2 read: r(y,0), w(y,1)
                T3 -rt-> T1  T3 had ended before T1 began
                promise  strict-serializable: some order of the transactions, one after another, explains
                         everything that was read, and if one transaction ended before another began, it comes
                         first in the order
                broken   because a transaction that missed a write comes before its writer, and these come
                         before each other in a circle
                visible  in the first 3 of 3 transactions
              method     dependency graph (version order known for all keys)
              evidence   values; version order: one version (2 keys); session order; client intervals
              figures    3 transactions, 4 operations, 2 keys, 4 nodes, 4 edges, 1 strongly connected component,
                         3 transactions in cycles, 2 anti-dependencies in cycles
              search     563 edges of a budget of 2,000,000
        "#]],
    );
}

#[test]
fn no_level_at_all() {
    sums_up(
        "initial 0\na: w(x,1) r(x,0)\n",
        expect![[r#"
            no level is known to hold
              read-uncommitted           violated: NotMyOwnWrite
              pl-2                       violated: NotMyOwnWrite
              read-committed             violated: NotMyOwnWrite
              cursor-stability           violated: NotMyOwnWrite
              read-atomic                violated: NotMyOwnWrite
              causal                     violated: NotMyOwnWrite
              prefix                     violated: NotMyOwnWrite
              repeatable-read            violated: NotMyOwnWrite
              snapshot-isolation         violated: NotMyOwnWrite
              strong-snapshot-isolation  violated: NotMyOwnWrite
              serializable               violated: NotMyOwnWrite
              strict-serializable        violated: NotMyOwnWrite
            why read-uncommitted is violated:
              NotMyOwnWrite: a transaction wrote a key and then read another value of it
                #0 wrote x = 1 and then read x = 0.

                a
                + #0 w(x,1)
                + r(x,0)

                promise  read-uncommitted: transactions do not overwrite each other in a cycle, and each one
                         sees its own writes
                broken   because a transaction that has written a key has to read its own write of it, and this
                         one read something else
                visible  in the first 1 of 1 transactions
              method     axiom of the level (only the version order that lists or the recorder show counts)
              evidence   values
              figures    1 transaction, 2 operations, 1 key, 1 node
        "#]],
    );
}

#[test]
fn nothing_is_certain() {
    sums_up(
        TWICE,
        expect![[r#"
            no level is known to hold
              note       operation 1 of transaction #2 (key x) read a value that was written more than once
              note       operation 1 of transaction #3 (key x) read a value that was written more than once
              method     axiom of the level (only the version order that lists or the recorder show counts)
              evidence   values
              figures    4 transactions, 4 operations, 1 key, 4 nodes
            violated or undecided:
              read-uncommitted           unknown: operation 1 of transaction #2 (key x) read a list to which a
                                         value was appended twice
              pl-2                       unknown: operation 1 of transaction #2 (key x) read a value that was
                                         written more than once (and 1 more like it)
              read-committed             unknown, for the same reason
              cursor-stability           unknown, for the same reason
              read-atomic                unknown, for the same reason
              causal                     unknown, for the same reason
              prefix                     unknown, for the same reason
              repeatable-read            unknown, for the same reason
              snapshot-isolation         unknown, for the same reason
              strong-snapshot-isolation  unknown, for the same reason
              serializable               unknown, for the same reason
              strict-serializable        unknown, for the same reason
        "#]],
    );
}

#[test]
fn json_has_everything_of_a_verdict() {
    let history = parse(STALE_CLOCK).unwrap();
    let json = to_json(&history, &ask(&history, Level::StrictSerializable));
    expect![[r#"
        {
          "answer": "violated",
          "by": "values",
          "counts": [
            {
              "anomaly": "G-single",
              "at_least": true,
              "count": 1,
              "over_the_run": [
                0,
                1
              ]
            }
          ],
          "holds_without_session_order": false,
          "level": "strict-serializable",
          "notes": [],
          "procedure": {
            "evidence": [
              "values",
              "version order: one version (1 key)",
              "session order",
              "client intervals"
            ],
            "figures": {
              "anti_dependencies_in_cycles": 1,
              "divergences": 0,
              "edges": 3,
              "inferred_edges": 0,
              "keys": 1,
              "nodes": 3,
              "operations": 3,
              "search_budget": 2000000,
              "search_spent": 111,
              "strongly_connected_components": 1,
              "transactions": 2,
              "transactions_in_cycles": 2
            },
            "name": "graph",
            "over_the_run": {
              "anti_dependencies_in_cycles": [
                0,
                1
              ],
              "transactions_in_cycles": [
                1,
                1
              ]
            },
            "why": "version order known for all keys"
          },
          "reason": null,
          "seconds": 0.5,
          "session_order": true,
          "witnesses": [
            {
              "adya": "G-single",
              "anomaly": "G-single",
              "broken_because": "a transaction came after another one, directly or over others in between, and missed a write of it",
              "cycle": [
                {
                  "from": "T1",
                  "from_operation": null,
                  "inferred": false,
                  "key": null,
                  "kind": "rt",
                  "sentence": "T1 had ended before T2 began",
                  "to": "T2",
                  "to_operation": null
                },
                {
                  "from": "T2",
                  "from_operation": "r(x,0)",
                  "inferred": false,
                  "key": "x",
                  "kind": "rw",
                  "sentence": "T1 overwrote the version of x that T2 read: r(x,0), w(x,1)",
                  "to": "T1",
                  "to_operation": "w(x,1)"
                }
              ],
              "excerpt": "incomplete\ninitial 0\na 1: r(x,0) w(x,1) @[1,2]\nb 2: r(x,0) @[5,6]\n",
              "forbidden_from": "strong-snapshot-isolation",
              "id": "strict-serializable-1",
              "meaning": "a cycle with exactly one anti-dependency",
              "mirrored": null,
              "needs": [
                "rt"
              ],
              "operations": [],
              "position": 2,
              "promise": "some order of the transactions, one after another, explains everything that was read, and if one transaction ended before another began, it comes first in the order",
              "story": "T2 began after T1 had ended, and yet it read x = 0, the initial value, which T1 had overwritten with 1.",
              "stuck": null,
              "support": [],
              "timed": null,
              "timeline": {
                "left_out": 0,
                "nodes": [
                  null,
                  null
                ],
                "rows": [
                  {
                    "detail": null,
                    "session": "a",
                    "shows_it": false,
                    "time": 1,
                    "transaction": "T1",
                    "what": "begin"
                  },
                  {
                    "detail": "r(x,0)",
                    "session": "a",
                    "shows_it": false,
                    "time": null,
                    "transaction": "T1",
                    "what": "operation"
                  },
                  {
                    "detail": "w(x,1)",
                    "session": "a",
                    "shows_it": true,
                    "time": null,
                    "transaction": "T1",
                    "what": "operation"
                  },
                  {
                    "detail": "committed",
                    "session": "a",
                    "shows_it": false,
                    "time": 2,
                    "transaction": "T1",
                    "what": "end"
                  },
                  {
                    "detail": null,
                    "session": "b",
                    "shows_it": false,
                    "time": 5,
                    "transaction": "T2",
                    "what": "begin"
                  },
                  {
                    "detail": "r(x,0)",
                    "session": "b",
                    "shows_it": true,
                    "time": null,
                    "transaction": "T2",
                    "what": "operation"
                  },
                  {
                    "detail": "committed",
                    "session": "b",
                    "shows_it": false,
                    "time": 6,
                    "transaction": "T2",
                    "what": "end"
                  }
                ],
                "sessions": [
                  "a",
                  "b"
                ],
                "times": "nanoseconds"
              },
              "transactions": [
                {
                  "commit_ts": null,
                  "name": "T1",
                  "notation": "a 1: r(x,0) w(x,1) @[1,2]",
                  "number": 0,
                  "start_ts": null
                },
                {
                  "commit_ts": null,
                  "name": "T2",
                  "notation": "b 2: r(x,0) @[5,6]",
                  "number": 1,
                  "start_ts": null
                }
              ],
              "variant": "real-time"
            }
          ]
        }
    "#]]
    .assert_eq(&(serde_json::to_string_pretty(&json).unwrap() + "\n"));
}

#[test]
fn json_has_the_summary() {
    let history = parse(SKEW).unwrap();
    let json = summary_to_json(&ask_all(&history));
    assert_eq!(json["strongest"], serde_json::json!(["snapshot-isolation"]));
    let others = json["not_shown_to_hold"].as_array().unwrap();
    let of = |level: &str| others.iter().find(|o| o["level"] == level).unwrap();
    assert_eq!(of("serializable")["violated_by"][0]["anomaly"], "WriteSkew");
    assert_eq!(of("repeatable-read")["violated_by"][0]["anomaly"], "WriteSkew");
    assert!(of("strong-snapshot-isolation")["reason"].as_str().unwrap().contains("interval"));
    assert_eq!(json["plainest_violation_of"], "serializable");
}
