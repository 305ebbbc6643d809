//! The walk over all keys, on all cores: findings, doubts, and dependencies between transactions.
//!
//! One walk serves questions with and without session order. They differ only in keys that one session
//! wrote: its order is the version order then, and the edges that follow from it are kept apart.

use std::ops::Range;

use isolde_graph::parallel;
use isolde_history::{Key, SessionId, TxnId};
use isolde_spec::Edges;

use crate::graph::edges::{EdgeCollector, TxnEdges, no_edges};
use crate::keys::context::Context;
use crate::keys::findings::{Doubt, Findings};
use crate::keys::key_facts::KeyFacts;
use crate::keys::provenance;
use crate::keys::standing::Standing;
use crate::limits::{Held, Limit, Limits};
use crate::order::known::Known;
use crate::order::orderer::{Divergence, Orderer};

/// What a walk brings back.
pub(crate) struct KeyWalk {
    pub(crate) findings: Findings,
    /// wr, ww and rw.
    pub(crate) edges: Vec<TxnEdges>,
    /// Whether some edges lead over the helpers of keys.
    pub(crate) has_helpers: bool,
    /// The edges that follow in addition if session order counts: session order itself, and the
    /// version orders of keys that one session wrote.
    pub(crate) of_sessions: Vec<TxnEdges>,
    /// The edges that follow in addition if an update makes the version after the one its transaction
    /// read.
    pub(crate) of_updates: Vec<TxnEdges>,
    pub(crate) divergences: Vec<(Key, Divergence)>,
    /// How many pairs of updates there are of which one was lost.
    pub(crate) divergent_pairs: u64,
    /// Keys of which anti-dependencies may be missing that show no more than lost updates.
    pub(crate) abridged: Vec<Key>,
    /// What is known without session order, and with it.
    orders: [KnownOrders; 2],
    held: Vec<Held>,
}

/// How the orders of keys are known.
#[derive(Clone, Default)]
pub(crate) struct KnownOrders {
    /// Keys whose versions are not known to be in one order.
    pub(crate) unordered: Vec<Key>,
    /// Keys with versions that no transaction read, which may come in any order after all others.
    pub(crate) unread: Vec<Key>,
    /// How many keys have an order that is known in each way.
    pub(crate) known: [u64; Known::WAYS.len()],
}

impl KnownOrders {
    fn add(&mut self, key: Key, known: Known) {
        self.known[known as usize] += 1;
        match known {
            Known::Unread => self.unread.push(key),
            Known::Not => self.unordered.push(key),
            _ => {}
        }
    }

    fn append(&mut self, mut other: KnownOrders) {
        self.unordered.append(&mut other.unordered);
        self.unread.append(&mut other.unread);
        self.known.iter_mut().zip(other.known).for_each(|(all, part)| *all += part);
    }
}

/// A piece of the work.
enum Piece {
    Sessions,
    Keys(Range<usize>),
}

impl KeyWalk {
    /// Walks over all keys.
    pub(crate) fn over(context: &Context<'_>, limits: &Limits<'_>) -> Result<KeyWalk, Limit> {
        let keys = context.index.pieces().into_iter().map(Piece::Keys);
        let pieces: Vec<Piece> = std::iter::once(Piece::Sessions).chain(keys).collect();
        let parts = parallel::map(context.index.size, &pieces, |piece| {
            limits.go_on()?;
            let mut part = match piece {
                Piece::Sessions => {
                    KeyWalk { of_sessions: vec![session_order(context)], ..KeyWalk::nothing() }
                }
                Piece::Keys(keys) => of_keys(context, keys.clone()),
            };
            let lists = part.edges.iter().chain(&part.of_sessions).chain(&part.of_updates);
            part.held.push(limits.hold(lists.map(TxnEdges::bytes).sum())?);
            Ok(part)
        });
        let mut all = KeyWalk::nothing();
        for part in parts {
            all.append(part?);
        }
        Ok(all)
    }

    /// How the orders of keys are known, if session order counts or does not.
    pub(crate) fn orders(&self, session_order: bool) -> &KnownOrders {
        &self.orders[usize::from(session_order)]
    }

    fn nothing() -> KeyWalk {
        KeyWalk {
            findings: Findings::default(),
            edges: Vec::new(),
            has_helpers: false,
            of_sessions: Vec::new(),
            of_updates: Vec::new(),
            divergences: Vec::new(),
            divergent_pairs: 0,
            abridged: Vec::new(),
            orders: Default::default(),
            held: Vec::new(),
        }
    }

    fn append(&mut self, mut part: KeyWalk) {
        self.findings.append(part.findings);
        self.edges.append(&mut part.edges);
        self.has_helpers |= part.has_helpers;
        self.of_sessions.append(&mut part.of_sessions);
        self.of_updates.append(&mut part.of_updates);
        self.divergences.append(&mut part.divergences);
        self.divergent_pairs += part.divergent_pairs;
        self.abridged.append(&mut part.abridged);
        self.orders.iter_mut().zip(part.orders).for_each(|(all, part)| all.append(part));
        self.held.append(&mut part.held);
    }
}

fn of_keys(context: &Context<'_>, keys: Range<usize>) -> KeyWalk {
    let mut walk = KeyWalk::nothing();
    let mut collector = EdgeCollector::new(context);
    let mut by_session = EdgeCollector::new(context);
    let (mut facts, mut orderer) = (KeyFacts::default(), Orderer::default());
    for key in keys {
        context.load(&mut facts, key);
        let before = walk.findings.doubts.len();
        provenance::settle(context, &mut facts, &mut walk.findings);
        let ambiguous = walk.findings.doubts[before..].iter().any(is_ambiguous);
        let known = orderer.key(context, &facts, &mut walk.findings, &mut collector);
        let of_session = orderer.order_of_session(context, &facts, &mut by_session);
        let with_session = if of_session && known.is_open() { Known::Session } else { known };
        // Which reader saw which of the equal versions decides how they follow each other.
        let settled = |known: Known| if ambiguous { Known::Not } else { known };
        let key = Key(key as u32);
        walk.divergences.extend(orderer.divergences.iter().map(|d| (key, *d)));
        walk.divergent_pairs += orderer.divergent_pairs;
        walk.abridged.extend(orderer.abridged.get().then_some(key));
        let [without, with] = &mut walk.orders;
        without.add(key, settled(known));
        with.add(key, settled(with_session));
    }
    walk.has_helpers = collector.has_helpers();
    walk.of_updates.extend(Some(collector.of_updates).filter(|edges| !edges.is_empty()));
    walk.edges.push(collector.edges);
    walk.of_sessions.extend(Some(by_session.edges).filter(|edges| !edges.is_empty()));
    walk
}

fn is_ambiguous(doubt: &Doubt) -> bool {
    matches!(doubt, Doubt::AmbiguousRead(_))
}

/// Session order: each transaction that counts before the next one of its session. One of unknown
/// outcome may have committed later than anything that its session did next, so nothing leaves it.
pub(crate) fn session_order(context: &Context<'_>) -> TxnEdges {
    let mut edges = no_edges(context);
    for session in 0..context.history.session_count() as u32 {
        let mut before: Option<TxnId> = None;
        for &txn in context.history.session(SessionId(session)) {
            if !context.counts(txn) {
                continue;
            }
            if let Some(before) = before {
                edges.push(before.into(), txn.into(), Edges::SO.into());
            }
            if context.standing(txn) == Standing::Committed {
                before = Some(txn);
            }
        }
    }
    edges
}
