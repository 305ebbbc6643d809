//! What a driver says of when transactions happened, and of the order of their commits.

use isolde_history::Timestamp;
use serde_json::Value;

use super::process::printable;
use crate::timestamps::{CommitOrder, ReadsAt, Timestamps};

/// The member `ts` of the answer to `commit`: the start and the commit, each an integer, a pair of physical
/// time and logical counter, or null. Nothing is known if it is missing.
pub(super) fn read(ts: Option<&Value>) -> Result<Timestamps, String> {
    let pair = match ts {
        None | Some(Value::Null) => return Ok(Timestamps::default()),
        Some(Value::Array(pair)) => pair.as_slice(),
        Some(other) => return Err(wrong(other)),
    };
    match pair {
        [start, commit] => Ok(Timestamps { start: stamp(start)?, commit: stamp(commit)? }),
        _ => Err(wrong(&Value::from(pair))),
    }
}

fn stamp(value: &Value) -> Result<Option<Timestamp>, String> {
    // The smallest integer is no time.
    let part = |value: &Value| value.as_i64().filter(|time| *time != i64::MIN);
    let stamp = match value {
        Value::Null => return Ok(None),
        Value::Array(parts) => match parts.as_slice() {
            [physical, logical] => part(physical).zip(part(logical)),
            _ => None,
        },
        plain => part(plain).map(|physical| (physical, 0)),
    };
    let (physical, logical) = stamp.ok_or_else(|| wrong(value))?;
    Ok(Some(Timestamp { physical, logical }))
}

fn wrong(found: &Value) -> String {
    let shown = printable(&found.to_string(), 80);
    format!("'ts' is [start,commit], each an integer, [physical,logical] or null: {shown}")
}

/// What a level says of the order of its commit timestamps.
pub(super) fn commit_order(level: &Value) -> Result<CommitOrder, String> {
    let member = |name| level.get(name).filter(|value| !value.is_null());
    let reads_at = match member("reads_at").map(Value::as_str) {
        None | Some(Some("start")) => ReadsAt::Start,
        Some(Some("commit")) => ReadsAt::Commit,
        Some(_) => return Err("'reads_at' of a level is 'start' or 'commit'".to_owned()),
    };
    match member("commit_order").map(Value::as_str) {
        None => Ok(CommitOrder::Unsaid),
        Some(Some("serial")) => Ok(CommitOrder::Serial(reads_at)),
        Some(_) => Err("'commit_order' of a level is 'serial', or missing".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn timestamps_are_read() {
        let hybrid = Some(Timestamp { physical: 7, logical: 1 });
        let start = Some(Timestamp::plain(-4));
        assert_eq!(read(None), Ok(Timestamps::default()));
        assert_eq!(read(Some(&json!([4, 7]))), Ok(Timestamps::plain(4, 7)));
        assert_eq!(read(Some(&json!([-4, [7, 1]]))), Ok(Timestamps { start, commit: hybrid }));
        assert_eq!(read(Some(&json!([-4, null]))), Ok(Timestamps { start, commit: None }));
        for odd in [
            json!(7),
            json!([7]),
            json!([1, 2, 3]),
            json!(["1", 2]),
            json!([1.5, 2]),
            json!([1, u64::MAX]),
            json!([1, i64::MIN]),
            json!([1, [2]]),
            json!([1, [2, null]]),
        ] {
            assert!(read(Some(&odd)).unwrap_err().contains("'ts' is"), "{odd}");
        }
    }

    #[test]
    fn what_levels_claim_is_read() {
        let said = |order: Value, reads: Value| {
            commit_order(&json!({"commit_order": order, "reads_at": reads}))
        };
        assert_eq!(commit_order(&json!({})), Ok(CommitOrder::Unsaid));
        assert_eq!(said(json!(null), json!("commit")), Ok(CommitOrder::Unsaid));
        assert_eq!(said(json!("serial"), json!(null)), Ok(CommitOrder::Serial(ReadsAt::Start)));
        assert_eq!(
            said(json!("serial"), json!("commit")),
            Ok(CommitOrder::Serial(ReadsAt::Commit))
        );
        assert!(said(json!(true), json!(null)).unwrap_err().contains("'commit_order'"));
        assert!(said(json!("serial"), json!("end")).unwrap_err().contains("'reads_at'"));
    }
}
