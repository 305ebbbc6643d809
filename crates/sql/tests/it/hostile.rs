//! Files of cases that anybody may have written: what is wrong is refused, and what is not can be run.

use isolde_sql::case::Case;
use isolde_sql::dialect::Dialect;
use isolde_sql::generate::{Generator as _, RandomGenerator};
use isolde_sql::instrument::{contents, instrument};
use isolde_sql::json::{case_from_json, case_to_json, plan_from_json, statements_from_json};
use isolde_sql::plan::Plan;
use isolde_sql::policy::Policy;
use isolde_sql::story::script;
use serde_json::{Value, json};

/// The places of all values, however deep.
fn places(value: &Value) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut at = 0;
    while at < found.len() {
        let here = found[at].clone();
        match value.pointer(&here) {
            Some(Value::Array(items)) => {
                found.extend((0..items.len()).map(|i| format!("{here}/{i}")));
            }
            Some(Value::Object(members)) => {
                found.extend(members.keys().map(|name| format!("{here}/{name}")));
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// Whatever was read can be printed and sent.
fn used(case: &Case) {
    let policy = Policy {
        version_set: " FOR SHARE",
        before_write: " FOR UPDATE",
        one_snapshot: true,
        writes_read_newest: true,
        fails_when_busy: false,
    };
    let plan = Plan::of(case);
    let sent = instrument(case, &plan, &policy);
    assert_eq!(sent.sent.len(), sent.schedule.steps.len());
    (0..case.tables.len()).for_each(|table| assert!(contents(case, table).contains("ORDER BY")));
    assert!(script(case, &plan).contains("-- the statements"));
}

#[test]
fn no_value_that_is_another_one_makes_reading_or_printing_panic() {
    let junk = [
        json!(null),
        json!(-1),
        json!(1),
        json!(u64::MAX),
        json!(1e300),
        json!(""),
        json!([]),
        json!([[]]),
        json!({}),
        json!({"select": null}),
        json!(true),
    ];
    let (mut refused, mut read) = (0, 0);
    for number in 0..6 {
        let case = RandomGenerator::new(5, Dialect::ALL[number as usize % 4]).case(number);
        let whole = case_to_json(&case);
        for place in places(&whole) {
            for wrong in &junk {
                let mut value = whole.clone();
                *value.pointer_mut(&place).unwrap() = wrong.clone();
                match case_from_json(&value) {
                    Ok(case) => {
                        used(&case);
                        read += 1;
                    }
                    Err(_) => refused += 1,
                }
                let _ = plan_from_json(wrong, &case);
                let _ = statements_from_json(wrong, &case);
            }
        }
    }
    assert!(refused > 1_000 && read > 300, "{refused} refused, {read} read");
}
