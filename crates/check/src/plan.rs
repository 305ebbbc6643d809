//! Which procedure decides a question, why, and what is tried next if the answer stays open.
//!
//! [`PLAN`] is a table that is read from its first row to its last. A row is tried if it is about the
//! level that was asked for and if the evidence is as it says. Its answer is final if it is one that
//! the row can decide; otherwise the next rows are tried. So a verdict is always the whole verdict of
//! the row that decided: its procedure, evidence, reasons and notes. If no row decides, the answer is
//! the one that stayed open, with its reason.
//!
//! A new procedure is a new [`Try`] and a new row.

use isolde_spec::{By, Level, Promise};

use crate::options::Method;

/// One row of the plan.
pub(crate) struct Row {
    pub(crate) levels: Levels,
    pub(crate) given: Given,
    pub(crate) attempt: Try,
    /// Which answers of it are final.
    pub(crate) decides: Decides,
    /// Why this procedure and no other. `{keys}` stands for how many keys have no order, `{connected}`
    /// for what connects keys.
    pub(crate) why: &'static str,
}

/// The levels that a row is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Levels {
    /// Those whose axioms do not speak of the commit order.
    Weak,
    Causal,
    CursorStability,
    /// All that are decided by a dependency graph: prefix consistency and all that is stronger,
    /// sequential consistency with it, cursor stability and repeatable read.
    Graph,
    /// The same without cursor stability.
    WholeGraph,
    /// Those of them that imply causal consistency.
    AboveCausal,
    Sequential,
    Linearizable,
    /// All levels of transactions, that is, all but the two of single operations.
    Transactions,
    /// All but linearizability.
    NotLinearizable,
    /// All that are asked by timestamps.
    Timed,
    /// All that are asked by snapshots.
    Snapshots,
}

/// What the evidence has to be like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Given {
    Anything,
    /// A procedure was asked for.
    Asked(Method),
    /// None was.
    NotAsked,
    /// More may be used than the graph of what is known.
    MoreThanGraph,
    /// None was, and the versions of every key are in one order.
    OrderKnown,
    /// None was, and they are but for versions that no transaction read.
    OrderKnownButUnread,
    /// None was, and the versions of some key may come in more than one order.
    OrderOpen,
    /// There are many reads and many chains of transactions to ask them about.
    ManyChains,
    /// Some reads returned a value that several transactions wrote.
    AmbiguousReads,
    /// Each key can be asked alone, and some are lists.
    ListsApart,
    /// Each key can be asked alone.
    KeysApart,
    /// Transactions or sessions connect keys.
    KeysConnected,
    /// They do, and no failed operation saw something that transactions do not show.
    ConnectedWithoutFailures,
    /// They do, and every transaction is one operation.
    ConnectedSingle,
    /// No operation of a transaction that may count failed.
    NoFailures,
    /// The history says more than its operations do.
    BeyondOperations,
    /// Causal consistency is not known to hold, and it does not take long to ask.
    CausalityOpen,
    /// Every transaction is one operation, and operations say all that there is.
    OnlyOperations,
    /// What was found so far rests on edges that no operation shows.
    OnlyInferred,
}

/// What is tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Try {
    /// What the axiom of a weak level forces.
    Axiom,
    /// The axiom of causal consistency, on behalf of a stronger level.
    Causality,
    /// The graph of dependencies that are known.
    Graph,
    /// The graph, forced edges, a try at a serial execution.
    Saturation,
    /// Each way to match ambiguous reads.
    Choices,
    /// The rules inside transactions, and where they read from.
    Contradictions,
    /// An order of single operations, key by key.
    ByKeys,
    /// An order of single operations, by groups of keys.
    ByGroups,
    /// An order of single operations that keeps only that of sessions.
    ProgramOrder,
    /// Another level, which this one is here: what it leaves open stays open.
    Is(Level),
    /// Other levels, which imply the one that was asked for.
    Stronger(&'static [Level]),
    /// Another level, which means the same here.
    Same(Level),
    /// The rules of the server's timestamps.
    Timestamps,
    /// The rules of the server's snapshots.
    Snapshots,
}

