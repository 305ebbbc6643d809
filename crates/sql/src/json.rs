//! Cases for machines: what is written is read again as the same case.

use serde_json::{Map, Value, json};

use crate::case::{Case, CaseStatement, CaseTable, CaseTransaction, Does, ReadLock};
use crate::plan::{At, Plan, Step, Turn};

/// The version of what is written.
pub const VERSION: u64 = 1;
/// How long a file with a case may be.
pub const MOST_BYTES: usize = 16 << 20;

/// What is wrong with a case: where, and what was expected.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{at}: expected {expected}")]
pub struct UnreadableJson {
    at: String,
    expected: &'static str,
}

/// A case.
pub fn case_to_json(case: &Case) -> Value {
    let table = |t: &CaseTable| json!({"name": t.name, "columns": t.columns, "parents": t.parents, "children": t.children});
    let transaction = |t: &CaseTransaction| {
        let statements: Vec<Value> = t.statements.iter().map(statement_to_json).collect();
        json!({"begin": t.begin, "statements": statements, "commits": t.commits})
    };
    json!({
        "tables": case.tables.iter().map(table).collect::<Vec<_>>(),
        "schema": case.schema,
        "rows": case.rows,
        "transactions": case.transactions.iter().map(transaction).collect::<Vec<_>>(),
        "order": case.order,
    })
}

fn statement_to_json(statement: &CaseStatement) -> Value {
    let does = match &statement.does {
        Does::Select { plain: None } => json!({"select": null}),
        Does::Select { plain: Some((table, condition)) } => {
            json!({"select": {"table": table, "condition": condition}})
        }
        Does::Insert { table, version } => json!({"insert": {"table": table, "version": version}}),
        Does::Update { table, version, condition } => {
            json!({"update": {"table": table, "version": version, "condition": condition}})
        }
        Does::Delete { table, condition } => {
            json!({"delete": {"table": table, "condition": condition}})
        }
        Does::Savepoint(name) => json!({"savepoint": name}),
        Does::RollbackTo(name) => json!({"rollback-to": name}),
        Does::Release(name) => json!({"release": name}),
    };
    json!({
        "sql": statement.sql,
        "does": does,
        "looks-at": statement.looks_at,
        "nested": statement.nested,
        "locks": lock_name(statement.locks),
        "ordered": statement.ordered,
    })
}

const LOCKS: [(ReadLock, &str); 4] = [
    (ReadLock::None, "none"),
    (ReadLock::Share, "share"),
    (ReadLock::Update, "update"),
    (ReadLock::IfFree, "if-free"),
];

fn lock_name(lock: ReadLock) -> &'static str {
    LOCKS.iter().find(|(of, _)| *of == lock).map_or("none", |(_, name)| name)
}

/// The steps of a plan: for each the transaction, and `begin`, the number of a statement, or `end`.
pub fn plan_to_json(plan: &Plan) -> Value {
    let step = |turn: &Turn| match turn.step {
        Step::Begin => json!([turn.txn, "begin"]),
        Step::Statement(at) => json!([turn.txn, at]),
        Step::End => json!([turn.txn, "end"]),
    };
    plan.turns().iter().map(step).collect()
}

/// Statements, each as its transaction and its number there.
pub fn statements_to_json(statements: &[At]) -> Value {
    statements.iter().map(|(txn, at)| json!([txn, at])).collect()
}

/// A place in a value, for messages.
struct Place<'v> {
    value: &'v Value,
    at: String,
}

type Read<T> = Result<T, UnreadableJson>;

impl<'v> Place<'v> {
    fn expected<T>(&self, expected: &'static str) -> Read<T> {
        Err(UnreadableJson { at: self.at.clone(), expected })
    }

