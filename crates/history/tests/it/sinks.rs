//! A sink outside the crate sees all that the crate's own see.

use std::path::{Path, PathBuf};

use isolde_history::{
    Entity, Event, Format, HistoryBuilder, Key, Meta, Op, OpKind, Pool, Sink, SinkError, Source,
    TxnDraft, Value, Warning,
};

/// Makes every transaction anew from what its draft says, and keeps the copies only.
struct Copyist {
    builder: HistoryBuilder,
    copy: TxnDraft,
}

impl Copyist {
    fn new() -> Copyist {
        Copyist { builder: HistoryBuilder::new(), copy: TxnDraft::default() }
    }

    fn copy(&mut self, txn: &TxnDraft) {
        let copy = &mut self.copy;
        copy.reset(txn.session);
        (copy.outcome, copy.label, copy.interval) = (txn.outcome, txn.label, txn.interval);
        (copy.start, copy.commit) = (txn.start, txn.commit);
        for (name, value) in txn.attrs() {
            copy.attr(name, value);
        }
        for stmt in txn.stmts() {
            copy.begin_statement();
            for op in stmt.ops() {
                copy_op(copy, &op);
                for (name, value) in txn.op_attrs(op.id()) {
                    copy.op_attr(name, value);
                }
            }
            copy.end_statement();
            copy.statement_interval(stmt.interval());
            for (name, value) in stmt.attrs() {
                copy.stmt_attr(name, value);
            }
        }
    }
}

fn copy_op(copy: &mut TxnDraft, op: &Op<'_>) {
    let (key, value, effect) = (op.key(), op.value(), op.effect());
    match op.kind() {
        OpKind::Read => copy.read(key, value),
        OpKind::Write => copy.write(key, value),
        OpKind::Append => copy.append(key, value),
        OpKind::ListRead => copy.list_read(key, op.elements()).unwrap(),
        OpKind::Cas => copy.cas(key, op.expected().unwrap(), value, effect),
        OpKind::InsertIfAbsent => copy.insert_if_absent(key, value, effect),
        OpKind::Delete => copy.delete(key, effect),
        OpKind::PredicateRead => {
            let rows: Option<Vec<(Key, Value)>> = op.result_set().map(Iterator::collect);
            copy.predicate_read(value, rows.as_deref()).unwrap();
        }
        OpKind::Savepoint => copy.savepoint(value),
        OpKind::RollbackTo => assert!(copy.rollback_to(value)),
        OpKind::Release => assert!(copy.release(value)),
    }
    copy.set_effect(effect);
}

impl Sink for Copyist {
    fn pool(&mut self) -> &mut Pool {
        self.builder.pool()
    }

    fn meta(&mut self) -> &mut Meta {
        self.builder.meta()
    }

    fn transaction(&mut self, txn: &TxnDraft) -> Result<(), SinkError> {
        self.copy(txn);
        let undone = |txn: &TxnDraft| txn.ops().map(|op| op.undone()).collect::<Vec<_>>();
        assert_eq!(undone(&self.copy), undone(txn));
        assert_eq!((txn.ops().len(), txn.stmts().len()), (txn.op_count(), txn.stmt_count()));
        self.builder.transaction(&self.copy)
    }

    fn event(&mut self, event: Event) -> Result<(), SinkError> {
        self.builder.event(event)
    }

    fn version_order(&mut self, key: Key, versions: &[Value]) -> Result<(), SinkError> {
        self.builder.version_order(key, versions)
    }

    fn warn(&mut self, warning: Warning) {
        self.builder.warn(warning);
    }
}

/// Every history of a collection.
fn histories(folder: &Path) -> Vec<PathBuf> {
    let table = std::fs::read_to_string(folder.join("expected.tsv")).unwrap();
    let names = table.lines().filter(|line| !line.starts_with('#')).skip(1);
    let mut paths: Vec<PathBuf> =
        names.map(|line| folder.join(line.split('\t').next().unwrap())).collect();
    paths.dedup();
    paths
}

/// Histories of a few megabytes at most: the shared ones have some that take longer than they tell.
const MOST_BYTES: usize = 4 << 20;

fn is_copied_whole(path: &Path) -> bool {
    let source = Source::open(path).unwrap_or_else(|e| panic!("{e}"));
    if source.len() > MOST_BYTES {
        return false;
    }
    let format = Format::recognise(&source).unwrap_or_else(|e| panic!("{e}"));
    let (want, warned) = format.load(&source).unwrap().finish_with_warnings();
    let mut copyist = Copyist::new();
    (format.read)(&source, &mut copyist).unwrap();
    let (read, warnings) = copyist.builder.finish_with_warnings();
    want.same_as(&read).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    assert_eq!(warnings, warned, "{}", path.display());
    let mut copyist = Copyist::new();
    want.replay(&mut copyist).unwrap();
    let replayed = copyist.builder.finish();
    want.same_as(&replayed).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    true
}

#[test]
fn own_histories_can_be_rebuilt_from_drafts_alone() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../histories");
    let paths = histories(&folder);
    assert!(paths.len() >= 30, "{} histories", paths.len());
    for path in paths {
        assert!(is_copied_whole(&path), "{}", path.display());
    }
}

#[test]
fn shared_histories_can_be_rebuilt_from_drafts_alone() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let folder = std::env::var_os("ISOLDE_SHARED").map_or(beside, PathBuf::from).join("histories");
    if !folder.join("expected.tsv").is_file() {
        eprintln!("SKIPPED: no shared histories in {}", folder.display());
        return;
    }
    let copied = histories(&folder).iter().filter(|path| is_copied_whole(path)).count();
    assert!(copied > 20, "{copied} histories");
}

#[test]
fn attributes_set_twice_come_twice_and_the_last_counts() {
    let mut pool = Pool::new();
    let (name, one, two) = (pool.text("mood"), Value::from_u32(1), Value::from_u32(2));
    let mut txn = TxnDraft::default();
    txn.reset(pool.session(one));
    txn.attr(name, one);
    txn.write(pool.text_key("x"), one);
    txn.stmt_attr(name, two);
    txn.attr(name, two);
    assert_eq!(txn.attrs().collect::<Vec<_>>(), [(name, one), (name, two)]);
    let all: Vec<_> = txn.all_attrs().map(|(entity, at, _, value)| (entity, at, value)).collect();
    assert_eq!(all, [(Entity::Txn, 0, one), (Entity::Stmt, 0, two), (Entity::Txn, 0, two)]);
    assert_eq!(txn.op_attrs(txn.ops().next().unwrap().id()).count(), 0);
    let mut builder = HistoryBuilder::new();
    *builder.pool() = pool;
    builder.transaction(&txn).unwrap();
    let history = builder.finish();
    assert_eq!(history.txns().next().unwrap().attr("mood"), Some(two));
}
