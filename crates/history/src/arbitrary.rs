//! Arbitrary histories for property tests: small, and with every feature of the model.
//!
//! A [`Recipe`] is plain data, so that proptest can shrink and print it; [`Recipe::pour`] pushes it
//! into any sink.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::sample::select;

use crate::builder::HistoryBuilder;
use crate::draft::TxnDraft;
use crate::error::SinkError;
use crate::evidence::{EndedAt, ErrorClass, Interval, LockMode, Outcome, Timestamp};
use crate::evidence_names::EvidenceNames;
use crate::history::History;
use crate::ids::Key;
use crate::meta::{Clock, Event, InitialState};
use crate::op::{Effect, OpKind};
use crate::pool::Pool;
use crate::session_event::SessionEvent;
use crate::sink::Sink;
use crate::stream_promise::StreamPromise;
use crate::value::Value;

/// A value that belongs to no pool yet.
#[derive(Clone, Debug)]
pub(crate) enum Data {
    Word(Value),
    Int(i128),
    /// The bits, since proptest compares and NaN does not.
    Float(u64),
    Text(String),
    Bytes(Vec<u8>),
    Symbol(String),
    List(Vec<Data>),
    Row(Vec<(Data, Data)>),
}

impl Data {
    pub(crate) fn value(&self, pool: &mut Pool) -> Value {
        match self {
            Data::Word(v) => *v,
            Data::Int(i) => pool.big(*i),
            Data::Float(bits) => pool.float(f64::from_bits(*bits)),
            Data::Text(t) => pool.text(t),
            Data::Bytes(b) => pool.bytes(b),
            Data::Symbol(s) => pool.symbol(s),
            Data::List(parts) => {
                let parts: Vec<Value> = parts.iter().map(|p| p.value(pool)).collect();
                pool.list(&parts)
            }
            Data::Row(columns) => {
                let mut row: Vec<(Value, Value)> = Vec::new();
                for (column, value) in columns {
                    let (column, value) = (column.value(pool), value.value(pool));
                    if row.iter().all(|(c, _)| *c != column) {
                        row.push((column, value));
                    }
                }
                pool.row(&row)
            }
        }
    }

    fn key(&self, pool: &mut Pool) -> Key {
        let name = self.value(pool);
        pool.key(name)
    }
}

/// Names and values of attributes, in the order in which they are set; a name may come twice.
type Attrs = Vec<(Data, Data)>;
type Times = (Option<i64>, Option<i64>);

#[derive(Clone, Debug)]
pub(crate) struct OpRecipe {
    kind: OpKind,
    effect: Effect,
    /// The key; the name of a savepoint; the predicate.
    key: Data,
    value: Data,
    other: Data,
    /// The elements of a list read or the rows of a predicate read, if the client learned them.
    result: Option<Vec<(Data, Data)>>,
    attrs: Attrs,
}

#[derive(Clone, Debug)]
pub(crate) struct StmtRecipe {
    /// Whether the operations are one statement; otherwise each is a statement of its own.
    together: bool,
    ops: Vec<OpRecipe>,
    interval: Times,
    lock: Option<LockMode>,
    attrs: Attrs,
}

/// How a transaction ended, beside its outcome.
#[derive(Clone, Debug)]
struct EndRecipe {
    sent: Option<i64>,
    at: Option<EndedAt>,
    class: Option<ErrorClass>,
    read_only: Option<bool>,
}

#[derive(Clone, Debug)]
pub(crate) struct TxnRecipe {
    session: Data,
    label: Option<Data>,
    outcome: Outcome,
    interval: Times,
    stamps: (Option<Timestamp>, Option<Timestamp>),
    end: EndRecipe,
    attrs: Attrs,
    stmts: Vec<StmtRecipe>,
}

