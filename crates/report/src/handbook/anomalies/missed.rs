//! A reader missed a write of a transaction that it had already seen.

use isolde_spec::Anomaly;

use super::super::page::{AnomalyPage, by, run};

/// The pages.
pub(super) static PAGES: [AnomalyPage; 6] = [
    AnomalyPage {
        anomaly: Anomaly::NonMonotonicRead,
        also_called: &[
            "violation of monotonic atomic view",
            "observed transaction vanishes",
            "OTV",
        ],
        definition: "A transaction reads something that another one wrote, and in a later \
            statement it reads of another key a value that this other transaction had overwritten. \
            It went back in time. Reads of one statement have no order among themselves and do not \
            count.",
        differs: "The newer value comes first, the older one after it. The other way round it is a \
            FracturedRead, which read-committed allows.",
        breach: "a transaction that has read from another one must not miss any of its writes in \
            a later \
            statement, and here one was missed",
        harm: "A tracker shows that a parcel is in the van, and then, in the same transaction, \
            that it is still in the depot. Counted twice, it is reported as two.",
        remedy: "A level whose reads all come from one snapshot, or at least from newer and newer \
            ones. On InnoDB do not mix plain reads with locking ones and with updates, or use \
            innodb_snapshot_isolation=ON or SERIALIZABLE.",
        history: "# A parcel moves from the depot into the van. Alice sees it there, and then here.\n\
            given van empty\n\
            given depot parcel\n\
            driver  1: w(van,parcel) w(depot,empty) @[10,20]\n\
            alice   2: r(van,parcel) r(depot,parcel) @[5,40]\n",
        shown_by: &[
            by(
                "MySQL, MariaDB (InnoDB)",
                "REPEATABLE READ",
                "a plain read takes a snapshot, a locking read or an update sees newer rows, and \
                 the next plain read goes back to the snapshot. Not with \
                 innodb_snapshot_isolation=ON",
            ),
            by(
                "MySQL, MariaDB (InnoDB)",
                "READ UNCOMMITTED",
                "the first read sees a transaction that has not made its second write yet",
            ),
            by(
                "SQL Server",
                "READ UNCOMMITTED, the hint NOLOCK",
                "the first read sees a transaction that has not made its second write yet",
            ),
        ],
        reproduce: &[
            run(
                "on MariaDB, by plain and locking reads in longer transactions",
                "isolde test mariadb --isolation repeatable-read --level rc -w append \
                --max-txn-len 6 -k 6",
            ),
            run(
                "without a database",
                "isolde generate non-monotonic.isolde --plant NonMonotonicRead:3 --seed 7",
            ),
            run("and find them", "isolde check non-monotonic.isolde"),
        ],
    },
    AnomalyPage {
        anomaly: Anomaly::SessionGuaranteeViolation,
        also_called: &["violation of read-your-writes"],
        definition: "A transaction reads a value that an earlier transaction of its own session \
            had overwritten: the session does not see its own write.",
        differs: "Inside one transaction the same is a NotMyOwnWrite. A session that saw \
            another client's write and misses it in its next transaction shows a \
            CausalityViolation. Adya's levels (pl-2, cursor-stability, repeatable-read) know no \
            sessions and do not forbid it.",
        breach: "a transaction has to see what its own session wrote before, and here it missed \
            such a write",
        harm: "Alice changes her address, gets the confirmation, and her next order goes to the \
            old one.",
        remedy: "Read where you wrote, or make the replica wait: remote_apply in PostgreSQL, \
            wsrep_sync_wait in Galera, a causally consistent session in MongoDB. If the level \
            promises nothing across transactions, check with --no-session-order.",
        history: "# Alice changes her address, and her next order goes to the old one.\n\
            given address \"Mill Lane\"\n\
            alice  1: w(address,\"High Street\") @[10,20]\n\
            alice  2: r(address,\"Mill Lane\") @[30,40]\n",
        shown_by: &[
            by(
                "PostgreSQL",
                "any level, with reads on a hot standby",
                "the standby may apply a write after the primary has confirmed it, unless \
                 synchronous_commit is remote_apply and the standby one of those waited for",
            ),
            by(
                "MariaDB Galera Cluster",
                "any level, with wsrep_sync_wait=0 (the default)",
                "a session that goes on at another node may get there before its own write",
            ),
            by(
                "MySQL, MariaDB",
                "any level, with reads on an asynchronous replica",
                "the replica lags behind",
            ),
            by(
                "MongoDB",
                "reads from secondaries outside a causally consistent session",
                "the secondary lags behind",
            ),
        ],
        reproduce: &[
            run(
                "plant three of them in a history",
                "isolde generate session.isolde --plant SessionGuaranteeViolation:3 --seed 7",
            ),
            run("and find them", "isolde check session.isolde"),
            run(
                "without session order nothing is wrong with it",
                "isolde check --no-session-order --level ser session.isolde",
            ),
        ],
    },
    AnomalyPage {
        anomaly: Anomaly::FracturedRead,
        also_called: &["read skew", "A5A", "non-atomic read"],
        definition: "A transaction reads one key from before another transaction and another key \
            from after it: it sees one of its writes and misses another.",
        differs: "If the newer value was read in an earlier statement than the older one, it is a \
            NonMonotonicRead. If what was missed is not of the same transaction but of one that \
            led to it, it is a CausalityViolation.",
        breach: "a transaction saw one write of another one and missed a second one, where it has to \
            see all of them or none",
        harm: "Money moves from one account to another. The auditor reads the first before and \
            the second after, and counts 60 that do not exist.",
        remedy: "A level whose reads come from one snapshot (REPEATABLE READ in PostgreSQL, \
            SNAPSHOT in SQL Server); or read both in one plain SELECT where a statement has a \
            snapshot of its own.",
        history: "# 60 move from one account to the other. The audit counts them on both.\n\
            given giro 100\n\
            given savings 0\n\
            bank   1: r(giro,100) r(savings,0) w(giro,40) w(savings,60) @[20,30]\n\
            audit  2: r(giro,100) r(savings,60) @[10,40]\n",
        shown_by: &[
            by(
                "PostgreSQL, Oracle, MySQL, MariaDB (InnoDB)",
                "READ COMMITTED",
                "each statement has a snapshot of its own",
            ),
            by(
                "SQL Server",
                "READ COMMITTED, with or without READ_COMMITTED_SNAPSHOT",
                "locks of reads end with the statement, or each statement has a snapshot of its \
                 own",
            ),
            by(
                "MySQL, MariaDB (InnoDB)",
                "REPEATABLE READ",
                "a plain read sees the snapshot, a locking read or an update newer rows. Not with \
                 innodb_snapshot_isolation=ON",
            ),
        ],
        reproduce: &[
            run(
                "on MariaDB",
                "isolde test mariadb --isolation read-committed --level rr --favour FracturedRead",
            ),
            run(
                "by a simulated database at read committed",
                "isolde generate fractured.isolde --level rc --favour FracturedRead --seed 7",
            ),
            run("and find them", "isolde check --level ra fractured.isolde"),
            run(
                "in a database that keeps everything else",
                "isolde generate planted.isolde --plant FracturedRead:3 --seed 7",
            ),
            run("and find them", "isolde check planted.isolde"),
        ],
    },
    AnomalyPage {
        anomaly: Anomaly::CausalityViolation,
        also_called: &["violation of causal consistency"],
        definition: "A transaction sees a write and misses another one that led to it: what the \
            writer had read, or what its session had done before, directly or over several steps.",
        differs: "One step is enough for a FracturedRead (the same writer) and a \
            SessionGuaranteeViolation (the own session); here there are at least two. A session \
            that sees an older state in its next transaction shows this one, too.",
        breach: "a transaction that reads a write has to see everything that it depends on, and \
            here something that led \
            to it was missed",
        harm: "Bob answers Alice's question. Carol sees the answer and no question, and answers \
            something else.",
        remedy: "Reads from one snapshot; with replicas, sessions that carry along what they have \
            seen (causally consistent sessions in MongoDB, bookmarks in Neo4j).",
        history: "# Bob answers what Alice asked. Carol looks for the question too early, and finds\n\
            # the answer.\n\
            given question none\n\
            given answer none\n\
            alice  1: w(question,asked) @[20,30]\n\
            bob    2: r(question,asked) w(answer,given) @[40,50]\n\
            carol  3: r(question,none) r(answer,given) @[10,60]\n",
        shown_by: &[
            by(
                "PostgreSQL, Oracle, SQL Server, MySQL, MariaDB (InnoDB)",
                "READ COMMITTED",
                "a later statement sees a newer state: what led to it can be missed by an earlier \
                 one. Not if the newer value is read first",
            ),
            by(
                "PostgreSQL, MySQL, MariaDB",
                "any level, with reads spread over several asynchronous replicas",
                "the next transaction of a session may reach a replica that is further behind",
            ),
        ],
        reproduce: &[
            run(
                "on PostgreSQL, at its default level",
                "isolde test postgres --isolation read-committed --level causal --favour \
                CausalityViolation",
            ),
            run(
                "without a database",
                "isolde generate causality.isolde --plant CausalityViolation:3 --seed 7",
            ),
            run("and find them", "isolde check causality.isolde"),
        ],
    },
    AnomalyPage {
        anomaly: Anomaly::LongFork,
        also_called: &[],
        definition: "Two transactions write different keys, and two readers see them in opposite \
            orders: one sees the first write and not the second, the other the second and not the \
            first.",
        differs: "With more than two writers and readers in the circle it is a G-nonadjacent \
            (called a PrefixViolation where prefix is asked for). Parallel snapshot isolation, which \
            Isolde does not check, is snapshot isolation that allows this.",
        breach: "all readers have to agree in which order two transactions came, and two of them \
            saw opposite orders",
        harm: "Two people claim to have posted first. Carol saw only Alice's post, Dave only \
            Bob's, and each swears to it.",
        remedy: "Reads from snapshots of one server. With replicas, read all that has to agree \
            from the same one.",
        history: "# Two posts and two readers: each sees another one first.\n\
            given post1 none\n\
            given post2 none\n\
            alice  1: w(post1,alice) @[20,30]\n\
            bob    2: w(post2,bob) @[40,50]\n\
            carol  3: r(post1,alice) r(post2,none) @[32,38]\n\
            dave   4: r(post1,none) r(post2,bob) @[10,60]\n",
        shown_by: &[
            by(
                "PostgreSQL, Oracle, SQL Server, MySQL, MariaDB (InnoDB)",
                "READ COMMITTED",
                "a reader whose statements lie before and after both writes sees the second alone",
            ),
            by(
                "PostgreSQL",
                "REPEATABLE READ, with reads on the primary and on hot standbys",
                "commits become visible on the primary in another order than in its log, which \
                 the standbys follow. Jepsen saw it on Multi-AZ clusters of Amazon RDS (2025); on one \
                 server it does not happen",
            ),
        ],
        reproduce: &[
            run(
                "on PostgreSQL, at its default level; it is found beside others",
                "isolde test postgres --isolation read-committed --level prefix --favour LongFork",
            ),
            run(
                "without a database",
                "isolde generate long-fork.isolde --plant LongFork:3 --seed 7",
            ),
            run("and find them", "isolde check long-fork.isolde"),
        ],
    },
    AnomalyPage {
        anomaly: Anomaly::PrefixViolation,
        also_called: &[],
        definition: "A transaction sees a write and misses one that had committed before it, \
            although nothing led from the one to the other but the order in which they committed. \
            At the level prefix it is the name of every cycle that the level forbids and that has \
            no more basic name. Stronger levels call the same cycle G-single or G-nonadjacent, and so \
            does repeatable-read, if the cycle needs no session order.",
        differs: "Two writers and two readers that disagree are a LongFork. If the one write led to \
            the other, it is a CausalityViolation.",
        breach: "a transaction that reads from another one has to see all that committed before \
            that one, and here one \
            that did was missed",
        harm: "A shop changes a price and then a name, and its log says so. A customer sees the \
            new name with the old price, a combination that was never on sale.",
        remedy: "Reads from one snapshot.",
        history: "# The log has the price before the name. Alice sees the new name and the old price.\n\
            given price old\n\
            given name old\n\
            ann    1: w(price,new) w(log,ann) @[20,30]\n\
            ben    2: w(name,new) w(log,ben) @[40,50]\n\
            alice  3: r(price,old) r(name,new) @[10,60]\n\
            order log: ann ben\n",
        shown_by: &[by(
            "PostgreSQL, Oracle, SQL Server, MySQL, MariaDB (InnoDB)",
            "READ COMMITTED",
            "a later statement sees a newer state than an earlier one did",
        )],
        reproduce: &[
            run(
                "save the smallest history",
                "isolde explain PrefixViolation --history > prefix.txt",
            ),
            run("and check it", "isolde check prefix.txt"),
            run(
                "on PostgreSQL, at its default level; it is found beside others",
                "isolde test postgres --isolation read-committed --level prefix --favour LongFork",
            ),
        ],
    },
];
