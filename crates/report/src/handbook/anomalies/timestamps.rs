//! What only the server's timestamps show: the server did not do what it says it did.

use isolde_spec::Anomaly;

use super::super::page::{AnomalyPage, by, run};

/// The pages.
pub(super) static PAGES: [AnomalyPage; 5] = [
    AnomalyPage {
        anomaly: Anomaly::BadTimestamps,
        also_called: &["inverted timestamps"],
        definition: "A transaction commits, by the server's own timestamps, before it started; or it wrote \
            something and committed at the very time of its start. No snapshot fits such a transaction: it \
            would have to see what it wrote before it began.",
        differs: "It says nothing of what was read. A transaction that only read may start and commit at one \
            time, or have no commit timestamp at all.",
        breach: "a transaction that wrote has to commit after its start, and any other not before it",
        harm: "A backup that asks for all that was committed up to its time gets a payment whose order \
            started later: the order is not in the backup.",
        remedy: "Look for clocks that are not synchronized, for commit timestamps that are taken before \
            the snapshot is, and for a recorder that mixes up the two.",
        history: "# The payment committed at 5 and started at 8.\n\
            given paid no\n\
            alice 1: w(paid,yes) ts(8,5)\n",
        shown_by: &[],
        reproduce: &[
            run("save the smallest history", "isolde explain BadTimestamps --history > bad.txt"),
            run("and check it", "isolde check bad.txt"),
        ],
    },
    AnomalyPage {
        anomaly: Anomaly::UncommittedVersionRead,
        also_called: &["read from the future", "EXT violation"],
        definition: "A transaction reads a version that was committed, by its timestamp, only after the \
            place of the reader: at snapshot isolation after the reader's start, in commit order \
            after the reader's place in it.",
        differs: "By values it may be fine: the reader comes after the writer in some order. If the version \
            had been overwritten at the reader's place, it is a StaleRead; if its writer was rolled back, an \
            AbortedRead.",
        breach: "a version that was read had not committed yet at the reader's place",
        harm: "A report as of noon has a sale of one second past noon. Another report as of noon, on another \
            server, has not: the two do not add up.",
        remedy: "Look for commits that are made visible before their timestamp is reached, for clocks \
            that are ahead (a reader has to wait out the uncertainty of its clock), and for snapshots whose \
            timestamp is taken before what they show.",
        history: "# The report is as of 3. It shows a sale that committed at 4.\n\
            given stock 5\n\
            shop    1: r(stock,5) w(stock,4) ts(1,4)\n\
            report  2: r(stock,4) ts(3,3)\n",
        shown_by: &[],
        reproduce: &[
            run(
                "save the smallest history",
                "isolde explain UncommittedVersionRead --history > early.txt",
            ),
            run("and check it", "isolde check early.txt"),
        ],
    },
    AnomalyPage {
        anomaly: Anomaly::StaleRead,
        also_called: &["EXT violation"],
        definition: "A transaction reads a version that had been overwritten, by timestamps, at its place: \
            at snapshot isolation there is a newer version that committed at or before the reader's start, \
            in commit order one that stands before the reader.",
        differs: "By values it may be fine: the reader may have come before the second writer in some order, \
            and only the server's timestamps say that it did not. A stale read of a single operation by the \
            clients' clocks is NotLinearizable.",
        breach: "a newer version had committed at the reader's place, and the reader missed it",
        harm: "A signal is red, and that was committed at 5. The driver, whose snapshot the server says to be \
            of 6, is shown green.",
        remedy: "Look for replicas that answer before they have applied what a snapshot of that time shows, \
            for commit timestamps that are below those of snapshots already given out, and for caches.",
        history: "# The signal was green, then red. The driver starts after both and sees green.\n\
            given signal off\n\
            tower   1: w(signal,green) ts(1,2)\n\
            tower   2: w(signal,red) ts(3,5)\n\
            driver  3: r(signal,green) ts(6,6)\n",
        shown_by: &[],
        reproduce: &[
            run("save the smallest history", "isolde explain StaleRead --history > stale.txt"),
            run("and check it", "isolde check stale.txt"),
        ],
    },
    AnomalyPage {
        anomaly: Anomaly::ConcurrentWrites,
        also_called: &["NOCONFLICT violation", "first committer did not win"],
        definition: "Two transactions wrote the same key, and by their timestamps they overlap: neither had \
            committed when the other started. At snapshot isolation the second of them has to be \
            refused.",
        differs: "If both had read the version that both replaced, it is a LostUpdate, which values show, too. \
            Blind writes show nothing by values: any order of them will do. In commit order \
            (serializable by timestamps) overlapping is no fault.",
        breach: "only one of two transactions that overlap and write the same key may commit",
        harm: "Two doctors correct a prescription at the same time, each looking at the old one. The server \
            promises that the second is told so, and neither is.",
        remedy: "Look for write conflicts that are checked against the wrong time: against the statement \
            and not the start of the transaction, or on one shard and not on all.",
        history: "# Both doctors start before the other one has committed.\n\
            given dose 10\n\
            alice  1: w(dose,20) ts(1,4)\n\
            bob    2: w(dose,5) ts(2,6)\n",
        shown_by: &[by(
            "MySQL, MariaDB (InnoDB)",
            "REPEATABLE READ without innodb_snapshot_isolation (MariaDB; on by default since 11.6.2)",
            "a writer waits for the lock and then overwrites what committed meanwhile; only a promise of \
             snapshot isolation forbids that",
        )],
        reproduce: &[
            run(
                "save the smallest history",
                "isolde explain ConcurrentWrites --history > both.txt",
            ),
            run("and check it", "isolde check both.txt"),
        ],
    },
    AnomalyPage {
        anomaly: Anomaly::TimestampTie,
        also_called: &["equal commit timestamps"],
        definition: "Two transactions wrote the same key and have the same commit timestamp. Nothing says \
            which of the two versions is the newer one, so no snapshot is well defined from then on.",
        differs: "At snapshot isolation it is a violation, and since both had started before, they are \
            ConcurrentWrites, too. In commit order it leaves the answer open, \
            also if one wrote what the other read. Timestamps with a logical part (7.1, 7.2) are not \
            the same.",
        breach: "versions of a key have to have an order, and two of them were committed at the same time",
        harm: "A restored backup has one of two prices, and the replica has the other. Both applied all \
            commits in the order of their timestamps.",
        remedy: "Look for a clock that is too coarse, for two servers that give out timestamps without \
            telling each other, and for a recorder that cut off the logical part.",
        history: "# Two shops set the price, and both commits are of 5.\n\
            given price 100\n\
            north  1: w(price,90) ts(1,5)\n\
            south  2: w(price,80) ts(3,5)\n",
        shown_by: &[],
        reproduce: &[
            run("save the smallest history", "isolde explain TimestampTie --history > tie.txt"),
            run("and check it", "isolde check tie.txt"),
        ],
    },
];
