//! Snapshot isolation and what is above it.

use isolde_spec::Level;

use super::super::page::{LevelPage, by, run};

/// The pages.
pub(super) static PAGES: [LevelPage; 4] = [
    LevelPage {
        level: Level::SnapshotIsolation,
        also_called: &["SI", "strong session snapshot isolation"],
        promise: "every transaction reads from a snapshot of the committed state, and of two \
            concurrent transactions that write the same key only one commits",
        definition: "Prefix, and no conflicts: if T3 writes a key that T4 wrote and committed \
            before T3, then T3 has seen T4 and all that committed before T4. So no transaction \
            overwrites \
            what is newer than its snapshot (first committer wins). A snapshot may be old, but a \
            session sees what it wrote and saw before. Two transactions that read the same and \
            write different keys may both commit: write skew.",
        allows: "# Alice has gone off duty, and that was confirmed. Bob's snapshot is from before:\n\
            # he sees her on call, and goes home.\n\
            given alice on\n\
            given bob on\n\
            alice  1: r(alice,on) r(bob,on) w(alice,off) @[10,20]\n\
            bob    2: r(alice,on) r(bob,on) w(bob,off) @[30,40]\n",
        forbids: "# Ann closes an account and signs. Ben saw it open, and signs over her name.\n\
            given account open\n\
            ann  1: w(account,closed) w(signed,ann) @[20,30]\n\
            ben  2: r(account,open) w(signed,ben) @[10,40]\n\
            order signed: ann ben\n",
        offered_by: &[
            by("PostgreSQL", "REPEATABLE READ", "by its documentation's own words"),
            by(
                "MariaDB (InnoDB)",
                "REPEATABLE READ with innodb_snapshot_isolation=ON",
                "a transaction that would write or lock a row that is newer than the snapshot \
                gets error 1020; \
                 the default since 11.6.2",
            ),
            by(
                "MariaDB (MyRocks)",
                "REPEATABLE READ",
                "a transaction that would write or lock such a row gets error 1213",
            ),
            by("Oracle", "SERIALIZABLE", "in spite of its name"),
            by("SQL Server", "SNAPSHOT", "if ALLOW_SNAPSHOT_ISOLATION is on"),
            by("Firebird", "SNAPSHOT", "a second writer of a row is refused"),
            by(
                "TiDB",
                "REPEATABLE READ in optimistic transactions",
                "conflicts are found at COMMIT",
            ),
            by("MongoDB", "transactions with read concern snapshot", "and write concern majority"),
            by(
                "SurrealKV, Mace, Canopydb (concurrent), SurrealMX (snapshot), TidesDB (snapshot)",
                "snapshot isolation",
                "as their documentation puts it",
            ),
        ],
        reproduce: &[
            run("it holds on Isolde's own engine", "isolde test faulty --level si"),
            run("on PostgreSQL, at REPEATABLE READ", "isolde test postgres --level si"),
            run(
                "MySQL's and MariaDB's plain REPEATABLE READ is weaker",
                "isolde test mariadb --isolation repeatable-read --level si --favour LostUpdate",
            ),
        ],
    },
    LevelPage {
        level: Level::StrongSnapshotIsolation,
        also_called: &["strong SI", "conventional snapshot isolation"],
        promise: "every transaction reads from a snapshot that shows all that had been confirmed \
            before it began, and of two concurrent transactions that write the same key only one \
            commits",
        definition: "Snapshot isolation in real time: a transaction that began after another one \
            had ended \
            sees it, and the commit order respects real time. Real time is the clients' clock \
            (--clock-skew says how far clocks may differ); without intervals the answer is \
            unknown.",
        allows: "# Two doctors are on call. Each sees that there is another one, and goes home.\n\
            given alice on\n\
            given bob on\n\
            alice  1: r(alice,on) r(bob,on) w(alice,off) @[10,30]\n\
            bob    2: r(alice,on) r(bob,on) w(bob,off) @[20,40]\n",
        forbids: "# A sale was confirmed. The report that is asked for afterwards does not have it.\n\
            given stock 5\n\
            shop    1: r(stock,5) w(stock,4) @[10,20]\n\
            report  2: r(stock,5) @[30,40]\n",
        offered_by: &[by(
            "PostgreSQL",
            "REPEATABLE READ on one server",
            "in fact, though its documentation does not say so: a commit is visible before it is \
                 confirmed. Not with reads on standbys",
        )],
        reproduce: &[
            run(
                "on PostgreSQL, at REPEATABLE READ",
                "isolde test postgres --isolation repeatable-read --level strong-si",
            ),
            run("on Isolde's own engine", "isolde test faulty --level strong-si"),
        ],
    },
    LevelPage {
        level: Level::Serializable,
        also_called: &["PL-3", "strong session serializability", "SER"],
        promise: "some order of the transactions, one after another, explains everything that was \
            read, and keeps the order of every session",
        definition: "There is an order of all committed transactions that contains the order of \
            sessions and in which every read returns the last write before it. The order need not \
            be that of real time: a transaction may come before one that had ended when it began. \
            Plain serializability knows no sessions either: --no-session-order asks for that.",
        allows: "# A sale was confirmed. The report that is asked for afterwards does not have it: it\n\
            # comes before the sale.\n\
            given stock 5\n\
            shop    1: r(stock,5) w(stock,4) @[10,20]\n\
            report  2: r(stock,5) @[30,40]\n",
        forbids: "# Alice locks the door, then looks and finds nobody inside. Bob saw the door open\n\
            # and went in.\n\
            given door open\n\
            given inside nobody\n\
            alice  1: w(door,locked) @[20,30]\n\
            alice  2: r(inside,nobody) @[40,50]\n\
            bob    3: r(door,open) w(inside,bob) @[10,60]\n",
        offered_by: &[
            by("PostgreSQL", "SERIALIZABLE", "serializable snapshot isolation"),
            by("MySQL, MariaDB (InnoDB)", "SERIALIZABLE", "by locks: plain reads lock too"),
            by("SQL Server", "SERIALIZABLE", "by locks, on ranges as well"),
            by(
                "Db2",
                "REPEATABLE READ (RR)",
                "by locks on all that was looked at: more than its name says",
            ),
            by("CockroachDB", "SERIALIZABLE (the default)", "not strict"),
            by("fjall", "OptimisticTxDatabase", "what was read is checked at commit"),
            by("TidesDB", "serializable", "what was read is checked at commit"),
        ],
        reproduce: &[
            run("it holds on fjall", "isolde test fjall --level ser"),
            run("on PostgreSQL", "isolde test postgres --level ser"),
            run(
                "snapshot isolation is less",
                "isolde test faulty --isolation snapshot --level ser --favour WriteSkew",
            ),
        ],
    },
    LevelPage {
        level: Level::StrictSerializable,
        also_called: &["strong serializability", "external consistency", "SSER"],
        promise: "some order of the transactions, one after another, explains everything that was \
            read, and if one transaction ended before another began, it comes first in the \
            order",
        definition: "Serializable, by an order that respects real time: a transaction that began \
            after another one had ended comes after it. Real time is the clients' clock \
            (--clock-skew says how far clocks may differ); without intervals the answer is \
            unknown, unless a weaker level fails.",
        allows: "# Bob begins before the sale and ends after it. He may still see the old stock, and\n\
            # he does, though Carol has been told the new one meanwhile.\n\
            given stock 5\n\
            shop   1: r(stock,5) w(stock,4) @[20,30]\n\
            carol  2: r(stock,4) @[40,50]\n\
            bob    3: r(stock,5) @[10,60]\n",
        forbids: "# Alice has locked the door. Then Carol looks, and finds nobody inside. Bob saw the\n\
            # door open and went in.\n\
            given door open\n\
            given inside nobody\n\
            alice  1: w(door,locked) @[20,30]\n\
            carol  2: r(inside,nobody) @[40,50]\n\
            bob    3: r(door,open) w(inside,bob) @[10,60]\n",
        offered_by: &[
            by("SQLite", "all transactions on one file", "one writer at a time"),
            by("redb, Canopydb (exclusive)", "write transactions", "one writer at a time"),
            by("SurrealMX", "serializable", "what was read is checked at commit"),
            by("etcd", "transactions", "one log for all (Raft)"),
            by("FoundationDB", "transactions", "unless snapshot reads are asked for"),
            by("Google Spanner", "read-write transactions", "called external consistency"),
        ],
        reproduce: &[
            run("it holds on SQLite", "isolde test sqlite --level sser"),
            run(
                "on PostgreSQL, which promises no more than serializable",
                "isolde test postgres --isolation serializable --level sser",
            ),
        ],
    },
];
