//! Levels of single operations.

use isolde_spec::Level;

use super::super::page::{LevelPage, by, run};

/// The pages.
pub(super) static PAGES: [LevelPage; 2] = [
    LevelPage {
        level: Level::Sequential,
        also_called: &["sequential consistency", "SC"],
        promise: "some order of all operations explains what each of them returned, and keeps the \
            order of every session",
        definition: "Serializability where every transaction is one operation on one object, with \
            the order of sessions. The order need not be that of real time: a session may see an \
            old state, but never one that is older than what he saw before. It is asked only of \
            histories of single operations. What failed (a compare-and-set that was refused) is \
            used only in small histories; otherwise the answer is unknown.",
        allows: "# The signal is red, and that was confirmed. Afterwards the driver still sees green.\n\
            given signal green\n\
            tower   1: w(signal,red) @[10,20]\n\
            driver  2: r(signal,green) @[30,40]\n",
        forbids: "# Each raises a flag, and then does not see the other's.\n\
            given flag1 down\n\
            given flag2 down\n\
            ann  1: w(flag1,up) @[10,20]\n\
            ann  2: r(flag2,down) @[30,40]\n\
            ben  3: w(flag2,up) @[10,20]\n\
            ben  4: r(flag1,down) @[30,40]\n",
        offered_by: &[by(
            "ZooKeeper",
            "reads and writes of a client",
            "writes are in one order; a read is answered by the server to which the client is \
             connected, and may be old",
        )],
        reproduce: &[
            run(
                "save a history that breaks nothing but linearizability",
                "isolde explain NotLinearizable --history > stale.txt",
            ),
            run("and check both levels", "isolde check --level sequential,linearizable stale.txt"),
        ],
    },
    LevelPage {
        level: Level::Linearizable,
        also_called: &["linearizability", "atomic registers", "LIN"],
        promise: "every operation takes effect at one moment between its beginning and its end",
        definition: "Strict serializability where every transaction is one operation on one \
            object: some order of all operations explains what each of them returned, and whatever \
            had ended before another began comes first. It holds if it holds for every object \
            alone. Operations that failed saw something as well, and those that were never \
            answered may take effect at any later time, or never.",
        allows: "# The signal changes slowly. While it does, one driver may see green and another one\n\
            # red; afterwards everybody sees red.\n\
            given signal green\n\
            tower    1: w(signal,red) @[10,40]\n\
            driver1  2: r(signal,green) @[15,25]\n\
            driver2  3: r(signal,red) @[30,35]\n\
            driver1  4: r(signal,red) @[50,60]\n",
        forbids: "# The signal is red, and that was confirmed. Afterwards the driver still sees green.\n\
            given signal green\n\
            tower   1: w(signal,red) @[10,20]\n\
            driver  2: r(signal,green) @[30,40]\n",
        offered_by: &[
            by("etcd", "single operations (the default)", "a read asks a quorum"),
            by(
                "MongoDB",
                "read concern linearizable, write concern majority",
                "for single documents",
            ),
        ],
        reproduce: &[
            run(
                "it holds on SQLite, with compare-and-set",
                "isolde test sqlite --isolation immediate --workload cas --level linearizable",
            ),
            run(
                "save a history that breaks it",
                "isolde explain NotLinearizable --history > stale.txt",
            ),
            run("and check it", "isolde check --level linearizable stale.txt"),
        ],
    },
];