    fn member(&self, name: &str) -> Read<Place<'v>> {
        let at = format!("{}.{name}", self.at);
        match self.value.get(name) {
            Some(value) => Ok(Place { value, at }),
            None => Err(UnreadableJson { at, expected: "a member of this name" }),
        }
    }

    fn items(&self) -> Read<Vec<Place<'v>>> {
        let Some(items) = self.value.as_array() else { return self.expected("an array") };
        let place = |(i, value)| Place { value, at: format!("{}[{i}]", self.at) };
        Ok(items.iter().enumerate().map(place).collect())
    }

    fn each<T>(&self, read: impl Fn(&Place<'v>) -> Read<T>) -> Read<Vec<T>> {
        self.items()?.iter().map(read).collect()
    }

    fn text(&self) -> Read<String> {
        self.value.as_str().map_or_else(|| self.expected("a text"), |text| Ok(text.to_owned()))
    }

    fn optional_text(&self) -> Read<Option<String>> {
        if self.value.is_null() { Ok(None) } else { self.text().map(Some) }
    }

    fn truth(&self) -> Read<bool> {
        self.value.as_bool().map_or_else(|| self.expected("true or false"), Ok)
    }

    fn number(&self) -> Read<i64> {
        self.value.as_i64().map_or_else(|| self.expected("an integer"), Ok)
    }

    /// The number of one of so many things.
    fn one_of(&self, count: usize) -> Read<usize> {
        let number = self.value.as_u64().and_then(|number| usize::try_from(number).ok());
        match number.filter(|number| *number < count) {
            Some(number) => Ok(number),
            None => self.expected("the number of one that is there"),
        }
    }
}

/// A case, from what [`case_to_json`] writes.
pub fn case_from_json(value: &Value) -> Result<Case, UnreadableJson> {
    let top = Place { value, at: "case".to_owned() };
    let count = top.member("tables")?.items()?.len();
    let tables = top.member("tables")?.each(|table| {
        let one = |place: &Place<'_>| place.one_of(count);
        let columns = table.member("columns")?.each(Place::text)?;
        if columns.len() < 2 {
            return table.member("columns")?.expected("a primary key and a version key");
        }
        Ok(CaseTable {
            name: table.member("name")?.text()?,
            columns,
            parents: table.member("parents")?.each(one)?,
            children: table.member("children")?.each(one)?,
        })
    })?;
    let transactions = top.member("transactions")?.each(|transaction| {
        Ok(CaseTransaction {
            begin: transaction.member("begin")?.text()?,
            statements: transaction.member("statements")?.each(|s| statement(s, count))?,
            commits: transaction.member("commits")?.truth()?,
        })
    })?;
    let one = |place: &Place<'_>| place.one_of(transactions.len());
    Ok(Case {
        tables,
        schema: top.member("schema")?.each(Place::text)?,
        rows: top.member("rows")?.each(Place::text)?,
        order: top.member("order")?.each(one)?,
        transactions,
    })
}

fn statement(place: &Place<'_>, tables: usize) -> Read<CaseStatement> {
    let lock = place.member("locks")?;
    let name = lock.text()?;
    let Some((locks, _)) = LOCKS.iter().find(|(_, of)| *of == name) else {
        return lock.expected("none, share, update or if-free");
    };
    Ok(CaseStatement {
        sql: place.member("sql")?.text()?,
        does: does(&place.member("does")?, tables)?,
        looks_at: place.member("looks-at")?.each(|table| table.one_of(tables))?,
        nested: place.member("nested")?.truth()?,
        locks: *locks,
        ordered: place.member("ordered")?.truth()?,
    })
}

