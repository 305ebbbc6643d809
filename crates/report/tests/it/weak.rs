//! What verdicts of weak levels look like: which reads force what nobody saw.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::needless_pass_by_value, reason = "expectations are made where they are used")]

use expect_test::expect;
use isolde_spec::Level;

use crate::shown::shows;

#[test]
fn a_causal_violation_tells_how_what_was_missed_had_been_seen() {
    shows(
        "initial 0\na: w(x,1)\nb: r(x,1) w(x,2) w(y,2)\nc: r(y,2) w(z,3)\nd: r(z,3) r(x,1)",
        Level::Causal,
        expect![[r#"
            causal: violated
              found      at least 1 CausalityViolation
              CausalityViolation: a transaction saw a value and missed something that led to it
                #3 read z = 3 of #2, and #2 read y = 2 of #1. So #3 had to see what #1 wrote, and yet it read x
                = 1, written by #0, which #1 had overwritten with 2.

                a                b                c                d
                + #0 * w(x,1)
                                 + #1 r(x,1)
                                 |                + #2
                                 |                |                + #3
                                 | * w(x,2)       |                |
                                 + * w(y,2)       |                |
                                                  | * r(y,2)       |
                                                  + * w(z,3)       |
                                                                   | * r(z,3)
                                                                   + * r(x,1)

                #3 -rw-> #1  #1 overwrote the version of x that #3 read: r(x,1), w(x,2)
                #1 -wr-> #2  #2 read the version of y that #1 wrote: w(y,2), r(y,2)
                #2 -wr-> #3  #3 read the version of z that #2 wrote: w(z,3), r(z,3)
                promise  causal: a transaction that observes T also observes everything T depends on, and a
                         session observes all that it observed before
                broken   because a transaction that reads a write has to see everything that it depends on, and
                         here something that led to it was missed
                visible  in the first 4 of 4 transactions
              method     axiom of the level (the constraints of the level do not depend on the commit order)
              evidence   values; session order
              figures    4 transactions, 8 operations, 3 keys, 4 nodes, 5 edges, 1 inferred edge,
                         1 strongly connected component, 2 transactions in cycles
        "#]],
    );
}

#[test]
fn an_older_version_tells_why_it_is_older() {
    shows(
        "initial 0\na: w(x,1)\na: w(y,1)\nb: r(y,1) w(x,2)\nc: r(x,2) w(z,1)\nd: r(z,1) r(x,1)",
        Level::Causal,
        expect![[r#"
            causal: violated
              found      at least 1 CausalityViolation
              CausalityViolation (needs session order): a transaction saw a value and missed something that led
                  to it
                #4 read x = 1, which #2 overwrote with 2, #3 read x = 2 of #2, and #4 read z = 1 of #3: no order
                of them does all that.

                a                b                c                d
                + #0 w(x,1)
                + #1 w(y,1)
                                 + #2 r(y,1)
                                 |                + #3
                                 |                |                + #4
                                 + w(x,2)         |                |
                                                  | r(x,2)         |
                                                  + w(z,1)         |
                                                                   | r(z,1)
                                                                   + r(x,1)

                #4 -rw-> #2  #2 overwrote the version of x that #4 read: r(x,1), w(x,2)
                    inferred: r(x,1) is older than what #2 wrote, because
                      #0 came before #1 in their session
                      #2 read the version of y that #1 wrote: w(y,1), r(y,1)
                #2 -wr-> #3  #3 read the version of x that #2 wrote: w(x,2), r(x,2)
                #3 -wr-> #4  #4 read the version of z that #3 wrote: w(z,1), r(z,1)
                promise  causal: a transaction that observes T also observes everything T depends on, and a
                         session observes all that it observed before
                broken   because a transaction that reads a write has to see everything that it depends on, and
                         here something that led to it was missed
                visible  in the first 5 of 5 transactions
              method     axiom of the level (the constraints of the level do not depend on the commit order)
              evidence   values; session order
              figures    5 transactions, 8 operations, 3 keys, 5 nodes, 6 edges, 1 inferred edge,
                         1 strongly connected component, 3 transactions in cycles
        "#]],
    );
}

#[test]
fn forced_edges_name_the_reads_that_force_them() {
    shows(
        "initial 0\na: w(x,1) w(y,1)\nb: w(x,2) w(y,2)\nc: r(x,1) r(y,2)",
        Level::ReadAtomic,
        expect![[r#"
            read-atomic: violated
              found      at least 1 FracturedRead
              FracturedRead: a transaction saw one write of another one and missed another
                #2 read y = 2 of #1 although it had seen #0, so #0 came before #1, and #2 read x = 1 of #0
                although it had seen #1, so #1 came before #0: no order of them does all that.

                a                b                c
                + #0
                |                + #1 w(x,2)
                | w(x,1)         |
                + w(y,1)         |
                                 + w(y,2)
                                                  + #2 r(x,1)
                                                  + r(y,2)

                #0 -ww-> #1  #1 overwrote the version of y that #0 wrote: w(y,1), w(y,2)
                    inferred: #2, which had seen #0, read r(y,2) of #1, so #0 came first. It had seen #0,
                      because
                      #2 read the version of x that #0 wrote: w(x,1), r(x,1)
                #1 -ww-> #0  #0 overwrote the version of x that #1 wrote: w(x,2), w(x,1)
                    inferred: #2, which had seen #1, read r(x,1) of #0, so #1 came first. It had seen #1,
                      because
                      #2 read the version of y that #1 wrote: w(y,2), r(y,2)
                promise  read-atomic: all writes of another transaction are seen or none, and a session sees its
                         own
                broken   because a transaction saw one write of another one and missed a second one, where it
                         has to see all of them or none
                visible  in the first 3 of 3 transactions
              method     axiom of the level (the constraints of the level do not depend on the commit order)
              evidence   values; session order
              figures    3 transactions, 6 operations, 2 keys, 3 nodes, 4 edges, 2 inferred edges,
                         1 strongly connected component, 2 transactions in cycles
        "#]],
    );
}
