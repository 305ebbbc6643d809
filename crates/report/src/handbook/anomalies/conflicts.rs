//! Transactions that should have noticed each other: conflicts of concurrent writers.

use isolde_spec::Anomaly;

use super::super::page::{AnomalyPage, by, run};

/// The pages.
pub(super) static PAGES: [AnomalyPage; 5] = [
    AnomalyPage {
        anomaly: Anomaly::LostUpdate,
        also_called: &["P4"],
        definition: "Two transactions read the same version of a key and both overwrite it, and \
            both commit. Whichever comes second has not seen \
            the first, whose update is lost. It is the same if the first of them wrote without reading: \
            the second overwrote what it had not seen.",
        differs: "It is about one key. If the second writer read another key than the one both \
            wrote, it is a G-single; if each wrote what the other had only read, it is a WriteSkew.",
        breach: "the second writer had read a stale version and should have been aborted; both \
            committed",
        harm: "Alice pays in 20 and Bob 50 into an account that holds 100. Both add to the 100 \
            that they read; in the end there are 120 or 150 instead of 170.",
        remedy: "Snapshot isolation or more; or change the value in one statement (SET balance = \
            balance + 20), lock the row before it is read (SELECT ... FOR UPDATE), or write only \
            if a version number is still what was read.",
        history: "# Two deposits into one account. Both add to the 100 that they read.\n\
            given balance 100\n\
            alice  1: r(balance,100) w(balance,120) @[10,30]\n\
            bob    2: r(balance,100) w(balance,150) @[20,40]\n",
        shown_by: &[
            by(
                "PostgreSQL, Oracle",
                "READ COMMITTED (the default)",
                "the second writer waits for the first and then overwrites its row",
            ),
            by(
                "SQL Server",
                "READ COMMITTED, with or without READ_COMMITTED_SNAPSHOT",
                "a read leaves no lock behind, and the server does not check whether the row is \
                still the same",
            ),
            by(
                "MySQL, MariaDB (InnoDB)",
                "REPEATABLE READ (the default) and below",
                "a write goes to the newest row, whatever the snapshot showed. Not with \
                 innodb_snapshot_isolation=ON (MariaDB; the default since 11.6.2), unless by \
                 the bug MDEV-39263",
            ),
            by("MariaDB (MyRocks)", "READ COMMITTED", "each statement has a snapshot of its own"),
            by(
                "TiDB",
                "REPEATABLE READ in pessimistic transactions (the default)",
                "a write goes to the newest row, as in InnoDB",
            ),
        ],
        reproduce: &[
            run(
                "on MariaDB, at plain REPEATABLE READ",
                "isolde test mariadb --isolation repeatable-read --level cs --favour LostUpdate",
            ),
            run(
                "on PostgreSQL, at its default level",
                "isolde test postgres --isolation read-committed --level cs --favour LostUpdate",
            ),
            run(
                "without a database",
                "isolde generate lost-update.isolde --plant LostUpdate:3 --seed 7",
            ),
            run("and find them", "isolde check lost-update.isolde"),
        ],
    },
    AnomalyPage {
        anomaly: Anomaly::GSingle,
        also_called: &["single anti-dependency cycle", "read skew, in a wide sense"],
        definition: "A cycle of dependencies in which exactly one transaction missed a write (one \
            anti-dependency), and all others read or overwrote what the one before them wrote, or \
            follow it. It is called so if it has no more special name.",
        differs: "NonMonotonicRead, SessionGuaranteeViolation, FracturedRead, CausalityViolation and \
            some LostUpdates are cycles of this class, too. Here an overwrite is part of it, or real \
            time. Prefix forbids some of them already, and calls these PrefixViolation.",
        breach: "a transaction came after another one, directly or over others in between, and \
            missed a write of it",
        harm: "Ann closes an account and notes it. Ben, who saw the account open, pays out and \
            writes his note over hers.",
        remedy: "Snapshot isolation or more, where the second of two concurrent writers of a row is \
            refused; or lock what the decision rests on before it is read.",
        history: "# Ann closes an account and signs. Ben saw it open, and signs over her name.\n\
            given account open\n\
            ann  1: w(account,closed) w(signed,ann) @[20,30]\n\
            ben  2: r(account,open) w(signed,ben) @[10,40]\n\
            order signed: ann ben\n",
        shown_by: &[
            by(
                "PostgreSQL, Oracle, SQL Server",
                "READ COMMITTED",
                "a write goes to the newest row, and the server does not check whether what was \
                read before is \
                 still true",
            ),
            by(
                "MySQL, MariaDB (InnoDB)",
                "REPEATABLE READ (the default) and below",
                "a write goes to the newest row, whatever the snapshot showed. Not with \
                 innodb_snapshot_isolation=ON",
            ),
        ],
        reproduce: &[
            run(
                "on MariaDB, with lists; it is found beside others",
                "isolde test mariadb --isolation repeatable-read --level si --workload append",
            ),
            run(
                "without a database",
                "isolde generate g-single.isolde --workload append --plant G-single:3 --seed 7",
            ),
            run("and find them", "isolde check g-single.isolde"),
        ],
    },
    AnomalyPage {
        anomaly: Anomaly::GNonadjacent,
        also_called: &["cycle of non-adjacent anti-dependencies"],
        definition: "A cycle of dependencies with two or more anti-dependencies (a transaction \
            missed a write), of which no two follow each other: between any two of them stands a \
            transaction that \
            read or overwrote what the one before wrote, or follows it. It is called so if it is no \
            LongFork.",
        differs: "With one anti-dependency it is a G-single, with two that follow each other a \
            WriteSkew or G2-item, which snapshot isolation allows. If all other steps are reads or \
            session order, prefix forbids it already, and calls it a PrefixViolation.",
        breach: "a transaction that missed a write came before its writer, one that read or \
            overwrote it came after \
            it, and together that is a circle",
        harm: "Two pages of a ledger are each signed in the order of the true events, and each \
            second signer saw the account of the other page as still open. No order of the four \
            makes all of them right.",
        remedy: "Snapshot isolation or more, on one server.",
        history: "# Two accounts are closed, on two pages. Whoever signs next on a page has seen the\n\
            # other account open.\n\
            given giro open\n\
            given savings open\n\
            ann   1: w(giro,closed) w(page1,ann) @[20,30]\n\
            ben   2: r(savings,open) w(page1,ben) @[35,45]\n\
            cleo  3: w(savings,closed) w(page2,cleo) @[50,60]\n\
            dan   4: r(giro,open) w(page2,dan) @[10,70]\n\
            order page1: ann ben\n\
            order page2: cleo dan\n",
        shown_by: &[
            by(
                "PostgreSQL, Oracle, SQL Server",
                "READ COMMITTED",
                "a write goes to the newest row, and the server does not check whether what was \
                read before is \
                 still true",
            ),
            by(
                "MySQL, MariaDB (InnoDB)",
                "REPEATABLE READ (the default) and below",
                "a write goes to the newest row, whatever the snapshot showed. Not with \
                 innodb_snapshot_isolation=ON",
            ),
        ],
        reproduce: &[
            run(
                "plant three of them in a history",
                "isolde generate nonadjacent.isolde --plant G-nonadjacent:3 --seed 7",
            ),
            run("and find them", "isolde check --level si nonadjacent.isolde"),
        ],
    },
    AnomalyPage {
        anomaly: Anomaly::WriteSkew,
        also_called: &["A5B", "G2-item of two transactions"],
        definition: "Two transactions each overwrite something that the other had read, on \
            different keys, and both commit. Each is right alone; one after the other, the second \
            would have seen the first and done otherwise.",
        differs: "On one key it is a LostUpdate. With three or more transactions it is a G2-item. \
            The same with rows that are inserted and found by a predicate is a phantom (G2): it is \
            found where the predicate read was recorded as one.",
        breach: "one of the two has to come first, and then the other has to see its write, and \
            neither saw the other's",
        harm: "At least one doctor has to be on call. Alice and Bob each see the other one on \
            call and go off duty; now there is none.",
        remedy: "A serializable level. At snapshot isolation lock what the decision rests on \
            (SELECT ... FOR UPDATE of all rows read), or write it, so that the two conflict.",
        history: "# Two doctors are on call. Each sees that there is another one, and goes home.\n\
            given alice on\n\
            given bob on\n\
            alice  1: r(alice,on) r(bob,on) w(alice,off) @[10,30]\n\
            bob    2: r(alice,on) r(bob,on) w(bob,off) @[20,40]\n",
        shown_by: &[
            by(
                "PostgreSQL",
                "REPEATABLE READ and below",
                "it is snapshot isolation: only writers of the same row conflict",
            ),
            by("Oracle", "SERIALIZABLE and below", "it is snapshot isolation in spite of its name"),
            by(
                "SQL Server",
                "SNAPSHOT; READ COMMITTED",
                "only writers of the same row conflict. Its REPEATABLE READ and SERIALIZABLE lock \
                 what they read",
            ),
            by(
                "MySQL, MariaDB (InnoDB)",
                "REPEATABLE READ and below, innodb_snapshot_isolation=ON or not",
                "plain reads are not locked",
            ),
            by("MariaDB (MyRocks)", "REPEATABLE READ", "it is snapshot isolation"),
            by(
                "SurrealKV, Mace, Canopydb (concurrent), SurrealMX (snapshot)",
                "snapshot isolation",
                "plain reads are not checked at commit",
            ),
            by("MongoDB", "transactions", "they are snapshot isolation at most"),
        ],
        reproduce: &[
            run(
                "on Isolde's own engine, which needs no server",
                "isolde test faulty --isolation snapshot --level ser --favour WriteSkew",
            ),
            run(
                "on PostgreSQL",
                "isolde test postgres --isolation repeatable-read --level ser --favour WriteSkew",
            ),
            run(
                "on MariaDB",
                "isolde test mariadb --isolation repeatable-read-snapshot --level ser --favour \
                WriteSkew",
            ),
            run(
                "without a database",
                "isolde generate write-skew.isolde --plant WriteSkew:3 --seed 7",
            ),
            run("and find them", "isolde check write-skew.isolde"),
        ],
    },
    AnomalyPage {
        anomaly: Anomaly::G2Item,
        also_called: &["anti-dependency cycle", "read-only transaction anomaly, in one form"],
        definition: "A cycle of dependencies in which two anti-dependencies follow each other: \
            one transaction missed the write of a second one, which had missed the write of a \
            third. It is called so \
            if more than two transactions are involved.",
        differs: "Two transactions are a WriteSkew. If no two anti-dependencies follow each other, \
            it is a G-nonadjacent or G-single, and snapshot isolation forbids it as well.",
        breach: "a transaction that missed a write comes before its writer, and these come before \
            each other \
            in a circle",
        harm: "A fee is booked because both accounts look empty, while 20 are paid in. The \
            statement between shows the 20 and no fee: after it no fee should ever have been \
            booked.",
        remedy: "A serializable level. At snapshot isolation lock or write what the decision rests \
            on; a transaction that only reads can be part of it as well.",
        history: "# A fee is due because both accounts are empty. Meanwhile 20 are paid in, and the\n\
            # statement shows them, and no fee.\n\
            given giro 0\n\
            given savings 0\n\
            fee        1: r(giro,0) r(savings,0) w(giro,-11) @[10,60]\n\
            payment    2: r(savings,0) w(savings,20) @[20,30]\n\
            statement  3: r(giro,0) r(savings,20) @[40,50]\n",
        shown_by: &[
            by(
                "PostgreSQL",
                "REPEATABLE READ and below",
                "it is snapshot isolation: only writers of the same row conflict",
            ),
            by("Oracle", "SERIALIZABLE and below", "it is snapshot isolation in spite of its name"),
            by("SQL Server", "SNAPSHOT; READ COMMITTED", "only writers of the same row conflict"),
            by(
                "MySQL, MariaDB (InnoDB)",
                "REPEATABLE READ and below, innodb_snapshot_isolation=ON or not",
                "plain reads are not locked",
            ),
            by("MariaDB (MyRocks)", "REPEATABLE READ", "it is snapshot isolation"),
            by(
                "SurrealKV, Mace, Canopydb (concurrent), SurrealMX (snapshot)",
                "snapshot isolation",
                "plain reads are not checked at commit",
            ),
        ],
        reproduce: &[
            run(
                "on Isolde's own engine, beside write skew",
                "isolde test faulty --isolation snapshot --level ser --favour WriteSkew",
            ),
            run("without a database", "isolde generate g2-item.isolde --plant G2-item:3 --seed 7"),
            run("and find them", "isolde check g2-item.isolde"),
        ],
    },
];
