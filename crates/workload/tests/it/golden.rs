//! The same seed gives the same plans, today and tomorrow: who repeats a run must get the same one.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write;

use expect_test::{Expect, expect};
use isolde_spec::Anomaly;
use isolde_workload::{Distribution, Kind, Settings, TxnPlan, Workload};

/// The first plans of two sessions, a line each: round, operations with rows, rollback.
fn check(settings: Settings, expected: &Expect) {
    let workload = Workload::new(settings).unwrap();
    let mut text = String::new();
    let mut plan = TxnPlan::default();
    for session in [0, 1] {
        let mut script = workload.script(session);
        for _ in 0..5 {
            script.next(&mut plan);
            write!(text, "{session}/{}:", plan.round).unwrap();
            for step in &plan.steps {
                write!(text, " {}({})", step.kind.name(), step.row).unwrap();
            }
            text.push_str(if plan.rolls_back { " rollback\n" } else { "\n" });
        }
    }
    let choice = plan.steps[0].choice;
    writeln!(text, "choice {choice}").unwrap();
    expected.assert_eq(&text);
}

#[test]
fn mini() {
    let rollbacks = 0.2;
    check(
        Settings { rollbacks, seed: 7, ..Settings::new(Kind::Mini) },
        &expect![[r#"
        0/0: r(862) w(862)
        0/0: r(933) w(933) r(549)
        0/0: r(893)
        0/0: r(270)
        0/0: r(536) r(808)
        1/0: r(279)
        1/0: r(523) w(523) w(523) r(523) rollback
        1/0: r(708) r(234) rollback
        1/0: r(496) r(855) w(855) rollback
        1/0: r(226) w(226)
        choice 3055617209
    "#]],
    );
}

#[test]
fn mini_that_favours_an_anomaly() {
    let favour = Some(Anomaly::WriteSkew);
    check(
        Settings { favour, seed: 7, ..Settings::new(Kind::Mini) },
        &expect![[r#"
        0/0: r(1) r(0) w(1)
        0/0: r(0) w(0) r(1)
        0/0: r(1) w(1) r(0)
        0/0: r(1) r(0) w(0)
        0/0: r(0) r(1) w(0)
        1/0: r(1) r(0) w(1)
        1/0: r(4) r(189) w(4)
        1/0: r(1) r(0) w(1)
        1/0: r(1) w(1) r(0)
        1/0: r(1) r(0) w(1)
        choice 4043213945
    "#]],
    );
}

#[test]
fn general() {
    let distribution = Distribution::Zipf(1.0);
    check(
        Settings { distribution, seed: 7, ..Settings::new(Kind::General) },
        &expect![[r#"
        0/0: w(24) w(0) w(14) w(933) w(0) w(11) w(16) w(2)
        0/0: w(0) w(9) w(3) w(15) w(12) w(714) w(568) w(0)
        0/0: w(4) w(25) w(0) w(36) w(42) w(29) w(6) w(760)
        0/0: r(102) w(102) r(376) w(376) r(3) w(3) r(52) w(52)
        0/0: w(3) w(27) w(5) w(1) w(0) w(1) w(709) w(20)
        1/0: r(279) r(11) r(924) r(301) r(4) r(0) r(2) r(234)
        1/0: r(0) r(22) r(347) r(4) r(226) r(84) r(550) r(99)
        1/0: r(194) r(781) r(0) r(147) r(10) r(65) r(7) r(9)
        1/0: w(24) w(400) w(66) w(3) w(9) w(238) w(15) w(4)
        1/0: r(2) r(0) r(28) r(595) r(4) r(236) r(923) r(445)
        choice 3762554930
    "#]],
    );
}

#[test]
fn append() {
    check(
        Settings { round: 3, seed: 7, ..Settings::new(Kind::Append) },
        &expect![[r#"
        0/0: append(61) list(79)
        0/0: append(20) append(1) list(58)
        0/0: list(73) append(53)
        0/1: append(71) list(18) append(41) list(93)
        0/1: list(3)
        1/0: append(66)
        1/0: append(30) append(18) list(54) append(69)
        1/0: append(85) list(64)
        1/1: append(8)
        1/1: append(80) list(19) append(98) list(14)
        choice 303281575
    "#]],
    );
}

#[test]
fn cas() {
    check(
        Settings { round: 4, seed: 7, ..Settings::new(Kind::Cas) },
        &expect![[r#"
        0/0: r(8)
        0/0: r(7)
        0/0: r(3)
        0/0: cas(3)
        0/1: insert(3)
        1/0: insert(2)
        1/0: insert(9)
        1/0: cas(9)
        1/0: insert(5)
        1/1: insert(8)
        choice 2573713677
    "#]],
    );
}

#[test]
fn register() {
    let distribution = Distribution::Hotspot { keys: 10.0, operations: 90.0 };
    check(
        Settings { distribution, seed: 7, ..Settings::new(Kind::Register) },
        &expect![[r#"
        0/0: w(57) r(77)
        0/0: w(11) w(16) r(53)
        0/0: r(70) w(48)
        0/0: w(68) r(10) w(35) r(92)
        0/0: r(35)
        1/0: w(62)
        1/0: w(301) w(189) r(49) w(65)
        1/0: w(84) r(60)
        1/0: w(83)
        1/0: w(78) r(10) w(98) r(5)
        choice 303281575
    "#]],
    );
}
