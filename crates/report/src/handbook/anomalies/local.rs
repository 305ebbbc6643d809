//! What goes wrong inside one transaction.

use isolde_spec::Anomaly;

use super::super::page::{AnomalyPage, by, run};

/// The pages.
pub(super) static PAGES: [AnomalyPage; 4] = [
    AnomalyPage {
        anomaly: Anomaly::FutureRead,
        also_called: &[],
        definition: "A transaction reads a value of a key that it writes only afterwards, in a \
            later operation, and that no other transaction had written. It saw its own future. \
            This is a \
            breach of the rules inside a transaction, which are part of every level.",
        differs: "A value that no transaction writes at all is a ThinAirRead.",
        breach: "a transaction saw a write of its own before it made it, and no order of \
            transactions changes the order of the operations inside one",
        harm: "A till prints a receipt with a number that it draws only a moment later. Whatever \
            a program decides on such a read rests on something that has not happened yet.",
        remedy: "An application can do nothing. Suspect the recorder first (operations written \
            down in another order than they ran, answers of pipelined statements mixed up), then \
            the database.",
        history: "# A till reads the number of a receipt that it draws only afterwards.\n\
            initial 0\n\
            till 1: r(receipt,7) w(receipt,7) @[10,30]\n",
        shown_by: &[],
        reproduce: &[
            run(
                "plant three of them in a history",
                "isolde generate future-read.isolde --plant FutureRead:3 --seed 7",
            ),
            run("and find them", "isolde check future-read.isolde"),
        ],
    },
    AnomalyPage {
        anomaly: Anomaly::NotMyLastWrite,
        also_called: &[],
        definition: "A transaction writes a key more than once and then reads it, and gets back \
            one of its own earlier writes instead of the last one. This is a breach of the rules \
            inside a transaction, which are part of every level.",
        differs: "If the value is not one of its own writes at all, it is a NotMyOwnWrite. If \
            another transaction reads the overwritten value, it is an IntermediateRead.",
        breach: "after writes of its own a transaction has to read the last of them, and this one \
            read one that it had overwritten",
        harm: "An editor saves a text twice and then sends what it reads back: the first version, \
            without the correction.",
        remedy: "An application can do nothing. It points at the buffer in which a database keeps \
            the writes of a transaction that is not committed yet, or at a cache in front of it.",
        history: "# A text is saved twice, and what is read back is the first version.\n\
            given text empty\n\
            editor 1: w(text,first) w(text,second) r(text,first) @[10,40]\n",
        shown_by: &[],
        reproduce: &[
            run(
                "plant three of them in a history",
                "isolde generate not-my-last-write.isolde --plant NotMyLastWrite:3 --seed 7",
            ),
            run("and find them", "isolde check not-my-last-write.isolde"),
        ],
    },
    AnomalyPage {
        anomaly: Anomaly::NotMyOwnWrite,
        also_called: &["internal inconsistency"],
        definition: "A transaction writes a key and then reads it, with no other write of its own \
            between, and gets a value that it did not write: that of another transaction, or the \
            initial one. This is a breach of the rules inside a transaction, which are part of \
            every level.",
        differs: "If it got an earlier write of its own, it is a NotMyLastWrite. If an earlier \
            transaction of the session made the write, it is a SessionGuaranteeViolation.",
        breach: "a transaction that has written a key has to read its own write of it, and this \
            one read something else",
        harm: "A shop sets a new price and computes the invoice from the price that it reads \
            back: the old one.",
        remedy: "If the write went to one server and the read to another (a replica, a cache), \
            keep both in one connection. With InnoDB, lock the row before it is \
            read (SELECT ... FOR UPDATE), or use MariaDB's innodb_snapshot_isolation=ON.",
        history: "# A shop raises its price, looks, and sees the old one.\n\
            given price 10\n\
            shop 1: w(price,12) r(price,10) @[10,30]\n",
        shown_by: &[by(
            "MySQL, MariaDB (InnoDB)",
            "REPEATABLE READ",
            "only where two transactions write the same value: an UPDATE whose new value another \
            transaction \
             stored after the snapshot was taken changes nothing, and plain reads go on showing \
             the old row (MDEV-26642, seen on MariaDB 10.11). Not with \
             innodb_snapshot_isolation=ON, which refuses with error 1020",
        )],
        reproduce: &[
            run(
                "plant three of them in a history",
                "isolde generate not-my-own-write.isolde --plant NotMyOwnWrite:3 --seed 7",
            ),
            run("and find them", "isolde check not-my-own-write.isolde"),
        ],
    },
    AnomalyPage {
        anomaly: Anomaly::NonRepeatableReads,
        also_called: &["non-repeatable read", "fuzzy read", "P2"],
        definition: "A transaction reads a key twice, with no write of its own between, and gets \
            two different values.",
        differs: "Here it is one key. Two keys of which one is old and one is new are a \
            FracturedRead or a NonMonotonicRead.",
        breach: "all reads of a transaction have to agree about a key, and the write of another \
            transaction came \
            between two of them",
        harm: "A shop checks that five books are left, sells three, and prints the rest from a \
            second read: another order came between, and the invoice contradicts the check.",
        remedy: "Read once and keep the value; lock the row (SELECT ... FOR UPDATE or FOR SHARE); \
            or use a level whose reads come from one snapshot.",
        history: "# Alice looks at the stock twice, and a sale comes between.\n\
            given stock 5\n\
            shop   1: r(stock,5) w(stock,4) @[20,30]\n\
            alice  2: r(stock,5) r(stock,4) @[10,40]\n",
        shown_by: &[
            by(
                "PostgreSQL",
                "READ COMMITTED (the default)",
                "each statement has a snapshot of its own",
            ),
            by(
                "MySQL, MariaDB (InnoDB)",
                "READ COMMITTED, READ UNCOMMITTED",
                "each statement has a snapshot of its own; at READ UNCOMMITTED plain reads return \
                 the newest row",
            ),
            by(
                "MySQL, MariaDB (InnoDB)",
                "REPEATABLE READ",
                "if one of the two reads locks (FOR UPDATE): it sees the newest row, while plain \
                 reads see the snapshot. Not with innodb_snapshot_isolation=ON",
            ),
            by(
                "Oracle",
                "READ COMMITTED (the default)",
                "each statement has a snapshot of its own",
            ),
            by(
                "SQL Server",
                "READ COMMITTED, with or without READ_COMMITTED_SNAPSHOT",
                "locks of reads end with the statement, or each statement has a snapshot of its \
                 own",
            ),
        ],
        reproduce: &[
            run(
                "on PostgreSQL, at its default level",
                "isolde test postgres --isolation read-committed --level ra --favour NonRepeatableReads",
            ),
            run(
                "on MariaDB, by a plain read and a locking one",
                "isolde test mariadb --isolation repeatable-read --level ra --favour NonRepeatableReads",
            ),
            run(
                "without a database",
                "isolde generate non-repeatable.isolde --plant NonRepeatableReads:3 --seed 7",
            ),
            run("and find them", "isolde check non-repeatable.isolde"),
        ],
    },
];
