use expect_test::{Expect, expect};

use super::*;
use crate::value::Datum;

fn show(pool: &Pool, value: Value) -> String {
    match pool.datum(value) {
        Datum::List(parts) => {
            let parts: Vec<String> = parts.iter().map(|v| show(pool, v)).collect();
            format!("[{}]", parts.join(" "))
        }
        Datum::Row(parts) => {
            let pair = |(k, v)| format!("{} {}", show(pool, k), show(pool, v));
            let parts: Vec<String> = parts.pairs().map(pair).collect();
            format!("{{{}}}", parts.join(", "))
        }
        other => format!("{other:?}"),
    }
}

fn read_all(text: &[u8]) -> Result<String, Fault> {
    let mut pool = Pool::new();
    let mut edn = Edn::new(text);
    let mut out = String::new();
    loop {
        edn.skip_space()?;
        if edn.cursor.at_end() {
            return Ok(out);
        }
        // Skipping and reading must agree on where a value ends.
        let mut skipper = edn.clone();
        let value = edn.value(&mut pool)?;
        skipper.skip_value()?;
        assert_eq!(skipper.cursor.pos, edn.cursor.pos);
        out += &show(&pool, value);
        out.push('\n');
    }
}

#[allow(clippy::needless_pass_by_value)] // So that the literal stands in the call.
fn check(text: &str, expect: Expect) {
    let shown = match read_all(text.as_bytes()) {
        Ok(out) => out,
        Err(fault) => format!("{}: {}\n", fault.offset, fault.expected),
    };
    expect.assert_eq(&shown);
}

#[test]
fn numbers_of_every_kind() {
    check(
        "0 -7 +7 7N 170141183460469231731687303715884105727 170141183460469231731687303715884105728
         1.5 -1e3 2.5M 1M 1/2 1e999 ##Inf ##-Inf ##NaN -",
        expect![[r#"
            Int(0)
            Int(-7)
            Int(7)
            Int(7)
            Int(170141183460469231731687303715884105727)
            Symbol("170141183460469231731687303715884105728")
            Float(1.5)
            Float(-1000.0)
            Float(2.5)
            Float(1.0)
            Symbol("1/2")
            Symbol("1e999")
            Float(inf)
            Float(-inf)
            Float(NaN)
            Symbol("-")
        "#]],
    );
}

#[test]
fn words_strings_and_tags_keep_their_text() {
    check(
        r##"nil true false nilly :a :a/b foo.bar/Baz \a \newline \( "x\n\u00e9\ud83d\ude00\"" "a
b" #inst "2026-01-01" #foo [1 2] #{1 :b}"##,
        expect![[r##"
            Absent
            Bool(true)
            Bool(false)
            Symbol("nilly")
            Symbol(":a")
            Symbol(":a/b")
            Symbol("foo.bar/Baz")
            Symbol("\\a")
            Symbol("\\newline")
            Symbol("\\(")
            Text("x\né😀\"")
            Text("a\nb")
            Symbol("#inst \"2026-01-01\"")
            Symbol("#foo [1 2]")
            Symbol("#{1 :b}")
        "##]],
    );
}

#[test]
fn collections_nest() {
    check(
        "[] () {} [1 (2 [nil])] {:b 1, :a {\"k\" [2]}}",
        expect![[r#"
            []
            []
            {}
            [Int(1) [Int(2) [Absent]]]
            {Symbol(":a") {Text("k") [Int(2)]}, Symbol(":b") Int(1)}
        "#]],
    );
}

#[test]
fn comments_and_discarded_values_are_space() {
    check(
        "; one\n[1 #_2 3 ; two\n #_ #_ a b #_[#_ x {1 #_3 2}] #_#tag y 4]#_z",
        expect![[r#"
            [Int(1) Int(3) Int(4)]
        "#]],
    );
}

#[test]
fn faults_stand_at_their_byte() {
    check(
        "[1 2)",
        expect![[r#"
        4: expected ']'
    "#]],
    );
    check(
        "[1 2",
        expect![[r#"
        4: expected ']'
    "#]],
    );
    check(
        "{:a 1 :b}",
        expect![[r#"
        8: expected a value for the map's last key
    "#]],
    );
    check(
        "{:a 1 :a 2}",
        expect![[r#"
        0: the map has a key twice
    "#]],
    );
    check(
        "007",
        expect![[r#"
        0: expected a number
    "#]],
    );
    check(
        "12ab",
        expect![[r#"
        0: expected a number
    "#]],
    );
    check(
        "1/",
        expect![[r#"
        0: expected a number
    "#]],
    );
    check(
        "\"abc",
        expect![[r#"
        0: expected a string that ends with '"'
    "#]],
    );
    check(
        "\"\\q\"",
        expect![[r#"
        2: expected one of \" \\ \b \f \n \r \t \u
    "#]],
    );
    check(
        "#_",
        expect![[r#"
        2: expected an EDN value
    "#]],
    );
    check(
        "#",
        expect![[r#"
        0: expected an EDN value
    "#]],
    );
    check(
        "^{:a 1} x",
        expect![[r#"
        0: expected an EDN value
    "#]],
    );
    check(
        "]",
        expect![[r#"
        0: expected an EDN value
    "#]],
    );
    check(
        ":",
        expect![[r#"
        0: expected a keyword
    "#]],
    );
    check(
        "##Foo",
        expect![[r#"
        0: expected ##Inf, ##-Inf or ##NaN
    "#]],
    );
}

#[test]
fn nesting_is_limited() {
    let deep = "[".repeat(100_000);
    assert!(read_all(deep.as_bytes()).is_err());
    let deep = "#_".repeat(100_000);
    assert!(read_all(deep.as_bytes()).is_err());
    let deep = "#a ".repeat(100_000);
    assert!(read_all(deep.as_bytes()).is_err());
    let fits = format!("{}{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
    assert!(read_all(fits.as_bytes()).is_ok());
}

#[test]
fn hostile_bytes_never_panic() {
    let sample =
        br##"{:a [1 -2 "x\"\u00e9"] :b #{1} #_(c) :d #inst "2" :e \space 1.5M 1/2} ; end"##;
    for end in 0..sample.len() {
        let _ = read_all(&sample[..end]);
        for byte in [0, b'"', b'\\', b'#', b'}', b']', b'9', 0xff] {
            let mut changed = sample.to_vec();
            changed[end] = byte;
            let _ = read_all(&changed);
        }
    }
}
