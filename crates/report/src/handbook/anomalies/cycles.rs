//! Cycles in which no transaction missed a write: only writes and reads of each other.

use isolde_spec::Anomaly;

use super::super::page::{AnomalyPage, by, run};

/// The pages.
pub(super) static PAGES: [AnomalyPage; 3] = [
    AnomalyPage {
        anomaly: Anomaly::G0,
        also_called: &["dirty write", "write cycle", "P0"],
        definition: "A cycle of overwrites: each transaction overwrote a write of the one before \
            it, and the first one a write of the last. On one key Ann's write comes after Ben's, \
            on another one before it.",
        differs: "It takes the version order to see it: from lists, from the recorder, or, at stronger \
            levels, inferred from reads. A mix of overwrites and reads is a G1c.",
        breach: "one of the transactions has to come first with all its writes, and each of them \
            overwrote another",
        harm: "Two clerks correct an address at the same time. What stays is the street of the \
            one and the city of the other, an address that nobody entered.",
        remedy: "Databases avoid it at every level, mostly by locks on rows that are held to the \
            end of the transaction. Where it is seen, look for writes that are merged by \
            timestamps row by row (last-write-wins), or for several servers that take writes.",
        history: "# Two clerks correct one address. The street is Ben's, the city is Ann's.\n\
            ann  1: w(street,\"Mill Lane\") w(city,Bath) @[10,40]\n\
            ben  2: w(street,\"High Street\") w(city,York) @[20,50]\n\
            order street: \"Mill Lane\" \"High Street\"\n\
            order city: York Bath\n",
        shown_by: &[],
        reproduce: &[
            run(
                "plant three of them in a history of lists",
                "isolde generate g0.isolde --workload append --plant G0:3 --seed 7",
            ),
            run("and find them", "isolde check g0.isolde"),
        ],
    },
    AnomalyPage {
        anomaly: Anomaly::CyclicCausality,
        also_called: &["causality cycle"],
        definition: "A cycle of reads, and of the order of sessions: each transaction read what \
            the one before it wrote, or follows it in its session, and so on in a circle. Each \
            was there before the other.",
        differs: "If some of the steps are overwrites, it is a G1c.",
        breach: "a transaction that reads from another one comes after it, and these come after \
            each other \
            in a circle",
        harm: "Two services confirm a booking because each has seen the other's confirmation. \
            Nobody ever checked anything.",
        remedy: "Any level above READ UNCOMMITTED: no transaction reads uncommitted data, so no \
            cycle can close.",
        history: "# Hotel and airline each confirm because the other one has.\n\
            given hotel asked\n\
            given airline asked\n\
            hotel    1: w(hotel,confirmed) r(airline,confirmed) @[10,40]\n\
            airline  2: w(airline,confirmed) r(hotel,confirmed) @[20,50]\n",
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
                "plant three of them in a history",
                "isolde generate cyclic.isolde --plant CyclicCausality:3 --seed 7",
            ),
            run("and find them", "isolde check cyclic.isolde"),
        ],
    },
    AnomalyPage {
        anomaly: Anomaly::G1c,
        also_called: &["circular information flow"],
        definition: "A cycle of dependencies without an anti-dependency: each transaction read \
            what the one before it wrote, or overwrote it, or follows it in its session (or, at \
            levels that speak of real time, in time). It is called so if it is neither a G0 \
            (overwrites only) nor a CyclicCausality (reads only).",
        differs: "As soon as a transaction missed a write (an anti-dependency), it is another one: \
            G-single and those that follow.",
        breach: "a transaction that reads or overwrites what another one wrote comes after it, \
            and these \
            come after each other in a circle",
        harm: "A label is printed from a price that was not final; the final transaction then \
            stores its own label over it. Price and label belong to no common state.",
        remedy: "Any level above READ UNCOMMITTED.",
        history: "# Ben reads Ann's new price and labels the shelf; Ann's label comes after his.\n\
            ann  1: w(price,12) w(label,ann) @[10,50]\n\
            ben  2: r(price,12) w(label,ben) @[20,30]\n\
            order label: ben ann\n",
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
            run("save the smallest history", "isolde explain G1c --history > g1c.txt"),
            run("and check it", "isolde check g1c.txt"),
        ],
    },
];
