//! The walk over all keys, on all cores: what is wrong, what is in doubt, and who depends on whom.

use std::ops::Range;

use isolde_history::{Key, SessionId, TxnId};
use isolde_spec::Edges;

use crate::keys::context::Context;
use crate::graph::edges::EdgeList;
use crate::keys::key_facts::KeyFacts;
use crate::keys::findings::{Doubt, Findings};
use crate::order::known::Known;
use crate::order::orderer::{Divergence, Orderer};
use crate::parallel;
use crate::keys::standing::Standing;
use crate::keys::provenance;

/// What a walk brings back.
pub(crate) struct Walk {
    pub(crate) found: Findings,
    /// Session order, wr, ww and rw.
    pub(crate) edges: Vec<EdgeList>,
    pub(crate) divergences: Vec<(Key, Divergence)>,
    /// How many pairs of updates there are of which one was lost.
    pub(crate) divergent_pairs: u64,
    /// Keys whose versions are not known to be in one order.
    pub(crate) unordered: Vec<Key>,
    /// Keys with versions that nobody read, which may come in any order after all others.
    pub(crate) unread: Vec<Key>,
    /// Keys of which anti-dependencies may be missing that show no more than lost updates.
    pub(crate) abridged: Vec<Key>,
    /// How many keys have an order that is known in each way.
    pub(crate) known: [u64; Known::WAYS.len()],
}

/// A piece of the work.
enum Piece {
    Sessions,
    Keys(Range<usize>),
}

/// Walks over all keys. Session order counts if it is asked for.
pub(crate) fn walk(context: &Context<'_>, with_sessions: bool) -> Walk {
    let mut pieces: Vec<Piece> = context.index.pieces().into_iter().map(Piece::Keys).collect();
    if with_sessions {
        pieces.insert(0, Piece::Sessions);
    }
    let parts = parallel::map(context.index.size, &pieces, |piece| match piece {
        Piece::Sessions => Walk { edges: vec![session_order(context)], ..Walk::new() },
        Piece::Keys(keys) => over_keys(context, keys.clone(), with_sessions),
    });
    let mut all = Walk::new();
    for mut part in parts {
        all.found.append(part.found);
        all.edges.append(&mut part.edges);
        all.divergences.append(&mut part.divergences);
        all.divergent_pairs += part.divergent_pairs;
        all.unordered.append(&mut part.unordered);
        all.unread.append(&mut part.unread);
        all.abridged.append(&mut part.abridged);
        all.known.iter_mut().zip(part.known).for_each(|(all, part)| *all += part);
    }
    all
}

impl Walk {
    fn new() -> Walk {
        Walk {
            found: Findings::default(),
            edges: Vec::new(),
            divergences: Vec::new(),
            divergent_pairs: 0,
            unordered: Vec::new(),
            unread: Vec::new(),
            abridged: Vec::new(),
            known: [0; Known::WAYS.len()],
        }
    }
}

fn over_keys(context: &Context<'_>, keys: Range<usize>, session_order: bool) -> Walk {
    let sessions = session_order.then(|| context.history.txn_sessions());
    let mut walk = Walk::new();
    let mut edges = context.edges();
    let (mut facts, mut orderer) = (KeyFacts::default(), Orderer::default());
    for key in keys {
        facts.load(context, &context.standings, key);
        let before = walk.found.doubts.len();
        provenance::settle(context, &mut facts, &mut walk.found);
        let ambiguous = walk.found.doubts[before..].iter().any(is_ambiguous);
        let known = orderer.key(context, &facts, sessions, &mut walk.found, &mut edges);
        // Who read which of the equal versions decides how they follow each other.
        let known = if ambiguous { Known::Not } else { known };
        let key = Key(key as u32);
        walk.divergences.extend(orderer.divergences.iter().map(|d| (key, *d)));
        walk.divergent_pairs += orderer.divergent_pairs;
        walk.abridged.extend(orderer.abridged.get().then_some(key));
        walk.known[known as usize] += 1;
        match known {
            Known::Unread => walk.unread.push(key),
            Known::Not => walk.unordered.push(key),
            _ => {}
        }
    }
    walk.edges.push(edges);
    walk
}

fn is_ambiguous(doubt: &Doubt) -> bool {
    matches!(doubt, Doubt::AmbiguousRead(_))
}

/// Session order: each transaction that counts before the next one of its session. One of unknown
/// outcome may have committed later than anything that its session did next, so nothing leaves it.
pub(crate) fn session_order(context: &Context<'_>) -> EdgeList {
    let mut edges = context.edges();
    for session in 0..context.history.session_count() as u32 {
        let mut before: Option<TxnId> = None;
        for &txn in context.history.session(SessionId(session)) {
            if !context.counts(txn) {
                continue;
            }
            if let Some(before) = before {
                edges.push(before.0, txn.0, Edges::SO);
            }
            if context.standings[txn.index()] == Standing::Committed {
                before = Some(txn);
            }
        }
    }
    edges
}