#[derive(Clone, Debug)]
pub(crate) struct MetaRecipe {
    info: Attrs,
    default: Option<Data>,
    given: Vec<(Data, Data)>,
    clock: Clock,
    complete: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum EventRecipe {
    Fault { name: Data, times: Times, detail: Data },
    Heartbeat { session: Data, at: i64 },
    Ended { session: Data, at: i64, next: Option<Data> },
    Promise { session: Option<Data>, watermark: Option<Timestamp>, end: bool },
}

impl EventRecipe {
    fn event(&self, pool: &mut Pool) -> Event {
        match self {
            EventRecipe::Fault { name, times: (begin, end), detail } => {
                let (name, detail) = (name.value(pool), detail.value(pool));
                Event { name, begin: *begin, end: *end, detail }
            }
            EventRecipe::Heartbeat { session, at } => {
                let session = session.value(pool);
                SessionEvent::Heartbeat { session, at: *at }.to_event(pool)
            }
            EventRecipe::Ended { session, at, next } => {
                let session = session.value(pool);
                let next = next.as_ref().map(|next| next.value(pool));
                SessionEvent::Ended { session, at: *at, next }.to_event(pool)
            }
            EventRecipe::Promise { session, watermark, end } => {
                let session = session.as_ref().map(|session| session.value(pool));
                StreamPromise { session, watermark: *watermark, end: *end }.to_event(pool)
            }
        }
    }
}

/// A whole history as plain data.
#[derive(Clone, Debug)]
pub(crate) struct Recipe {
    meta: MetaRecipe,
    events: Vec<EventRecipe>,
    txns: Vec<TxnRecipe>,
    orders: Vec<(Data, Vec<Data>)>,
}

impl Recipe {
    /// The history that it describes.
    pub(crate) fn build(&self) -> History {
        let mut builder = HistoryBuilder::new();
        self.pour(&mut builder).unwrap();
        builder.finish()
    }