/// Which answers of a row are final.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Decides {
    Both,
    Holds,
    Violated,
}

impl Levels {
    pub(crate) fn contain(self, level: Level) -> bool {
        let weak = matches!(
            level,
            Level::ReadUncommitted
                | Level::Pl2
                | Level::ReadCommitted
                | Level::ReadAtomic
                | Level::Causal
        );
        match self {
            Levels::Weak => weak,
            Levels::Causal => level == Level::Causal,
            Levels::CursorStability => level == Level::CursorStability,
            Levels::Graph => !weak && level != Level::Linearizable,
            Levels::WholeGraph => Levels::Graph.contain(level) && level != Level::CursorStability,
            Levels::AboveCausal => Levels::Graph.contain(level) && level.implies(Level::Causal),
            Levels::Sequential => level == Level::Sequential,
            Levels::Linearizable => level == Level::Linearizable,
            Levels::Transactions => !level.of_operations(),
            Levels::NotLinearizable => level != Level::Linearizable,
            // Where there are no rules, the procedure says so.
            Levels::Timed | Levels::Snapshots => true,
        }
    }

    /// Whether a row is about a promise: by timestamps only those that say so.
    pub(crate) fn speak_of(self, promise: Promise) -> bool {
        let by = match self {
            Levels::Timed => By::Timestamps,
            Levels::Snapshots => By::Snapshots,
            _ => By::Values,
        };
        by == promise.by && self.contain(promise.level)
    }
}

impl Decides {
    /// Whether an answer is final.
    pub(crate) fn is_final(self, holds: Option<bool>) -> bool {
        match (self, holds) {
            (_, None) => false,
            (Decides::Both, _) => true,
            (Decides::Holds, Some(holds)) => holds,
            (Decides::Violated, Some(holds)) => !holds,
        }
    }
}

impl Try {
    /// The name of the procedure in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Try::Axiom | Try::Causality => "axiom",
            Try::Graph | Try::Stronger(_) | Try::Same(_) | Try::Is(_) => Method::Graph.name(),
            Try::Saturation | Try::Choices => Method::Saturation.name(),
            Try::Contradictions | Try::ByKeys | Try::ByGroups | Try::ProgramOrder => {
                "linearization"
            }
            Try::Timestamps => "timestamps",
            Try::Snapshots => "snapshots",
        }
    }
}

const fn row(
    levels: Levels,
    given: Given,
    attempt: Try,
    decides: Decides,
    why: &'static str,
) -> Row {
    Row { levels, given, attempt, decides, why }
}

