//! What only client intervals show: a mechanism of the server did not do what it is there for.

use isolde_spec::Anomaly;

use super::super::page::{AnomalyPage, by, run};

/// The profile of the server whose mechanisms the history of a page is held against.
pub(super) fn profile(anomaly: Anomaly) -> Option<&'static str> {
    match anomaly {
        Anomaly::TornSnapshot => Some("postgresql/repeatable-read"),
        Anomaly::BrokenLock => Some("mariadb/read-uncommitted"),
        Anomaly::DangerousStructure => Some("postgresql/serializable"),
        Anomaly::SkippedValidation => Some("occ/serializable"),
        _ => None,
    }
}

/// The pages.
pub(super) static PAGES: [AnomalyPage; 4] = [
    AnomalyPage {
        anomaly: Anomaly::TornSnapshot,
        also_called: &["infeasible snapshot"],
        definition: "A transaction reads from one snapshot, and each of its reads, taken alone, fits some instant at \
            which that snapshot can have been taken: after its first statement was sent, and before that was answered. \
            But no one instant fits all of them: one read shows a commit that another one misses, although the missed \
            one was confirmed first, or is the same one. At read committed, where each statement has a snapshot of its \
            own, the same is asked of the rows that one statement returned.",
        differs: "If one read alone fits no instant, it is a StaleRead or an UncommittedVersionRead. If another \
            transaction saw the two commits the other way round, values show it, too, as a LongFork; here only the \
            clients' clock says which commit came first.",
        breach: "one snapshot has to show all that is read from it, and none can",
        harm: "A customer pays, and when that is confirmed the parcel is sent. The overview that is loading meanwhile \
            shows a parcel that is on its way and not paid for.",
        remedy: "Look at how a snapshot is put together: from several shards that are asked one after another, or from \
            a list of running transactions that is read while it changes.",
        history: "# The payment was confirmed before the parcel was sent. The page shows only the parcel.\n\
            clock events\n\
            given paid no\n\
            given sent no\n\
            shop  1: w(paid,yes)@[8,9] @[8,12] {end-sent=10}\n\
            post  2: w(sent,yes)@[16,17] @[16,22] {end-sent=20}\n\
            page  3: [r(paid,no) r(sent,yes)]@[5,30] @[5,40] {end-sent=35}\n",
        shown_by: &[],
        reproduce: &[
            run("save the smallest history", "isolde explain TornSnapshot --history > torn.txt"),
            run(
                "and hold it against PostgreSQL's mechanisms",
                "isolde check --evidence intervals --profile postgresql/repeatable-read torn.txt",
            ),
        ],
    },
    AnomalyPage {
        anomaly: Anomaly::BrokenLock,
        also_called: &["mutual exclusion violation", "lost lock"],
        definition: "Two transactions held locks on one row, or on the database, at the same time that exclude each \
            other. A lock is certainly there from when the statement was answered that took it until the transaction's end was sent; \
            these two times overlap.",
        differs: "It says nothing of what was read or written: two blind writes of a row are in some order, whatever the \
            locks did. If both had read the same version first, it is a LostUpdate, too.",
        breach: "a lock is given only when those that exclude it are gone, and a transaction keeps its locks until it ends",
        harm: "A job is taken by a worker that locks its row. Another worker locks the same row and does the same job.",
        remedy: "Look for locks that are given up before the end of the transaction: at a deadlock that hit another \
            one, when a page is split, when a row moves, or after a failover.",
        history: "# The first worker has its lock from 3 to 20, the second one from 6 to 8.\n\
            clock events\n\
            given job free\n\
            first   1: w(job,mine)@[1,3] @[1,22] {end-sent=20}\n\
            second  2: w(job,ours)@[4,6] @[4,10] {end-sent=8}\n",
        shown_by: &[],
        reproduce: &[
            run("save the smallest history", "isolde explain BrokenLock --history > lock.txt"),
            run(
                "and hold it against MariaDB's mechanisms",
                "isolde check --evidence intervals --profile mariadb/read-uncommitted lock.txt",
            ),
        ],
    },
    AnomalyPage {
        anomaly: Anomaly::DangerousStructure,
        also_called: &["two anti-dependencies in a row", "SSI violation"],
        definition: "Of three transactions that overlap, the second one overwrote what the first had read, and the third \
            one what the second had read; all three committed, the third one first. Serializable snapshot isolation (SSI) \
            refuses one of them, because a cycle may follow from that.",
        differs: "It is no cycle yet: the history may be serializable, and then values show nothing. With a cycle it is a \
            WriteSkew or a G2-item. Two anti-dependencies in a row alone are allowed: the last of the three has to be the \
            first to commit, and a first one that only reads has to have a later snapshot.",
        breach: "one of three such transactions has to be refused, and none was",
        harm: "Nothing yet: this history is serializable. But what should have stopped it does not work, and the next \
            transaction that reads at the wrong moment makes a WriteSkew of it.",
        remedy: "Look at how the certifier learns of reads: through which index or scan they went, whether their marks \
            are given up before all transactions that overlap have ended, and whether each transaction asked for \
            SERIALIZABLE.",
        history: "# The plan read the old stock, the sale the old price. The new price was committed first.\n\
            clock events\n\
            given stock 5\n\
            given price 10\n\
            given plan none\n\
            plan    1: r(stock,5)@[1,2] w(plan,done)@[15,16] @[1,32] {end-sent=30}\n\
            sale    2: r(price,10)@[3,4] w(stock,4)@[13,14] @[3,22] {end-sent=20}\n\
            prices  3: w(price,12)@[5,6] @[5,12] {end-sent=10}\n",
        shown_by: &[by(
            "PostgreSQL",
            "REPEATABLE READ, held against what SERIALIZABLE promises",
            "it is snapshot isolation, which refuses none of the three",
        )],
        reproduce: &[
            run(
                "save the smallest history",
                "isolde explain DangerousStructure --history > three.txt",
            ),
            run(
                "and hold it against PostgreSQL's mechanisms",
                "isolde check --evidence intervals --profile postgresql/serializable three.txt",
            ),
        ],
    },
    AnomalyPage {
        anomaly: Anomaly::SkippedValidation,
        also_called: &["missed validation"],
        definition: "A transaction committed although the server's certifier had to refuse it. Where transactions are \
            validated at their commit (optimistic concurrency control), it had read what another one overwrote and \
            committed after the snapshot of the first and before its commit. Where they have timestamps, it depends on \
            one that began only after it had committed.",
        differs: "It is no cycle: the history may be serializable in another order, and then values show nothing. The \
            certifier does not look for cycles, but refuses whatever may become one.",
        breach: "what a transaction had read was no longer current at its commit, so it should have been refused",
        harm: "Nothing yet: this history is serializable. Of two withdrawals, each of which reads both accounts, both \
            will be paid out by a server that does this.",
        remedy: "Look at what validation compares: it has to see every commit since the snapshot, those that are just \
            being written too, and every row that was read.",
        history: "# The order read the old price, which was replaced before the order was committed.\n\
            clock events\n\
            given price 10\n\
            given order none\n\
            customer  1: r(price,10)@[1,2] w(order,placed)@[11,12] @[1,22] {end-sent=20}\n\
            shop      2: w(price,12)@[4,5] @[4,9] {end-sent=7}\n",
        shown_by: &[],
        reproduce: &[
            run(
                "save the smallest history",
                "isolde explain SkippedValidation --history > skipped.txt",
            ),
            run(
                "and hold it against such mechanisms",
                "isolde check --evidence intervals --profile occ/serializable skipped.txt",
            ),
        ],
    },
];
