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

#[test]
fn mix() {
    let settings = Settings { max_txn_len: 5, reads: Some(0.7), ..Settings::new(Kind::Mix) };
    check(
        Settings { seed: 7, ..settings },
        &expect![[r#"
        0/0: r(24) r(0) r(933) r(200) w(16)
        0/0: r(363) r(1) r(3) w(283) r(714)
        0/0: r(0) r(1) w(25) r(74) w(42)
        0/0: w(6) w(202) r(102) w(376) w(3)
        0/0: w(40) r(0) r(27) r(543) r(0)
        1/0: r(279) w(135) r(301) r(189) r(2)
        1/0: r(21) r(1) w(347) r(0) r(84)
        1/0: w(99) r(39) w(781) r(7) w(10)
        1/0: w(7) w(443) r(24) r(532) r(3)
        1/0: r(238) w(5) r(763) r(9) r(28)
        choice 380611667
    "#]],
    );
}

#[test]
fn twitter() {
    check(
        Settings { seed: 7, ..Settings::new(Kind::Twitter) },
        &expect![[r#"
            0/0: r(14) w(14) r(808) w(808)
            0/0: r(158) r(600) w(158) w(600)
            0/0: r(181) r(1001) r(1517) r(1001) r(1518) r(1000) r(1507) r(1000) r(1503) r(1001) r(1510) r(1000) r(1501)
            0/0: r(26) r(1004) r(1542) r(1480) r(6306) r(1008) r(1583) r(1002) r(1525) r(1024) r(1743) r(1002) r(1524) r(1003) r(1535) r(1000) r(1508) r(1354) r(5049)
            0/0: r(125) r(1036) r(1863) r(1454) r(6040) r(1005) r(1550) r(1000) r(1504) r(1003) r(1535)
            1/0: r(1139) w(2892) w(1139)
            1/0: r(150) r(1094) r(2441) r(1005) r(1552) r(1075) r(2254) r(1040) r(1903) r(1000) r(1502)
            1/0: r(15) r(549) w(15) w(549)
            1/0: r(50) r(1073) r(2237) r(1037) r(1879) r(1369) r(5194) r(1011) r(1615) r(1037) r(1872) r(1364) r(5146) r(1009) r(1596) r(1381) r(5311) r(1000) r(1504)
            1/0: r(1) r(1063) r(2139) r(1074) r(2242) r(1153) r(3035) r(1009) r(1598) r(1002) r(1522) r(1012) r(1624)
            choice 992357125
        "#]],
    );
}

#[test]
fn rubis() {
    check(
        Settings { seed: 7, ..Settings::new(Kind::Rubis) },
        &expect![[r#"
            0/0: r(123) w(1200)
            0/0: r(837) r(109) r(3748) r(3749) r(3750) r(3751)
            0/0: r(54) w(1210)
            0/0: r(161) r(1020) w(4483) w(1020)
            0/0: r(796) r(174) w(9096) w(174)
            1/0: r(931) r(132) r(4124) r(4125) r(4126) r(4127)
            1/0: r(1638) r(109) r(6952) r(6953) r(6954) r(6955)
            1/0: r(128) r(536) w(2546) w(536)
            1/0: r(211) w(211)
            1/0: r(1027) r(156) r(4508) r(4509) r(4510) r(4511)
            choice 3737182580
        "#]],
    );
}

#[test]
fn tpcc() {
    check(
        Settings { keys: 2, seed: 5, ..Settings::new(Kind::Tpcc) },
        &expect![[r#"
        0/0: r(0) w(0) r(8) w(8) r(653) w(653) w(11622)
        0/0: r(545) r(5522) r(9522)
        0/0: r(0) r(2) w(2) r(73) w(5022) w(7022) r(2853) r(3853) w(3853) r(2788) r(3788) w(3788) r(2597) r(3597) w(3597) r(2404) r(3404) w(3404) r(2675) r(3675) w(3675) r(2688) r(3688) w(3688) r(2945) r(3945) w(3945) r(2917) r(4917) w(4917) r(2788) r(3788) w(3788) r(2677) r(3677) w(3677) r(2129) r(3129) w(3129) r(2452) r(3452) w(3452) r(2821) r(3821) w(3821) w(9022)
        0/0: r(0) r(11) w(11) r(1007) w(5922) w(7922) r(2989) r(3989) w(3989) r(2044) r(3044) w(3044) r(2095) r(3095) w(3095) r(2596) r(3596) w(3596) r(2455) r(3455) w(3455) r(3017) r(4017) w(4017) r(2899) r(3899) w(3899) r(2853) r(3853) w(3853) r(2981) r(3981) w(3981) r(2381) r(3381) w(3381) r(2693) r(3693) w(3693) r(2196) r(3196) w(3196) w(9922)
        0/0: r(749) r(5722) r(9722)
        1/0: r(1) w(1) r(13) w(13) r(653) w(653) w(12123)
        1/0: r(1) r(21) w(21) r(2000) w(6923) w(8923) r(2649) r(4649) w(4649) r(2465) r(4465) w(4465) r(2981) r(4981) w(4981) r(2341) r(4341) w(4341) r(2261) r(4261) w(4261) r(2269) r(4269) w(4269) r(2621) r(4621) w(4621) w(10923)
        1/0: r(1) r(21) w(21) r(1969) w(6933) w(8933) r(2572) r(4572) w(4572) r(2030) r(4030) w(4030) r(2597) r(4597) w(4597) r(2867) r(4867) w(4867) r(2912) r(4912) w(4912) r(2038) r(4038) w(4038) r(2032) r(4032) w(4032) r(2744) r(4744) w(4744) r(2597) r(4597) w(4597) r(2597) r(4597) w(4597) r(2841) r(4841) w(4841) w(10933)
        1/0: r(1) w(1) r(19) w(19) r(383) w(383) w(12733)
        1/0: r(1) w(1) r(14) w(14) r(145) w(145) w(12243)
        choice 2777685290
    "#]],
    );
}
