//! What only the server's snapshots show, and what a server says itself when it is asked.

use isolde_spec::Anomaly;

use super::super::page::{AnomalyPage, by, run};

/// The pages.
pub(super) static PAGES: [AnomalyPage; 3] = [
    AnomalyPage {
        anomaly: Anomaly::BadSnapshot,
        also_called: &["contradicting snapshots"],
        definition: "The server's own snapshots contradict themselves: a snapshot shows the transaction that \
            reads from it before that has committed, or each of two snapshots shows a commit that the other one \
            lacks. One server takes all its snapshots one after another, so each shows all that an earlier one \
            shows.",
        differs: "It says nothing of what was read. If two readers really saw two commits in opposite orders, \
            values show it, too: that is a LongFork.",
        breach: "one of two snapshots of a server has to show all that the other one shows",
        harm: "A report that trusts its snapshot counts a transfer that had not happened.",
        remedy: "Look at how the list of running transactions is read while it changes, and at servers behind \
            one address: snapshots of two servers have nothing to do with each other.",
        history: "# Each reader's snapshot shows a transfer that the other one's does not.\n\
            given a 0\n\
            given b 0\n\
            alice  1: w(a,1) {xid=10,snapshot={xmin:10,xmax:10,xip:[]}}\n\
            bob    2: w(b,1) {xid=11,snapshot={xmin:10,xmax:11,xip:[10]}}\n\
            carol  3: r(a,1) {snapshot={xmin:11,xmax:12,xip:[11]}}\n\
            dave   4: r(b,1) {snapshot={xmin:10,xmax:12,xip:[10]}}\n",
        shown_by: &[],
        reproduce: &[
            run("save the smallest history", "isolde explain BadSnapshot --history > bad.txt"),
            run("and check it", "isolde check bad.txt"),
        ],
    },
    AnomalyPage {
        anomaly: Anomaly::StaleSnapshot,
        also_called: &["stale snapshot"],
        definition: "A snapshot misses a commit that the server had confirmed before the statement was sent that \
            took the snapshot. What a client knows to be committed, every later snapshot has to show.",
        differs: "Snapshot isolation by values allows it: an older snapshot is a snapshot. Strong snapshot \
            isolation does not, but by values it shows only where the missed commit matters to what was read; \
            the snapshot itself says so at once. If the missed commit is of the same session, it is a \
            SessionGuaranteeViolation, too.",
        breach: "the commit had been confirmed before the snapshot was asked for, so the snapshot has to show it",
        harm: "A customer pays, is told so, and opens the page of the order on another connection: unpaid.",
        remedy: "Look for replicas that answer before they have applied what the primary has confirmed, for \
            proxies that send reads to them, and for snapshots that are kept and used again.",
        history: "# The payment was confirmed at 20. The page asks at 30, and its snapshot does not show it.\n\
            given paid no\n\
            alice  1: w(paid,yes)@[10,12] @[10,20] {xid=10,snapshot={xmin:10,xmax:10,xip:[]}}\n\
            page   2: r(paid,no)@[30,31] @[30,32] {snapshot={xmin:10,xmax:11,xip:[10]}}\n",
        shown_by: &[],
        reproduce: &[
            run("save the smallest history", "isolde explain StaleSnapshot --history > stale.txt"),
            run("and check it", "isolde check stale.txt"),
        ],
    },
    AnomalyPage {
        anomaly: Anomaly::LostCommit,
        also_called: &["lost write", "durability violation"],
        definition: "The server confirmed a commit, and when it is asked later it knows nothing of it: the \
            transaction's number belongs to none that committed, or its versions are nowhere among all versions \
            of the rows. No isolation level has to be named for that: what was confirmed has to stay.",
        differs: "A LostUpdate is there and was overwritten by a transaction that had not seen it. A transaction whose \
            COMMIT was never answered is no lost commit: its outcome is unknown.",
        breach: "a commit that was confirmed has to be there afterwards, whatever happens to the server",
        harm: "A shop ships what was paid for. After the crash the payment is gone, and the parcel too.",
        remedy: "Let the server flush its log before it confirms (synchronous_commit and fsync, \
            innodb_flush_log_at_trx_commit=1), and look for disks and layers below that say they have written \
            what they have not.",
        history: "# The commit was confirmed. After a restart the server says that it never was.\n\
            given paid no\n\
            alice  1: w(paid,yes) {xid=10}\n\
            event lost-commit @[9,_] {restart:0,xid:10}\n",
        shown_by: &[by(
            "PostgreSQL",
            "any, with synchronous_commit=off",
            "commits of the last moments before a crash may be lost, as documented",
        )],
        reproduce: &[run(
            "on PostgreSQL, with commits that are not flushed",
            "isolde test postgres --evidence snapshots --fault kill --setting synchronous_commit=off",
        )],
    },
];
