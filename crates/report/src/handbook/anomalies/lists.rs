//! What the reads of a list show.

use isolde_spec::Anomaly;

use super::super::page::{AnomalyPage, by, run};

/// The pages.
pub(super) static PAGES: [AnomalyPage; 3] = [
    AnomalyPage {
        anomaly: Anomaly::DuplicateElements,
        also_called: &["duplicate write"],
        definition: "An element was appended to a list once, and a read of the list shows it \
            twice or more.",
        differs: "",
        breach: "one append puts one element into a list, and a transaction read it there twice",
        harm: "A customer puts a book into the cart once and pays for two.",
        remedy: "Look for a retry: a client, driver, proxy or database that sends an append again \
            whose answer was lost, or that was thought to have failed. Appends need something by \
            which a repetition is recognised.",
        history: "# One book is put into the cart. At the till there are two.\n\
            alice  1: append(cart,book) @[10,20]\n\
            till   2: list(cart,[book,book]) @[30,40]\n",
        shown_by: &[],
        reproduce: &[
            run(
                "plant three of them in a history of lists",
                "isolde generate duplicates.isolde --workload append --plant DuplicateElements:3 --seed 7",
            ),
            run("and find them", "isolde check duplicates.isolde"),
        ],
    },
    AnomalyPage {
        anomaly: Anomaly::IncompatibleOrder,
        also_called: &["incompatible order (Elle)"],
        definition: "Two reads of one list disagree: neither list is the beginning of the other. \
            Lists only grow at their end, so there is no order of the appends that explains both.",
        differs: "A read that shows a beginning of what the other shows is no contradiction: it is older.",
        breach: "all reads of a list have to be beginnings of one and the same list, and two of \
            them are not",
        harm: "Two counters serve from one queue. One has Ann first, the other Ben; both are told \
            that it is their turn.",
        remedy: "It means that the versions of one key have no single order: two replicas took \
            writes at the same time (a split brain, last-write-wins), or a committed append was \
            lost and the list was built anew.",
        history: "# Two people join a queue. The desk sees Ann first, the door sees Ben first.\n\
            ann   1: append(queue,ann) @[10,20]\n\
            ben   2: append(queue,ben) @[10,20]\n\
            desk  3: list(queue,[ann,ben]) @[30,40]\n\
            door  4: list(queue,[ben,ann]) @[30,40]\n",
        shown_by: &[],
        reproduce: &[
            run(
                "plant three of them in a history of lists",
                "isolde generate orders.isolde --workload append --plant IncompatibleOrder:3 --seed 7",
            ),
            run("and find them", "isolde check orders.isolde"),
        ],
    },
    AnomalyPage {
        anomaly: Anomaly::DirtyUpdate,
        also_called: &["dirty update (Elle)"],
        definition: "A list that was read holds the element of an aborted transaction, and behind \
            it the element of a committed one. So the committed one built on a version that was \
            never committed.",
        differs: "If the element of the aborted transaction is the last one, it is an AbortedRead.",
        breach: "an aborted transaction leaves nothing behind, and a committed one built upon its \
            write",
        harm: "An entry in a ledger is rolled back. The next entry has already been written on top \
            of it, and carries it into the books for good.",
        remedy: "Any level above READ UNCOMMITTED; and append in one statement, not by reading \
            the list and storing a longer one.",
        history: "# Ann's entry in the ledger is rolled back, but Ben's stands on top of it.\n\
            ann    1: append(ledger,ann) abort @[10,30]\n\
            ben    2: append(ledger,ben) @[20,40]\n\
            audit  3: list(ledger,[ann,ben]) @[50,60]\n",
        shown_by: &[by(
            "MySQL, MariaDB (InnoDB)",
            "READ UNCOMMITTED",
            "if the client reads the list and stores the longer one in a second statement; an \
             append in one statement waits for the lock of the writer before",
        )],
        reproduce: &[
            run(
                "plant three of them in a history of lists",
                "isolde generate dirty-update.isolde --workload append --plant DirtyUpdate:3 --seed 7",
            ),
            run("and find them", "isolde check dirty-update.isolde"),
        ],
    },
];