/// The plan. What a row needs of the evidence is worked out only when the row is reached.
#[rustfmt::skip]
pub(crate) const PLAN: &[Row] = &[
    // ---- by the server's timestamps: nothing is left to infer ----
    row(Levels::Timed, Given::Anything, Try::Timestamps, Decides::Both,
        "timestamps say what each transaction sees"),
    row(Levels::Snapshots, Given::Anything, Try::Snapshots, Decides::Both,
        "snapshots say what each transaction sees"),
    // ---- linearizability: single operations in real time ----
    row(Levels::Linearizable, Given::ListsApart, Try::Same(Level::StrictSerializable), Decides::Holds,
        "lists show the order of their elements"),
    row(Levels::Linearizable, Given::KeysApart, Try::ByKeys, Decides::Both,
        "it is a local property, and every transaction is one operation"),
    row(Levels::Linearizable, Given::KeysConnected, Try::Contradictions, Decides::Violated,
        "single transactions show it: what they read contradicts their own writes, or has no writer"),
    row(Levels::Linearizable, Given::ConnectedWithoutFailures, Try::Same(Level::StrictSerializable), Decides::Both,
        "it is strict serializability"),
    row(Levels::Linearizable, Given::KeysConnected, Try::Same(Level::StrictSerializable), Decides::Violated,
        "it forbids what strict serializability forbids"),
    row(Levels::Linearizable, Given::ConnectedSingle, Try::ByKeys, Decides::Violated,
        "{connected}"),
    row(Levels::Linearizable, Given::KeysConnected, Try::ByGroups, Decides::Both,
        "{connected}"),
    row(Levels::Linearizable, Given::BeyondOperations, Try::Is(Level::StrictSerializable), Decides::Both,
        "given version orders and predicates count, too"),
    // ---- weak levels: what their axioms force ----
    row(Levels::Causal, Given::ManyChains, Try::Stronger(&[Level::Serializable, Level::SnapshotIsolation]), Decides::Holds,
        "a graph is faster than asking many chains of transactions"),
    row(Levels::Weak, Given::Anything, Try::Axiom, Decides::Both,
        "the constraints of the level do not depend on the commit order"),
    // ---- sequential consistency: one order that keeps that of sessions ----
    row(Levels::Sequential, Given::NoFailures, Try::Is(Level::Serializable), Decides::Both,
        "it is serializability in session order"),
    // ---- strong levels: the graph of dependencies ----
    row(Levels::Graph, Given::Asked(Method::Graph), Try::Graph, Decides::Both,
        "it was asked for"),
    row(Levels::Graph, Given::Asked(Method::Saturation), Try::Saturation, Decides::Both,
        "it was asked for"),
    row(Levels::CursorStability, Given::NotAsked, Try::Graph, Decides::Both,
        "only versions that were read and overwritten have to stay adjacent"),
    row(Levels::WholeGraph, Given::OrderOpen, Try::Saturation, Decides::Both,
        "version order could not be inferred for {keys}"),
    row(Levels::WholeGraph, Given::OrderKnownButUnread, Try::Graph, Decides::Both,
        "versions that were never read may come in any order"),
    row(Levels::WholeGraph, Given::OrderKnown, Try::Graph, Decides::Both,
        "version order known for all keys"),
    // ---- in plainer words, if all that was found rests on edges that no operation shows ----
    row(Levels::AboveCausal, Given::OnlyInferred, Try::Causality, Decides::Violated,
        "causal consistency, which the level implies, is broken"),
    // ---- if it stays open ----
    row(Levels::NotLinearizable, Given::AmbiguousReads, Try::Choices, Decides::Both,
        "reads of values with several writers, matched in every way"),
    row(Levels::Sequential, Given::MoreThanGraph, Try::ProgramOrder, Decides::Holds,
        "the operations are few enough to try orders"),
    row(Levels::AboveCausal, Given::CausalityOpen, Try::Causality, Decides::Violated,
        "causal consistency, which the level implies, is broken"),
    row(Levels::Weak, Given::Anything, Try::Stronger(&[Level::Serializable, Level::SnapshotIsolation]), Decides::Holds,
        "a stronger level holds"),
    row(Levels::Transactions, Given::OnlyOperations, Try::Stronger(&[Level::Sequential, Level::Linearizable]), Decides::Holds,
        "a stronger level holds"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_has_a_procedure_whatever_the_evidence() {
        let always = |row: &&Row| {
            let of_order = matches!(row.given, Given::NotAsked | Given::OrderOpen);
            let of_keys = matches!(row.given, Given::KeysApart | Given::KeysConnected);
            row.decides == Decides::Both && (row.given == Given::Anything || of_order || of_keys)
        };
        for level in Level::ALL {
            let rows = PLAN.iter().filter(|row| row.levels.contain(level)).filter(always);
            assert!(rows.count() > 0, "{level}");
        }
    }

    #[test]
    fn a_stronger_level_is_one() {
        for row in PLAN {
            if let Try::Stronger(levels) = row.attempt {
                // A level that does not imply the one that is asked about is passed over.
                let asked = Level::ALL.into_iter().filter(|level| row.levels.contain(*level));
                for level in asked {
                    assert!(levels.iter().any(|l| l.implies(level)), "{level}: {}", row.why);
                }
            }
        }
    }
}
