//! Reads of what was never committed.

use isolde_spec::Anomaly;

use super::super::page::{AnomalyPage, by, run};

/// The pages.
pub(super) static PAGES: [AnomalyPage; 3] = [
    AnomalyPage {
        anomaly: Anomaly::ThinAirRead,
        also_called: &["out-of-thin-air read", "garbage read"],
        definition: "A transaction reads a value that is not the initial one and that no \
            transaction wrote, neither a committed one nor an aborted one. It can only be claimed \
            of a history that is complete: where some transactions were not recorded, such a read \
            leaves the answer open.",
        differs: "A value that was written and rolled back is an AbortedRead. By client intervals a value that \
            was certainly written only later is a ThinAirRead, too.",
        breach: "a value that was read has to come from some transaction, and no transaction wrote it",
        harm: "An account shows 777 although it never held that: a torn page, a value of another \
            row, the reply to another client. Money is paid out that was never there.",
        remedy: "First make sure that no other program writes to the tables and that the recorder \
            misses no writer. Then suspect corruption, or answers that reached the wrong client \
            (a shared connection, a proxy, a cache).",
        history: "# Alice's account was opened with 100. Nobody ever wrote 777.\n\
            given balance 100\n\
            alice 1: r(balance,777) @[10,20]\n",
        shown_by: &[],
        reproduce: &[
            run(
                "plant three of them in a history",
                "isolde generate thin-air.isolde --plant ThinAirRead:3 --seed 7",
            ),
            run("and find them", "isolde check thin-air.isolde"),
        ],
    },
    AnomalyPage {
        anomaly: Anomaly::AbortedRead,
        also_called: &["dirty read of an aborted transaction"],
        definition: "A committed transaction reads a value whose writer was rolled back. The \
            value was never part of any committed state.",
        differs: "It takes a writer that is known to be aborted. If the answer to its COMMIT was \
            lost, the read proves instead that it committed.",
        breach: "aborted data never became part of the database, and a transaction read it",
        harm: "A shop types a price of 1 instead of 100 and takes it back at once; a customer who \
            looked in between has bought for 1.",
        remedy: "Any level above READ UNCOMMITTED. In SQL Server also drop the hint NOLOCK.",
        history: "# A wrong price is typed and taken back. Alice has seen it.\n\
            given price 100\n\
            shop   1: w(price,1) abort @[10,30]\n\
            alice  2: r(price,1) @[15,40]\n",
        shown_by: &[
            by(
                "MySQL, MariaDB (InnoDB)",
                "READ UNCOMMITTED",
                "plain reads return the newest row, committed or not",
            ),
            by(
                "SQL Server",
                "READ UNCOMMITTED, the hint NOLOCK",
                "reads take no locks and ignore those of writers",
            ),
            by("Db2", "UNCOMMITTED READ (UR)", "reads see changes that were not committed"),
        ],
        reproduce: &[
            run(
                "on MariaDB; clients roll back a part of their transactions",
                "isolde test mariadb --isolation read-uncommitted --level pl-2 --favour AbortedRead",
            ),
            run(
                "without a database",
                "isolde generate aborted-read.isolde --plant AbortedRead:3 --seed 7",
            ),
            run("and find them", "isolde check aborted-read.isolde"),
        ],
    },
    AnomalyPage {
        anomaly: Anomaly::IntermediateRead,
        also_called: &[],
        definition: "A transaction reads a write of another one that is not its last write of \
            that key: the \
            writer itself overwrote it before it committed.",
        differs: "If the reader is the writer itself, it is a NotMyLastWrite. If the writer was \
            rolled back, it is an AbortedRead.",
        breach: "a transaction read a write that its writer had overwritten, and only the last \
            write of a \
            key ever becomes visible",
        harm: "A payroll run first sets everybody's bonus to 0 and then to what it is. Whoever \
            reads in between reports a company without bonuses.",
        remedy: "Any level above READ UNCOMMITTED. In SQL Server also drop the hint NOLOCK.",
        history: "# The bonus is reset and then computed. The report saw the reset.\n\
            given bonus 300\n\
            payroll  1: w(bonus,0) w(bonus,500) @[10,40]\n\
            report   2: r(bonus,0) @[20,30]\n",
        shown_by: &[
            by(
                "MySQL, MariaDB (InnoDB)",
                "READ UNCOMMITTED",
                "plain reads return the newest row, committed or not",
            ),
            by(
                "SQL Server",
                "READ UNCOMMITTED, the hint NOLOCK",
                "reads take no locks and ignore those of writers",
            ),
            by("Db2", "UNCOMMITTED READ (UR)", "reads see changes that were not committed"),
        ],
        reproduce: &[
            run(
                "on MariaDB, by transactions that write a row twice",
                "isolde test mariadb --isolation read-uncommitted --level pl-2 --favour \
                IntermediateRead",
            ),
            run(
                "without a database",
                "isolde generate intermediate-read.isolde --plant IntermediateRead:3 --seed 7",
            ),
            run("and find them", "isolde check intermediate-read.isolde"),
        ],
    },
];