fn does(place: &Place<'_>, tables: usize) -> Read<Does> {
    const EXPECTED: &str =
        "an object with one of select, insert, update, delete, savepoint, rollback-to, release";
    let only = |object: &Map<String, Value>| match object.len() {
        1 => object.keys().next().cloned(),
        _ => None,
    };
    let Some(word) = place.value.as_object().and_then(only) else {
        return place.expected(EXPECTED);
    };
    let inner = place.member(&word)?;
    let table = || inner.member("table")?.one_of(tables);
    let version = || inner.member("version")?.number();
    let condition = || inner.member("condition")?.optional_text();
    Ok(match word.as_str() {
        "select" if inner.value.is_null() => Does::Select { plain: None },
        "select" => Does::Select { plain: Some((table()?, condition()?)) },
        "insert" => Does::Insert { table: table()?, version: version()? },
        "update" => Does::Update { table: table()?, version: version()?, condition: condition()? },
        "delete" => Does::Delete { table: table()?, condition: condition()? },
        "savepoint" => Does::Savepoint(inner.text()?),
        "rollback-to" => Does::RollbackTo(inner.text()?),
        "release" => Does::Release(inner.text()?),
        _ => return place.expected(EXPECTED),
    })
}

/// The steps of a plan for a case, from what [`plan_to_json`] writes.
pub fn plan_from_json(value: &Value, case: &Case) -> Result<Plan, UnreadableJson> {
    let top = Place { value, at: "plan".to_owned() };
    let turns = top.each(|turn| {
        let items = turn.items()?;
        let [txn, step] = &items[..] else {
            return turn.expected("a transaction and what it does");
        };
        let txn = txn.one_of(case.transactions.len())?;
        let step = match step.value.as_str() {
            Some("begin") => Step::Begin,
            Some("end") => Step::End,
            Some(_) => return step.expected("begin, end or the number of a statement"),
            None => Step::Statement(step.one_of(case.transactions[txn].statements.len())?),
        };
        Ok(Turn { txn, step })
    })?;
    Ok(Plan::from_turns(turns))
}

/// Statements of a case, from what [`statements_to_json`] writes.
pub fn statements_from_json(value: &Value, case: &Case) -> Result<Vec<At>, UnreadableJson> {
    let top = Place { value, at: "statements".to_owned() };
    top.each(|statement| {
        let items = statement.items()?;
        let [txn, at] = &items[..] else {
            return statement.expected("a transaction and one of its statements");
        };
        let txn = txn.one_of(case.transactions.len())?;
        Ok((txn, at.one_of(case.transactions[txn].statements.len())?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::Dialect;
    use crate::generate::{Generator as _, RandomGenerator};

    #[test]
    fn a_case_that_was_written_is_read_as_the_same() {
        for dialect in Dialect::ALL {
            for number in 0..50 {
                let case = RandomGenerator::new(11, dialect).case(number);
                let text = case_to_json(&case).to_string();
                let again = case_from_json(&serde_json::from_str(&text).unwrap()).unwrap();
                assert_eq!(again, case);
                let plan = Plan::of(&case);
                assert_eq!(plan_from_json(&plan_to_json(&plan), &case), Ok(plan.clone()));
                let all: Vec<At> = plan.statements().collect();
                assert_eq!(statements_from_json(&statements_to_json(&all), &case), Ok(all));
            }
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let case = RandomGenerator::new(1, Dialect::ALL[0]).case(3);
        let whole = case_to_json(&case);
        let check = |pointer: &str, wrong: Value, expect: &str| {
            let mut value = whole.clone();
            *value.pointer_mut(pointer).unwrap() = wrong;
            assert_eq!(case_from_json(&value).unwrap_err().to_string(), expect);
        };
        check("/tables", json!(7), "case.tables: expected an array");
        let two = "case.tables[0].columns: expected a primary key and a version key";
        check("/tables/0/columns", json!(["pkey"]), two);
        let there = "case.order[0]: expected the number of one that is there";
        check("/order/0", json!(99), there);
        check("/order/0", json!(-1), there);
        let does = "/transactions/0/statements/0/does";
        let object = "case.transactions[0].statements[0].does: expected an object with one of select, insert, update, \
                      delete, savepoint, rollback-to, release";
        check(does, json!({"select": null, "insert": null}), object);
        check(does, json!({"vacuum": {}}), object);
        check(
            does,
            json!({"insert": {"table": 9, "version": 1}}),
            "case.transactions[0].statements[0].does.insert.table: expected the number of one that is there",
        );
    }
}