    /// Pushes everything into a sink.
    pub(crate) fn pour(&self, sink: &mut dyn Sink) -> Result<(), SinkError> {
        self.meta.pour(sink);
        for event in &self.events {
            let event = event.event(sink.pool());
            sink.event(event)?;
        }
        let mut draft = TxnDraft::default();
        for txn in &self.txns {
            txn.fill(sink.pool(), &mut draft)?;
            sink.transaction(&draft)?;
        }
        let mut ordered = Vec::new();
        for (key, versions) in &self.orders {
            let key = key.key(sink.pool());
            if ordered.contains(&key) {
                continue;
            }
            ordered.push(key);
            let versions: Vec<Value> = versions.iter().map(|v| v.value(sink.pool())).collect();
            sink.version_order(key, &versions)?;
        }
        Ok(())
    }
}

impl MetaRecipe {
    fn pour(&self, sink: &mut dyn Sink) {
        for (name, value) in &self.info {
            let (name, value) = (name.value(sink.pool()), value.value(sink.pool()));
            sink.meta().set(name, value);
        }
        let default = self.default.as_ref().map(|v| v.value(sink.pool()));
        let mut initial = InitialState { default, given: Vec::new() };
        for (key, value) in &self.given {
            let (key, value) = (key.key(sink.pool()), value.value(sink.pool()));
            if initial.given.iter().all(|(k, _)| *k != key) {
                initial.given.push((key, value));
            }
        }
        sink.meta().initial = initial;
        sink.meta().clock = self.clock;
        sink.meta().complete = self.complete;
    }
}

impl TxnRecipe {
    fn fill(&self, pool: &mut Pool, draft: &mut TxnDraft) -> Result<(), SinkError> {
        let session = self.session.value(pool);
        draft.reset(pool.session(session));
        // "Unobserved" is how the model says that there is no label.
        let label = self.label.as_ref().map(|l| l.value(pool));
        draft.label = label.filter(|l| *l != Value::UNOBSERVED);
        draft.outcome = self.outcome;
        draft.interval = Interval { begin: self.interval.0, end: self.interval.1 };
        (draft.start, draft.commit) = self.stamps;
        for (name, value) in &self.attrs {
            draft.attr(name.value(pool), value.value(pool));
        }
        for stmt in &self.stmts {
            stmt.fill(pool, draft)?;
        }
        self.end.fill(pool, draft);
        Ok(())
    }
}

impl EndRecipe {
    fn fill(&self, pool: &mut Pool, draft: &mut TxnDraft) {
        let names = EvidenceNames::new(pool);
        if let Some(sent) = self.sent {
            names.set_end_sent(draft, pool, sent);
        }
        if let Some(at) = self.at {
            names.set_ended_at(draft, at);
        }
        if let Some(class) = self.class {
            names.set_error_class(draft, class);
        }
        if let Some(read_only) = self.read_only {
            names.set_read_only(draft, read_only);
        }
    }
}

impl StmtRecipe {
    fn fill(&self, pool: &mut Pool, draft: &mut TxnDraft) -> Result<(), SinkError> {
        let before = draft.stmt_count();
        if self.together {
            draft.begin_statement();
        }
        for op in &self.ops {
            op.fill(pool, draft)?;
        }
        if self.together {
            draft.end_statement();
        }
        if draft.stmt_count() > before {
            let (begin, end) = self.interval;
            draft.statement_interval(Interval { begin, end });
            if let Some(lock) = self.lock {
                EvidenceNames::new(pool).set_lock(draft, lock);
            }
            for (name, value) in &self.attrs {
                draft.stmt_attr(name.value(pool), value.value(pool));
            }
        }
        Ok(())
    }
}

impl OpRecipe {
    fn fill(&self, pool: &mut Pool, draft: &mut TxnDraft) -> Result<(), SinkError> {
        let before = draft.op_count();
        let (value, other) = (self.value.value(pool), self.other.value(pool));
        if self.kind.has_key() {
            let key = self.key.key(pool);
            match self.kind {
                OpKind::Write => draft.write(key, value),
                OpKind::Append => draft.append(key, value),
                OpKind::ListRead => {
                    let elements = self.result.iter().flatten();
                    let elements: Vec<Value> = elements.map(|(_, v)| v.value(pool)).collect();
                    draft.list_read(key, self.result.is_some().then_some(&elements))?;
                }
                OpKind::Cas => draft.cas(key, other, value, self.effect),
                OpKind::InsertIfAbsent => draft.insert_if_absent(key, value, self.effect),
                OpKind::Delete => draft.delete(key, self.effect),
                _ => draft.read(key, value),
            }
        } else {
            let name = self.key.value(pool);
            match self.kind {
                OpKind::PredicateRead => {
                    let rows = self.result.iter().flatten();
                    let rows: Vec<(Key, Value)> =
                        rows.map(|(k, v)| (k.key(pool), v.value(pool))).collect();
                    draft.predicate_read(name, self.result.is_some().then_some(&rows))?;
                }
                OpKind::Savepoint => draft.savepoint(name),
                // Without such a savepoint nothing is added.
                OpKind::Release => drop(draft.release(name)),
                _ => drop(draft.rollback_to(name)),
            }
        }
        if draft.op_count() > before {
            draft.set_effect(self.effect);
            for (name, value) in &self.attrs {
                draft.op_attr(name.value(pool), value.value(pool));
            }
        }
        Ok(())
    }
}

/// Texts that a format might trip over.
#[rustfmt::skip]
const ODD_TEXTS: &[&str] = &[
    "", "x", "y", "$", "$row", "$bytes", "ops", "stmts", "session", "txn", "outcome", "ts",
    "interval", "attrs", "info", "isolde", "meta", "clock", "complete", "initial", "event",
    "watermark", "end", "order", "error", "sql", "null", "0", "-1", "1.5", "true", "a b", "a\"b\\c", "\0\u{1f}\u{7f}",
    "\n\r\t", "é😀\u{2028}", "'", "(x)", "[", "#", ":k", ",", "/",
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![3 => select(ODD_TEXTS).prop_map(str::to_owned), 1 => any::<String>()]
}

fn int() -> impl Strategy<Value = i128> {
    let edges = [
        i128::MIN,
        i128::MAX,
        i128::from(i64::MIN),
        i128::from(i64::MAX),
        i128::from(u64::MAX),
        1 << 61,
        (1 << 61) - 1,
        -(1 << 61),
        -(1 << 61) - 1,
        i128::from(u32::MAX),
        5000,
    ];
    prop_oneof![6 => 0..10i128, 1 => select(edges.to_vec()), 1 => any::<i128>()]
}

fn float() -> impl Strategy<Value = u64> {
    let edges = [0.0, -0.0, 1.0, 1e300, 5e-324, 0.1, f64::MAX, f64::NAN, f64::INFINITY, -1e16];
    let edges: Vec<u64> = edges.iter().map(|f| f.to_bits()).collect();
    prop_oneof![select(edges), any::<u64>(), Just(f64::NEG_INFINITY.to_bits())]
}

/// Mostly small integers and texts, sometimes anything.
pub(crate) fn data() -> impl Strategy<Value = Data> {
    let words = [Value::ABSENT, Value::NULL, Value::UNOBSERVED, Value::TRUE, Value::FALSE];
    let leaf = prop_oneof![
        8 => int().prop_map(Data::Int),
        4 => text().prop_map(Data::Text),
        2 => select(words.to_vec()).prop_map(Data::Word),
        1 => float().prop_map(Data::Float),
        1 => vec(any::<u8>(), 0..4).prop_map(Data::Bytes),
        1 => text().prop_map(Data::Symbol),
    ];
    leaf.prop_recursive(3, 10, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Data::List),
            vec((inner.clone(), inner.clone()), 0..3).prop_map(Data::Row),
            vec((text().prop_map(Data::Text), inner), 0..4).prop_map(Data::Row),
        ]
    })
}

