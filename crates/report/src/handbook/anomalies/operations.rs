//! What goes wrong with single operations.

use isolde_spec::Anomaly;

use super::super::page::{AnomalyPage, by, run};

/// The pages.
pub(super) static PAGES: [AnomalyPage; 1] = [AnomalyPage {
    anomaly: Anomaly::NotLinearizable,
    also_called: &["stale read", "linearizability violation"],
    definition: "There is no order of the operations on an object that explains what each of them \
        returned and in which every operation that had ended before another began comes first. \
        The usual case is a stale read: a write was confirmed, and a read that began afterwards \
        returned an older value.",
    differs: "Of transactions with several operations the same is a breach of \
        strict-serializable, and has the name of the cycle, with the words 'needs real time'. If \
        the clocks of clients differ, say by how much (--clock-skew): else it may be none.",
    breach: "every operation has to take effect at one moment between its beginning and its end, \
        and there are no such moments that explain what was returned",
    harm: "A signal is set to red, and the train driver who asks a second later is told that it is \
        green. A lock that was given back is still seen as held, or worse, the other way round.",
    remedy: "Read where it was written: from the leader with a quorum (etcd's default, MongoDB's \
        linearizable read concern), not from a replica, a follower or a cache.",
    history: "# The signal is red, and that was confirmed. Afterwards the driver still sees green.\n\
        given signal green\n\
        tower   1: w(signal,red) @[10,20]\n\
        driver  2: r(signal,green) @[30,40]\n",
    shown_by: &[
        by(
            "etcd",
            "serializable reads (--consistency=s)",
            "any member answers from what it has, without asking the others; the default is \
             linearizable",
        ),
        by(
            "ZooKeeper",
            "reads",
            "the server to which the client is connected answers from what it has; sync() before \
             the read makes it newer",
        ),
        by(
            "MongoDB",
            "read concern local, available or majority",
            "a secondary may lag behind, and so may a primary that has been replaced without \
             knowing it yet",
        ),
        by(
            "PostgreSQL, MySQL, MariaDB",
            "any level, read from an asynchronous replica",
            "a replica applies a write after the primary has confirmed it",
        ),
        by("Redis", "reads from a replica", "replication is asynchronous"),
    ],
    reproduce: &[
        run("save the smallest history", "isolde explain NotLinearizable --history > stale.txt"),
        run("and check it", "isolde check --level linearizable stale.txt"),
        run(
            "a database that shows none",
            "isolde test sqlite --isolation immediate --workload cas --level linearizable",
        ),
    ],
}];
