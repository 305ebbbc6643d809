//! The few statements that every database can be asked for, SQL or not.

use std::collections::BTreeMap;

/// How large an id may be: every row up to it is made.
const MOST_ID: u32 = 99;

/// A statement on the table `test` with its columns `id` and `value`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Simple {
    /// `begin`.
    Begin,
    /// `commit`.
    Commit,
    /// `rollback`.
    Rollback,
    /// `create table test (id int primary key, value int)`.
    Create,
    /// `insert into test (id, value) values (1, 10), (2, 20)`.
    Insert(BTreeMap<u32, i64>),
    /// `select value from test where id = 1`.
    Value(u32),
    /// `select * from test where id in (1, 2) order by id`.
    Rows(Vec<u32>),
    /// `select * from test order by id`.
    All,
    /// `update test set value = 11 where id = 1`.
    Update(u32, i64),
}

/// What a statement means, if it is one of the few.
pub(crate) fn parse(statement: &str) -> Option<Simple> {
    let tokens = tokens(statement)?;
    let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
    // Rows come in this order anyway.
    let tokens = match tokens.as_slice() {
        ["select", middle @ .., "order", "by", "id"] => &tokens[..=middle.len()],
        all => all,
    };
    Some(match tokens {
        ["begin"] | ["start", "transaction"] => Simple::Begin,
        ["commit"] => Simple::Commit,
        ["rollback"] => Simple::Rollback,
        ["create", "table", "test", "(", columns @ .., ")"]
            if *columns == ["id", "int", "primary", "key", ",", "value", "int"] =>
        {
            Simple::Create
        }
        ["insert", "into", "test", "(", "id", ",", "value", ")", "values", rows @ ..] => {
            Simple::Insert(pairs(rows)?)
        }
        ["select", "value", "from", "test", "where", "id", "=", one] => Simple::Value(id(one)?),
        ["select", "*", "from", "test", "where", "id", "=", one] => Simple::Rows(vec![id(one)?]),
        ["select", "*", "from", "test", "where", "id", "in", "(", list @ .., ")"] => {
            Simple::Rows(ids(list)?)
        }
        ["select", "*", "from", "test"] => Simple::All,
        ["update", "test", "set", "value", "=", new, "where", "id", "=", one] => {
            Simple::Update(id(one)?, value(new)?)
        }
        _ => return None,
    })
}

/// Why a case cannot be run with these statements alone, if it cannot.
pub(crate) fn refusal(setup: &[String], steps: &[&str]) -> Option<String> {
    let mut rows = BTreeMap::new();
    let mut made = false;
    for statement in setup {
        match parse(statement) {
            Some(Simple::Create) if !made => made = true,
            Some(Simple::Insert(more)) if made => rows.extend(more),
            _ => return Some(format!("it cannot be set up by '{statement}'")),
        }
    }
    let known = |id: &u32| rows.contains_key(id);
    let can = |statement: &&str| match parse(statement) {
        Some(Simple::Begin | Simple::Commit | Simple::Rollback) => true,
        Some(Simple::All) => made,
        Some(Simple::Value(id) | Simple::Update(id, _)) => known(&id),
        Some(Simple::Rows(ids)) => ids.iter().all(known),
        Some(Simple::Create | Simple::Insert(_)) | None => false,
    };
    let strange = steps.iter().find(|statement| !can(statement))?;
    Some(format!("it does not support '{strange}'"))
}

/// Words in small letters, numbers, and marks.
fn tokens(statement: &str) -> Option<Vec<String>> {
    let statement = statement.trim().trim_end_matches(';');
    let mut tokens: Vec<String> = Vec::new();
    let mut inside = false;
    for c in statement.chars() {
        let of_word = c.is_ascii_alphanumeric() || c == '_';
        match tokens.last_mut() {
            Some(last) if of_word && inside => last.push(c.to_ascii_lowercase()),
            _ if of_word || "(),=*".contains(c) => tokens.push(c.to_ascii_lowercase().to_string()),
            _ if c.is_whitespace() => {}
            _ => return None,
        }
        inside = of_word;
    }
    Some(tokens)
}