/// Keys, sessions and savepoints: few, so that they meet again.
fn name() -> impl Strategy<Value = Data> {
    let number = |i: i32| Data::Int(i128::from(i));
    let named = |data: Data| match data {
        Data::Word(Value::UNOBSERVED) => Data::Int(0),
        data => data,
    };
    let any_name = data().prop_map(named);
    prop_oneof![4 => (0..4i32).prop_map(number), 2 => text().prop_map(Data::Text), 1 => any_name]
}

/// Attributes; their names are mostly texts, since a history may have only so many of them.
fn attrs() -> impl Strategy<Value = Attrs> {
    let name = prop_oneof![4 => text().prop_map(Data::Text), 1 => data()];
    prop_oneof![3 => Just(Vec::new()), 1 => vec((name, data()), 1..3)]
}

/// Any time but the smallest, which stands for "not known".
fn time() -> impl Strategy<Value = i64> {
    prop_oneof![4 => 0..100i64, 1 => (i64::MIN + 1)..=i64::MAX]
}

fn times() -> impl Strategy<Value = Times> {
    prop_oneof![1 => Just((None, None)), 2 => (option::of(time()), option::of(time()))]
}

fn stamp() -> impl Strategy<Value = Option<Timestamp>> {
    let logical = prop_oneof![2 => Just(0), 1 => any::<i64>()];
    let stamp = (time(), logical);
    option::of(stamp.prop_map(|(physical, logical)| Timestamp { physical, logical }))
}

fn op() -> impl Strategy<Value = OpRecipe> {
    let effects = [Effect::Done, Effect::Done, Effect::Failed, Effect::Unknown];
    let result = option::of(vec((name(), data()), 0..4));
    let values = (name(), data(), data(), result);
    (select(&OpKind::ALL[..]), select(effects.to_vec()), values, attrs()).prop_map(
        |(kind, effect, (key, value, other, result), attrs)| OpRecipe {
            kind,
            effect,
            key,
            value,
            other,
            result,
            attrs,
        },
    )
}

