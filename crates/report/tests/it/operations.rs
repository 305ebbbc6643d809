//! What verdicts on single operations look like.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::needless_pass_by_value, reason = "expectations are made where they are used")]

use expect_test::expect;
use isolde_history::notation::parse;
use isolde_report::to_json;
use isolde_spec::Level;

use crate::shown::{ask, shows};

#[test]
fn operations_that_cannot_be_put_in_order() {
    shows(
        "clock events\na 1: w(x,1) @[0,1]\nb 2: w(x,2) @[2,5]\nc 3: r(x,2) @[3,4]\n\
         a 4: w(x,3) @[6,7]\nc 5: r(x,1) @[8,9]\nb 6: r(x,3) @[8,9]\n",
        Level::Linearizable,
        expect![[r#"
            linearizable: violated
              found      1 NotLinearizable
              NotLinearizable (needs real time): no order of the operations on an object explains what they
                  returned
                T5 read x = 1, and no order explains that: after w(x,3) x holds 3, but r(x,1) returned 1, and
                the only write of 1 until then, w(x,1), had been overwritten by w(x,3) before that began.

                event  a                c
                    0  + T1 w(x,1)
                    1  + committed
                    6  + T4 w(x,3)
                    7  + committed
                    8                   + T5 r(x,1)
                    9                   + committed

                order    longest that explains what it holds: T1 w(x,1), T4 w(x,3)
                stuck    T5 r(x,1) cannot come next
                promise  linearizable: every operation takes effect at one moment between its beginning and its
                         end
                broken   because every operation has to take effect at one moment between its beginning and its
                         end, and there are no such moments that explain what was returned
                visible  in the first 5 of 6 transactions
              method     linearization (it is a local property, and every transaction is one operation)
              evidence   values; client intervals
              figures    6 transactions, 6 operations, 1 key
        "#]],
    );
}

#[test]
fn a_mutex_that_two_hold() {
    shows(
        "meta model mutex\ninitial free\na: cas(m,free,held) @[0,10]\nb: cas(m,free,held) @[5,20]\n\
         a: cas(m,held,free) @[30,40]\n",
        Level::Linearizable,
        expect![[r#"
            linearizable: violated
              found      1 NotLinearizable
              NotLinearizable: no order of the operations on an object explains what they returned
                #1 set m to held, and no order explains that: after cas(m,free,held) m holds held, but
                cas(m,free,held) found free.

                ns  a                      b
                 0  + #0 cas(m,free,held)
                 5  |                      + #1 cas(m,free,held)
                10  + committed            |
                20                         + committed

                order    longest that explains what it holds: #0 cas(m,free,held)
                stuck    #1 cas(m,free,held) cannot come next
                promise  linearizable: every operation takes effect at one moment between its beginning and its
                         end
                broken   because every operation has to take effect at one moment between its beginning and its
                         end, and there are no such moments that explain what was returned
                visible  in the first 2 of 3 transactions
              method     linearization (it is a local property, and every transaction is one operation)
              evidence   values; client intervals
              figures    3 transactions, 3 operations, 1 key, 2 steps
        "#]],
    );
}

#[test]
fn a_text_without_a_piece() {
    shows(
        "meta model string-append\ninitial \"\"\na: append(k,\"one \") @[0,1]\n\
         b: append(k,\"two \") @[0,4]\na: r(k,\"two \") @[2,3]\n",
        Level::Linearizable,
        expect![[r#"
            linearizable: violated
              found      1 NotLinearizable
              NotLinearizable (needs real time): no order of the operations on an object explains what they
                  returned
                #2 read k = "two ", and no order explains that: after append(k,"one ") k holds "one ", but
                r(k,"two ") returned something else.

                ns  a                      b
                 0  + #0 append(k,"one ")
                 0  |                      + #1 append(k,"two ")
                 1  + committed            |
                 2  + #2 r(k,"two ")       |
                 3  + committed            |
                 4                         + committed

                order    longest that explains what it holds: #0 append(k,"one ")
                stuck    #2 r(k,"two ") cannot come next
                promise  linearizable: every operation takes effect at one moment between its beginning and its
                         end
                broken   because every operation has to take effect at one moment between its beginning and its
                         end, and there are no such moments that explain what was returned
                visible  in the first 3 of 3 transactions
              method     linearization (it is a local property, and every transaction is one operation)
              evidence   values; client intervals
              figures    3 transactions, 3 operations, 1 key, 3 steps
        "#]],
    );
}

#[test]
fn json_says_what_is_stuck() {
    let text = "initial 0\na 1: w(x,1) @[1,2]\nb 2: r(x,0) @[5,6]\n";
    let history = parse(text).unwrap();
    let json = to_json(&history, &ask(&history, Level::Linearizable));
    let stuck = &json["witnesses"][0]["stuck"];
    expect![[r#"
        {
          "longest_order": [
            {
              "begin": 1,
              "end": 2,
              "operation": "w(x,1)",
              "transaction": "T1"
            }
          ],
          "operation": {
            "begin": 5,
            "end": 6,
            "operation": "r(x,0)",
            "transaction": "T2"
          },
          "why": "after w(x,1) x holds 1, but r(x,0) returned 0, which was there at first only, and w(x,1) had replaced it before that began"
        }
    "#]].assert_eq(&(serde_json::to_string_pretty(stuck).unwrap() + "\n"));
}