fn id(text: &str) -> Option<u32> {
    text.parse().ok().filter(|id| *id <= MOST_ID)
}

/// A value that can be written: sessions take those above 0 only.
fn value(text: &str) -> Option<i64> {
    text.parse().ok().filter(|value| *value > 0)
}

/// `1, 2`, in their order and each once.
fn ids(tokens: &[&str]) -> Option<Vec<u32>> {
    let ids: Option<Vec<u32>> = tokens
        .split(|token| *token == ",")
        .map(|part| if let [one] = part { id(one) } else { None })
        .collect();
    let mut ids = ids?;
    ids.sort_unstable();
    ids.dedup();
    Some(ids)
}

/// `(1, 10), (2, 20)`, each id once.
fn pairs(tokens: &[&str]) -> Option<BTreeMap<u32, i64>> {
    let mut rows = BTreeMap::new();
    let mut rest = tokens;
    loop {
        let ["(", one, ",", two, ")", more @ ..] = rest else { return None };
        if rows.insert(id(one)?, value(two)?).is_some() {
            return None;
        }
        rest = match more {
            [] => return Some(rows),
            [",", more @ ..] => more,
            _ => return None,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_few_statements_are_understood() {
        let all = [
            ("begin", Simple::Begin),
            ("BEGIN;", Simple::Begin),
            ("commit", Simple::Commit),
            ("rollback", Simple::Rollback),
            ("create table test (id int primary key, value int)", Simple::Create),
            ("select value from test where id = 1", Simple::Value(1)),
            ("select * from test where id=2", Simple::Rows(vec![2])),
            ("select * from test where id in (2, 1,2) order by id", Simple::Rows(vec![1, 2])),
            ("select * from test order by id", Simple::All),
            ("update test set value = 11 where id = 1", Simple::Update(1, 11)),
            (
                "insert into test (id, value) values (1, 10), (2, 20)",
                Simple::Insert(BTreeMap::from([(1, 10), (2, 20)])),
            ),
        ];
        for (statement, meaning) in all {
            assert_eq!(parse(statement), Some(meaning), "{statement}");
        }
    }

    #[test]
    fn nothing_else_is() {
        for statement in [
            "",
            "begin commit",
            "selectvalue from test where id = 1",
            "select value from test where id = 1 for update",
            "select value from other where id = 1",
            "select * from test where value = 30",
            "select * from test where id in ()",
            "select * from test where id in (1,)",
            "select * from test where id in (1",
            "select * from test where id = 100",
            "select * from test where id = -1",
            "select * from test order by value",
            "update test set value = 0 where id = 1",
            "update test set value = value + 1 where id = 1",
            "update test set value = 99999999999999999999 where id = 1",
            "update test set value = 1",
            "insert into test (id, value) values",
            "insert into test (id, value) values (1, 10),",
            "insert into test (id, value) values (1, 10), (1, 20)",
            "insert into test values (1, 10)",
            "create table test (id int, value int)",
            "delete from test",
            "begin -- really",
            "bégin",
        ] {
            assert_eq!(parse(statement), None, "{statement}");
        }
    }

    #[test]
    fn a_case_has_to_do_with_its_own_rows() {
        let create = "create table test (id int primary key, value int)".to_owned();
        let insert = "insert into test (id, value) values (1, 10)".to_owned();
        let setup = [create.clone(), insert.clone()];
        let ask = "select value from test where id = 1";
        assert_eq!(refusal(&setup, &["begin", ask, "commit"]), None);
        assert!(refusal(&setup, &["select value from test where id = 2"]).is_some());
        assert!(refusal(&setup, &[&insert]).is_some());
        assert!(refusal(&[insert, create], &[ask]).is_some());
        assert!(refusal(&[], &[ask]).is_some());
        let why = refusal(&setup, &["delete from test"]).unwrap();
        assert!(why.contains("'delete from test'"), "{why}");
    }
}
