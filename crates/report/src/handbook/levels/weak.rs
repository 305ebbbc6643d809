//! The levels below snapshot isolation.

use isolde_spec::Level;

use super::super::page::{LevelPage, by, run};

/// The pages.
pub(super) static PAGES: [LevelPage; 8] = [
    LevelPage {
        level: Level::ReadUncommitted,
        also_called: &["PL-1", "degree 1"],
        promise: "transactions do not overwrite each other in a cycle, and each one sees its own \
            writes",
        definition: "Writes of different transactions can be put in one order: there is no cycle \
            of overwrites (G0). Inside a transaction a read after a write of its own returns the \
            last such write, and no read returns what is written only later. Lists keep one order \
            and hold each element once. What is read of others may be uncommitted, rolled back, \
            or never written at all. Session order does not count.",
        allows: "# A price that is typed and taken back is seen by a customer.\n\
            given price 100\n\
            shop   1: w(price,1) abort @[10,30]\n\
            alice  2: r(price,1) @[15,40]\n",
        forbids: "# Two clerks correct one address. The street is Ben's, the city is Ann's.\n\
            ann  1: w(street,\"Mill Lane\") w(city,Bath) @[10,40]\n\
            ben  2: w(street,\"High Street\") w(city,York) @[20,50]\n\
            order street: \"Mill Lane\" \"High Street\"\n\
            order city: York Bath\n",
        offered_by: &[
            by("MySQL, MariaDB (InnoDB)", "READ UNCOMMITTED", "writers wait for each other"),
            by("SQL Server", "READ UNCOMMITTED, the hint NOLOCK", "writers wait for each other"),
            by("Db2", "UNCOMMITTED READ (UR)", "writers wait for each other"),
            by("TidesDB", "read uncommitted", "every version is visible"),
        ],
        reproduce: &[
            run("it holds on MariaDB", "isolde test mariadb --isolation read-uncommitted"),
            run(
                "and what it does not keep",
                "isolde test mariadb --isolation read-uncommitted --level pl-2 --favour AbortedRead",
            ),
        ],
    },
    LevelPage {
        level: Level::Pl2,
        also_called: &["Adya's read committed", "PL-2", "degree 2"],
        promise: "no transaction reads aborted or intermediate data, and transactions do not \
            depend on each other's writes in a cycle",
        definition: "Adya's read committed, on items: no cycle of overwrites (G0), no read of an \
            aborted transaction (G1a) or of a value that its writer overwrote (G1b), no cycle of \
            reads and overwrites (G1c). It is what Elle means by read committed. It does not say \
            that a transaction sees newer and newer states, so it is weaker than read-committed \
            here. Session order does not count.",
        allows: "# Bob sees that Alice's order was counted, then the stock from before it, and\n\
            # writes the stock anew: her sale is lost.\n\
            given stock 10\n\
            given orders 0\n\
            alice  1: r(stock,10) w(stock,9) w(orders,1) @[10,40]\n\
            bob    2: r(orders,1) r(stock,10) w(stock,8) @[20,60]\n",
        forbids: "# A price that is typed and taken back is seen by a customer.\n\
            given price 100\n\
            shop   1: w(price,1) abort @[10,30]\n\
            alice  2: r(price,1) @[15,40]\n",
        offered_by: &[
            by(
                "MySQL, MariaDB (InnoDB)",
                "REPEATABLE READ (the default)",
                "weaker than its name: writes and locking reads see newer rows than plain reads, so \
                 that a transaction may see half of another. MariaDB from 11.6.2 on has \
                 innodb_snapshot_isolation=ON by default, and then it is snapshot isolation",
            ),
            by(
                "TiDB",
                "REPEATABLE READ in pessimistic transactions (the default)",
                "for the same reason",
            ),
            by("TidesDB", "read committed", "each operation reads the newest committed version"),
            by("Grafeo", "read committed", "as its documentation puts it"),
        ],
        reproduce: &[
            run("it holds on MariaDB", "isolde test mariadb --isolation repeatable-read"),
            run(
                "and what it does not keep",
                "isolde test mariadb --isolation repeatable-read --level cs --favour LostUpdate",
            ),
        ],
    },
    LevelPage {
        level: Level::ReadCommitted,
        also_called: &["monotonic atomic view (MAV)", "RC"],
        promise: "no transaction reads aborted or intermediate data, and a transaction that has \
            read from T misses none of T's writes in a later statement",
        definition: "There is a commit order, in which every transaction comes after those \
            that it reads from and after the earlier ones of its session, such that: if a \
            transaction read from T2 in an \
            earlier statement, and now reads from T1 a key that T2 writes too, then T2 committed \
            before T1. Every read is of the last write of a committed transaction. Reads of one \
            statement have no order among themselves. This is the axiom of Biswas and Enea; \
            Hermitage calls it monotonic atomic view.",
        allows: "# 60 move from one account to the other. The audit counts them on both.\n\
            given giro 100\n\
            given savings 0\n\
            bank   1: r(giro,100) r(savings,0) w(giro,40) w(savings,60) @[20,30]\n\
            audit  2: r(giro,100) r(savings,60) @[10,40]\n",
        forbids: "# A parcel moves from the depot into the van. Alice sees it there, and then here.\n\
            given van empty\n\
            given depot parcel\n\
            driver  1: w(van,parcel) w(depot,empty) @[10,20]\n\
            alice   2: r(van,parcel) r(depot,parcel) @[5,40]\n",
        offered_by: &[
            by(
                "PostgreSQL",
                "READ COMMITTED (the default), READ UNCOMMITTED",
                "each statement sees what was committed before it began; the two are the same",
            ),
            by(
                "MySQL, MariaDB (InnoDB, MyRocks)",
                "READ COMMITTED",
                "each statement sees what was committed before it began",
            ),
            by(
                "Oracle",
                "READ COMMITTED (the default)",
                "each statement sees what was committed before it began",
            ),
            by(
                "SQL Server",
                "READ COMMITTED (the default), with or without READ_COMMITTED_SNAPSHOT",
                "by locks that are given back as soon as a row has been read, or by a snapshot \
                for each statement",
            ),
            by("Stoolap", "read committed (the default)", "as its documentation puts it"),
        ],
        reproduce: &[
            run("it holds on PostgreSQL", "isolde test postgres --level rc"),
            run(
                "and what it does not keep",
                "isolde test postgres --isolation read-committed --level ra --favour NonRepeatableReads",
            ),
        ],
    },
    LevelPage {
        level: Level::CursorStability,
        also_called: &["PL-CS", "CS"],
        promise: "no transaction reads aborted or intermediate data, and of two transactions that \
            read the same version of a key and overwrite it only one commits",
        definition: "Adya's read committed (pl-2), and no update of a single key is lost. Two \
            reads of a key may still differ, and reads of several keys need not fit together. \
            Session order does not count. The classical cursor stability promises this only for \
            the row under an open cursor; Isolde asks it of every read and write of a transaction.",
        allows: "# Alice looks at the stock twice, and a sale comes between.\n\
            given stock 5\n\
            shop   1: r(stock,5) w(stock,4) @[20,30]\n\
            alice  2: r(stock,5) r(stock,4) @[10,40]\n",
        forbids: "# Two deposits into one account. Both add to the 100 that they read.\n\
            given balance 100\n\
            alice  1: r(balance,100) w(balance,120) @[10,30]\n\
            bob    2: r(balance,100) w(balance,150) @[20,40]\n",
        offered_by: &[by(
            "Db2",
            "CURSOR STABILITY (CS, the default)",
            "in the classical sense: for rows that are updated through the cursor by which they \
             are read",
        )],
        reproduce: &[
            run("it holds on PostgreSQL, at REPEATABLE READ", "isolde test postgres --level cs"),
            run(
                "at READ COMMITTED it does not",
                "isolde test postgres --isolation read-committed --level cs --favour LostUpdate",
            ),
        ],
    },
    LevelPage {
        level: Level::ReadAtomic,
        also_called: &["atomic visibility", "RA"],
        promise: "all writes of another transaction are seen or none, and a session sees its own",
        definition: "There is a commit order, in which every transaction comes after those \
            that it reads from and after the earlier ones of its session, such that: if a \
            transaction reads from T2, or T2 is \
            an earlier one of its session, and it reads from T1 a key that T2 writes too, then T2 \
            committed before T1. All reads of a key in one transaction agree. It was introduced \
            with RAMP transactions. What led to T2 may still be missed.",
        allows: "# Bob answers what Alice asked. Carol finds the answer and no question.\n\
            given question none\n\
            given answer none\n\
            alice  1: w(question,asked) @[20,30]\n\
            bob    2: r(question,asked) w(answer,given) @[40,50]\n\
            carol  3: r(question,none) r(answer,given) @[10,60]\n",
        forbids: "# 60 move from one account to the other. The audit counts them on both.\n\
            given giro 100\n\
            given savings 0\n\
            bank   1: r(giro,100) r(savings,0) w(giro,40) w(savings,60) @[20,30]\n\
            audit  2: r(giro,100) r(savings,60) @[10,40]\n",
        offered_by: &[],
        reproduce: &[
            run("it holds on PostgreSQL, at REPEATABLE READ", "isolde test postgres --level ra"),
            run(
                "at READ COMMITTED it does not",
                "isolde test postgres --isolation read-committed --level ra --favour NonRepeatableReads",
            ),
        ],
    },
    LevelPage {
        level: Level::Causal,
        also_called: &["causal consistency", "transactional causal consistency", "CC"],
        promise: "a transaction that observes T also observes everything T depends on, and a \
            session observes all that it observed before",
        definition: "There is a commit order, in which every transaction comes after those \
            that it reads from and after the earlier ones of its session, such that: if a chain \
            of reads and of session order \
            leads from T2 to a transaction, and it reads from T1 a key that T2 writes too, then T2 \
            committed before T1. Transactions that nothing connects may be seen in different \
            orders.",
        allows: "# Two posts and two readers: each sees another one first.\n\
            given post1 none\n\
            given post2 none\n\
            alice  1: w(post1,alice) @[20,30]\n\
            bob    2: w(post2,bob) @[40,50]\n\
            carol  3: r(post1,alice) r(post2,none) @[32,38]\n\
            dave   4: r(post1,none) r(post2,bob) @[10,60]\n",
        forbids: "# Bob answers what Alice asked. Carol finds the answer and no question.\n\
            given question none\n\
            given answer none\n\
            alice  1: w(question,asked) @[20,30]\n\
            bob    2: r(question,asked) w(answer,given) @[40,50]\n\
            carol  3: r(question,none) r(answer,given) @[10,60]\n",
        offered_by: &[
            by(
                "MongoDB",
                "causally consistent sessions with read and write concern majority",
                "for single operations",
            ),
            by("AntidoteDB", "transactions", "transactional causal consistency"),
        ],
        reproduce: &[
            run(
                "on Isolde's own engine, whose snapshots keep it",
                "isolde test faulty --isolation snapshot --level causal",
            ),
            run(
                "on PostgreSQL at READ COMMITTED, which does not",
                "isolde test postgres --isolation read-committed --level causal --favour \
                CausalityViolation",
            ),
        ],
    },
    LevelPage {
        level: Level::Prefix,
        also_called: &["prefix consistency", "consistent prefix", "PC"],
        promise: "there is one commit order, and every transaction reads from a prefix of it",
        definition: "There is a commit order, in which every transaction comes after those \
            that it reads from and after the earlier ones of its session, such that: if a \
            transaction reads from T2 \
            or from one that committed after T2, or follows such a one in its session, and it reads \
            from T1 a key that T2 writes too, then T2 committed before T1. So every transaction \
            reads a snapshot of one common history; but conflicts are not looked for, and updates \
            get lost.",
        allows: "# Two deposits into one account. Both add to the 100 that they read.\n\
            given balance 100\n\
            alice  1: r(balance,100) w(balance,120) @[10,30]\n\
            bob    2: r(balance,100) w(balance,150) @[20,40]\n",
        forbids: "# Two posts and two readers: each sees another one first.\n\
            given post1 none\n\
            given post2 none\n\
            alice  1: w(post1,alice) @[20,30]\n\
            bob    2: w(post2,bob) @[40,50]\n\
            carol  3: r(post1,alice) r(post2,none) @[32,38]\n\
            dave   4: r(post1,none) r(post2,bob) @[10,60]\n",
        offered_by: &[],
        reproduce: &[
            run(
                "lost updates, and nothing else",
                "isolde generate lost-updates.isolde --plant LostUpdate:3 --seed 7",
            ),
            run("it holds all the same", "isolde check --level prefix,si lost-updates.isolde"),
        ],
    },
    LevelPage {
        level: Level::RepeatableRead,
        also_called: &["PL-2.99", "ANSI repeatable read"],
        promise: "some serial order explains what was read and written key by key, sessions and \
            predicates aside",
        definition: "Adya's PL-2.99: read committed (pl-2), and no cycle with an anti-dependency \
            on an item. Locks on every row that is read or written, held to the end, give it. \
            What it leaves \
            open are phantoms (rows that a predicate read did not return) and the order of \
            sessions. It is not PostgreSQL's, MySQL's or MariaDB's \
            REPEATABLE READ: these allow write skew, which this forbids. A row that a predicate \
            read did not return is no item here.",
        allows: "# Alice changes her address, and her next order goes to the old one.\n\
            given address \"Mill Lane\"\n\
            alice  1: w(address,\"High Street\") @[10,20]\n\
            alice  2: r(address,\"Mill Lane\") @[30,40]\n",
        forbids: "# Two doctors are on call. Each sees that there is another one, and goes home.\n\
            given alice on\n\
            given bob on\n\
            alice  1: r(alice,on) r(bob,on) w(alice,off) @[10,30]\n\
            bob    2: r(alice,on) r(bob,on) w(bob,off) @[20,40]\n",
        offered_by: &[
            by("SQL Server", "REPEATABLE READ", "locks of reads are held to the end"),
            by("Db2", "READ STABILITY (RS)", "locks of reads are held to the end"),
            by("TidesDB", "repeatable read", "what was read is checked at commit"),
        ],
        reproduce: &[
            run("it holds on fjall", "isolde test fjall --level rr"),
            run(
                "PostgreSQL's REPEATABLE READ is something else",
                "isolde test postgres --isolation repeatable-read --level rr --favour WriteSkew",
            ),
        ],
    },
];