fn stmt() -> impl Strategy<Value = StmtRecipe> {
    let lock = option::weighted(0.2, select(&LockMode::ALL[..]));
    (any::<bool>(), vec(op(), 0..4), times(), lock, attrs()).prop_map(
        |(together, ops, interval, lock, attrs)| StmtRecipe {
            together,
            ops,
            interval,
            lock,
            attrs,
        },
    )
}

/// A statement of one plain operation: most files have no others.
fn plain_stmt() -> impl Strategy<Value = StmtRecipe> {
    op().prop_map(|mut op| {
        op.attrs.clear();
        let (interval, lock) = ((None, None), None);
        StmtRecipe { together: false, ops: vec![op], interval, lock, attrs: Vec::new() }
    })
}

/// How a transaction ended: mostly nothing is known of it.
fn end() -> impl Strategy<Value = EndRecipe> {
    let number = prop_oneof![4 => 0..4u32, 1 => any::<u32>()].prop_map(EndedAt::Statement);
    let at = prop_oneof![Just(EndedAt::Begin), number, Just(EndedAt::Commit)];
    let class = select(&ErrorClass::ALL[..]);
    let some = (
        option::of(time()),
        option::weighted(0.3, at),
        option::weighted(0.3, class),
        option::weighted(0.2, any::<bool>()),
    );
    let none = || EndRecipe { sent: None, at: None, class: None, read_only: None };
    prop_oneof![
        1 => Just(()).prop_map(move |()| none()),
        1 => some.prop_map(|(sent, at, class, read_only)| EndRecipe { sent, at, class, read_only }),
    ]
}

fn txn() -> impl Strategy<Value = TxnRecipe> {
    let stmts = prop_oneof![vec(stmt(), 0..3), vec(plain_stmt(), 0..6)];
    let who = (name(), option::of(name()), select(&Outcome::ALL[..]));
    (who, times(), (stamp(), stamp()), end(), attrs(), stmts).prop_map(
        |((session, label, outcome), interval, stamps, end, attrs, stmts)| TxnRecipe {
            session,
            label,
            outcome,
            interval,
            stamps,
            end,
            attrs,
            stmts,
        },
    )
}

fn meta() -> impl Strategy<Value = MetaRecipe> {
    let clock = select(&[Clock::Nanoseconds, Clock::Events][..]);
    (attrs(), option::of(data()), vec((name(), data()), 0..3), clock, any::<bool>()).prop_map(
        |(info, default, given, clock, complete)| MetaRecipe {
            info,
            default,
            given,
            clock,
            complete,
        },
    )
}

fn event() -> impl Strategy<Value = EventRecipe> {
    let fault = (data(), times(), data());
    let ended = (name(), time(), option::of(name()));
    let promise = (option::of(name()), stamp(), any::<bool>());
    prop_oneof![
        2 => fault.prop_map(|(name, times, detail)| EventRecipe::Fault { name, times, detail }),
        1 => (name(), time()).prop_map(|(session, at)| EventRecipe::Heartbeat { session, at }),
        1 => ended.prop_map(|(session, at, next)| EventRecipe::Ended { session, at, next }),
        1 => promise.prop_map(|(session, watermark, end)| {
            EventRecipe::Promise { session, watermark, end }
        }),
    ]
}

/// Any history of a few transactions.
pub(crate) fn recipe() -> impl Strategy<Value = Recipe> {
    let orders = vec((name(), vec(data(), 0..4)), 0..4);
    (meta(), vec(event(), 0..4), vec(txn(), 0..7), orders)
        .prop_map(|(meta, events, txns, orders)| Recipe { meta, events, txns, orders })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{ProptestConfig, prop_assert_eq, proptest};

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn recipes_build_and_replay(recipe in recipe()) {
            let history = recipe.build();
            let mut copy = HistoryBuilder::new();
            history.replay(&mut copy).unwrap();
            prop_assert_eq!(copy.finish().op_count(), history.op_count());
        }
    }
}
