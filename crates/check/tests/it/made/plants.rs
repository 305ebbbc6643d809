//! The anomalies that are planted, as a table.
//!
//! Each row is one form of an anomaly: the recipe, the levels that forbid that form, and the name
//! under which the checker must find it. `planted.rs` checks the levels of the table against the
//! brute-force twin.

use isolde_spec::{Anomaly, CATALOGUE, Level, Promise};

use super::STRONG;
use super::recipe::Line;
use super::simulate::{Soil, Style};

/// One form of an anomaly.
#[derive(Clone, Copy, Debug)]
pub struct Plant {
    /// The name that the checker must give it; after a slash, the one where session order does not
    /// count, if that is another.
    pub name: &'static str,
    /// What is special about this form.
    pub form: &'static str,
    /// At snapshot isolation, strong snapshot isolation, serializability and strict
    /// serializability: `x` forbidden, `s` forbidden where session order counts, `.` allowed.
    pub forbidden: &'static str,
    /// The transactions that a witness has to name: without one of them nothing is wrong.
    pub named: &'static str,
    /// Those that it may name as well.
    pub beside: &'static str,
    pub soil: &'static [Soil],
    pub recipe: &'static [&'static str],
}

const BOTH: &[Soil] = &[Soil::Fresh, Soil::Used];
/// With a version order of its own, or with lists that others would have to go on with.
const FRESH: &[Soil] = &[Soil::Fresh];

impl Plant {
    pub fn lines(&self) -> Vec<Line> {
        self.recipe.iter().map(|line| Line::parse(line)).collect()
    }

    pub fn style(&self) -> Style {
        let list = |line: &&str| line.contains("append(") || line.contains("list(");
        if self.recipe.iter().any(list) { Style::Lists } else { Style::Mini }
    }

    /// Whether a promise forbids it.
    pub fn forbidden_by(&self, promise: Promise) -> bool {
        match self.mark(promise.level) {
            b'x' => true,
            b's' => promise.session_order,
            _ => false,
        }
    }

    /// Whether, at that promise, it is one only by session order or real time.
    pub fn needs_order(&self, promise: Promise) -> bool {
        let timeless = match promise.level {
            Level::StrongSnapshotIsolation => Level::SnapshotIsolation,
            Level::StrictSerializable => Level::Serializable,
            level => level,
        };
        self.forbidden_by(promise) && self.mark(timeless) != b'x'
    }

    fn mark(&self, level: Level) -> u8 {
        let at = STRONG.iter().position(|l| *l == level).unwrap_or_else(|| panic!("{level}"));
        self.forbidden.as_bytes()[at]
    }

    /// What the checker must call it.
    pub fn anomaly(&self, session_order: bool) -> Anomaly {
        let (with, without) = self.name.split_once('/').unwrap_or((self.name, self.name));
        let name = if session_order { with } else { without };
        let entry = CATALOGUE.iter().find(|e| e.name == name);
        entry.unwrap_or_else(|| panic!("no anomaly is called {name}")).anomaly
    }
}

const fn plant(
    name: &'static str,
    form: &'static str,
    forbidden: &'static str,
    named: &'static str,
    recipe: &'static [&'static str],
) -> Plant {
    Plant { name, form, forbidden, named, beside: "", soil: BOTH, recipe }
}

impl Plant {
    const fn beside(self, beside: &'static str) -> Plant {
        Plant { beside, ..self }
    }

    const fn fresh_only(self) -> Plant {
        Plant { soil: FRESH, ..self }
    }
}

/// The fourteen of figure 5, as mini-transactions.
pub const FOURTEEN: &[Plant] = &[
    plant("ThinAirRead", "figure 5a", "xxxx", "1", &["a: r(x,9)"]),
    plant("AbortedRead", "figure 5b", "xxxx", "2", &["a: r(x,0) w(x,1) abort", "b: r(x,1)"])
        .beside("1"),
    plant("FutureRead", "figure 5c", "xxxx", "1", &["a: r(x,1) w(x,1)"]),
    plant("NotMyLastWrite", "figure 5d", "xxxx", "1", &["a: r(x,0) w(x,1) w(x,2) r(x,1)"]),
    plant(
        "NotMyOwnWrite",
        "figure 5e",
        "xxxx",
        "2",
        &["a: r(x,0) w(x,1)", "b: r(x,1) w(x,2) r(x,1)"],
    )
    .beside("1"),
    plant("IntermediateRead", "figure 5f", "xxxx", "2", &["a: r(x,0) w(x,1) w(x,2)", "b: r(x,1)"])
        .beside("1"),
    plant(
        "NonRepeatableReads",
        "figure 5g",
        "xxxx",
        "2",
        &["a: r(x,0) w(x,1)", "b: r(x,0) r(x,1)"],
    )
    .beside("1"),
    plant(
        "SessionGuaranteeViolation",
        "figure 5h",
        "ssss",
        "12",
        &["a: r(x,0) w(x,1) @[0,4]", "a: r(x,0) @[4,9]"],
    ),
    plant(
        "NonMonotonicRead",
        "figure 5i",
        "xxxx",
        "12",
        &["a: r(x,0) w(x,1) r(y,0) w(y,1)", "b: r(y,1) r(x,0)"],
    ),
    plant(
        "FracturedRead",
        "figure 5j",
        "xxxx",
        "12",
        &["a: r(x,0) w(x,1) r(y,0) w(y,1)", "b: r(x,0) r(y,1)"],
    ),
    plant(
        "CausalityViolation",
        "figure 5k",
        "xxxx",
        "123",
        &["a: r(x,0) w(x,1)", "b: r(x,1) r(y,0) w(y,1)", "c: r(y,1) r(x,0)"],
    ),
    plant(
        "LongFork",
        "figure 5l",
        "xxxx",
        "1234",
        &["a: r(x,0) w(x,1)", "b: r(y,0) w(y,1)", "c: r(x,1) r(y,0)", "d: r(x,0) r(y,1)"],
    ),
    plant("LostUpdate", "figure 5m", "xxxx", "12", &["a: r(x,0) w(x,1)", "b: r(x,0) w(x,2)"]),
    plant(
        "WriteSkew",
        "figure 5n",
        "..xx",
        "12",
        &["a: r(x,0) r(y,0) w(x,1)", "b: r(x,0) r(y,0) w(y,1)"],
    ),
];

/// The same with lists.
pub const FOURTEEN_LISTS: &[Plant] = &[
    plant("ThinAirRead", "lists", "xxxx", "1", &["a: list(x,[*,9])"]),
    plant("AbortedRead", "lists", "xxxx", "2", &["a: append(x,1) abort", "b: list(x,[*,1])"])
        .beside("1"),
    plant("FutureRead", "lists", "xxxx", "1", &["a: list(x,[*,1]) append(x,1)"]),
    plant(
        "NotMyLastWrite",
        "lists",
        "xxxx",
        "1",
        &["a: list(x,[*]) append(x,1) append(x,2) list(x,[*,1])"],
    ),
    plant(
        "NotMyOwnWrite",
        "lists",
        "xxxx",
        "2",
        &["a: append(x,1)", "b: list(x,[*,1]) append(x,2) list(x,[*,1])"],
    )
    .beside("1"),
    plant(
        "IntermediateRead",
        "lists",
        "xxxx",
        "2",
        &["a: append(x,1) append(x,2)", "b: list(x,[*,1])"],
    )
    .beside("1"),
    plant(
        "NonRepeatableReads",
        "lists",
        "xxxx",
        "2",
        &["a: append(x,1)", "b: list(x,[*]) list(x,[*,1])"],
    )
    .beside("1"),
    plant(
        "SessionGuaranteeViolation",
        "lists",
        "ssss",
        "12",
        &["a: append(x,1) @[0,4]", "a: list(x,[*]) @[4,9]"],
    ),
    plant(
        "NonMonotonicRead",
        "lists",
        "xxxx",
        "12",
        &["a: append(x,1) append(y,1)", "b: list(y,[*,1]) list(x,[*])"],
    ),
    plant(
        "FracturedRead",
        "lists",
        "xxxx",
        "12",
        &["a: append(x,1) append(y,1)", "b: list(x,[*]) list(y,[*,1])"],
    ),
    plant(
        "CausalityViolation",
        "lists",
        "xxxx",
        "123",
        &["a: append(x,1)", "b: list(x,[*,1]) append(y,1)", "c: list(y,[*,1]) list(x,[*])"],
    ),
    plant(
        "LongFork",
        "lists",
        "xxxx",
        "1234",
        &[
            "a: append(x,1)",
            "b: append(y,1)",
            "c: list(x,[*,1]) list(y,[*])",
            "d: list(x,[*]) list(y,[*,1])",
        ],
    ),
    plant(
        "LostUpdate",
        "lists",
        "xxxx",
        "12",
        &["a: list(x,[*]) append(x,1)", "b: list(x,[*]) append(x,2)", "c: list(x,[*,1,2])"],
    ),
    plant(
        "WriteSkew",
        "lists",
        "..xx",
        "12",
        &["a: list(x,[*]) list(y,[*]) append(x,1)", "b: list(x,[*]) list(y,[*]) append(y,1)"],
    ),
];

/// Forms beside the fourteen: cycles by their general names.
pub const CYCLES: &[Plant] = &[
    plant(
        "G0",
        "orders of versions",
        "xxxx",
        "12",
        &["a: w(x,1) w(y,1)", "b: w(x,2) w(y,2)", "order x: 0 1 2", "order y: 0 2 1"],
    )
    .fresh_only(),
    plant(
        "G0",
        "lists",
        "xxxx",
        "12",
        &[
            "a: append(x,1) append(y,1)",
            "b: append(x,2) append(y,2)",
            "c: list(x,[*,1,2])",
            "d: list(y,[*,2,1])",
        ],
    ),
    plant(
        "CyclicCausality",
        "mini-transactions",
        "xxxx",
        "12",
        &["a: r(x,0) w(x,1) r(y,1)", "b: r(y,0) w(y,1) r(x,1)"],
    ),
    plant(
        "G1c",
        "lists",
        "xxxx",
        "12",
        &["a: append(x,1) list(y,[*,1])", "b: append(x,2) append(y,1)", "c: list(x,[*,1,2])"],
    ),
    plant(
        "G-single",
        "orders of versions",
        "xxxx",
        "12",
        &["a: w(x,1) w(y,1)", "b: w(y,2) r(x,0)", "order y: 0 1 2"],
    )
    .fresh_only(),
    plant(
        "G-single",
        "lists",
        "xxxx",
        "12",
        &["a: append(x,1) append(y,1)", "b: append(y,2) list(x,[*])", "c: list(y,[*,1,2])"],
    ),
    plant(
        "LostUpdate",
        "lists that nobody reads again",
        "xxxx",
        "12",
        &["a: list(x,[*]) append(x,1)", "b: list(x,[*]) append(x,2)"],
    )
    .fresh_only(),
    plant(
        "G-nonadjacent",
        "three writers, three readers",
        "xxxx",
        "123456",
        &[
            "a: r(x,0) w(x,1)",
            "b: r(y,0) w(y,1)",
            "c: r(z,0) w(z,1)",
            "d: r(x,1) r(y,0)",
            "e: r(y,1) r(z,0)",
            "f: r(z,1) r(x,0)",
        ],
    ),
    plant(
        "G-nonadjacent",
        "lists, three writers, three readers",
        "xxxx",
        "123456",
        &[
            "a: append(x,1)",
            "b: append(y,1)",
            "c: append(z,1)",
            "d: list(x,[*,1]) list(y,[*])",
            "e: list(y,[*,1]) list(z,[*])",
            "f: list(z,[*,1]) list(x,[*])",
        ],
    ),
    plant(
        "G2-item",
        "a ring of three",
        "..xx",
        "123",
        &["a: r(x,0) w(x,1) r(y,0)", "b: r(y,0) w(y,1) r(z,0)", "c: r(z,0) w(z,1) r(x,0)"],
    ),
    plant(
        "G2-item",
        "lists, a ring of three",
        "..xx",
        "123",
        &["a: append(x,1) list(y,[*])", "b: append(y,1) list(z,[*])", "c: append(z,1) list(x,[*])"],
    ),
];

/// Writes that follow no read. The initial state comes before them all, which is why these are on keys
/// of their own: after other versions they might come anywhere.
pub const BLIND: &[Plant] = &[
    plant(
        "NonMonotonicRead",
        "blind writes",
        "xxxx",
        "12",
        &["a: w(x,1) w(y,1)", "b: r(y,1) r(x,0)"],
    )
    .fresh_only(),
    plant("FracturedRead", "blind writes", "xxxx", "12", &["a: w(x,1) w(y,1)", "b: r(x,0) r(y,1)"])
        .fresh_only(),
    plant(
        "SessionGuaranteeViolation",
        "blind writes",
        "ssss",
        "12",
        &["a: w(x,1) @[0,4]", "a: r(x,0) @[4,9]"],
    )
    .fresh_only(),
    plant(
        "CausalityViolation",
        "blind writes",
        "xxxx",
        "123",
        &["a: w(x,1)", "b: r(x,1) w(y,1)", "c: r(y,1) r(x,0)"],
    )
    .fresh_only(),
    plant(
        "LongFork",
        "blind writes",
        "xxxx",
        "1234",
        &["a: w(x,1)", "b: w(y,1)", "c: r(x,1) r(y,0)", "d: r(x,0) r(y,1)"],
    )
    .fresh_only(),
    plant("WriteSkew", "blind writes", "..xx", "12", &["a: r(x,0) w(y,1)", "b: r(y,0) w(x,1)"])
        .fresh_only(),
];

/// What only lists can show. Others would have to go on from most such lists, so that their reads
/// would show it as well: these are on keys of their own.
pub const LISTS: &[Plant] = &[
    plant(
        "IncompatibleOrder",
        "two reads",
        "xxxx",
        "34",
        &["a: append(x,1)", "b: append(x,2)", "c: list(x,[*,1,2])", "d: list(x,[*,2,1])"],
    )
    .fresh_only(),
    plant(
        "IncompatibleOrder",
        "neither has all",
        "xxxx",
        "34",
        &["a: append(x,1)", "b: append(x,2)", "c: list(x,[*,1])", "d: list(x,[*,2])"],
    )
    .fresh_only(),
    plant(
        "DuplicateElements",
        "appended once",
        "xxxx",
        "2",
        &["a: append(x,1)", "b: list(x,[*,1,1])"],
    )
    .beside("1"),
    plant(
        "DirtyUpdate",
        "under a committed element",
        "xxxx",
        "3",
        &["a: append(x,1) abort", "b: append(x,2)", "c: list(x,[*,1,2])"],
    )
    .beside("12")
    .fresh_only(),
    plant(
        "ThinAirRead",
        "under a committed element",
        "xxxx",
        "2",
        &["a: append(x,1)", "b: list(x,[*,9,1])"],
    )
    .beside("1")
    .fresh_only(),
];

/// Transactions whose outcome nobody knows: they count if somebody saw them, and nothing follows them.
pub const UNKNOWN: &[Plant] = &[
    plant(
        "LostUpdate",
        "of which one was seen",
        "xxxx",
        "12",
        &["a: r(x,0) w(x,1) unknown", "b: r(x,0) w(x,2)", "c: r(x,1)"],
    ),
    plant(
        "LostUpdate",
        "that nobody saw",
        "....",
        "",
        &["a: r(x,0) w(x,1) unknown", "b: r(x,0) w(x,2)"],
    ),
    plant(
        "SessionGuaranteeViolation",
        "across an unknown outcome",
        "ssss",
        "13",
        &[
            "a: r(x,0) w(x,1) @[0,4]",
            "a: r(y,0) w(y,1) unknown @[4,4]",
            "a: r(x,0) @[4,9]",
            "b: r(y,1)",
        ],
    )
    .fresh_only(),
    plant(
        "SessionGuaranteeViolation",
        "a write that may come later",
        "....",
        "",
        &["a: r(x,0) w(x,1) unknown @[0,3]", "a: r(x,0) @[5,9]", "b: r(x,1)"],
    )
    .fresh_only(),
];

/// What session order or real time makes a violation. Neighbours in a session whose intervals touch
/// are not in real-time order.
pub const ORDERS: &[Plant] = &[
    plant(
        "SessionGuaranteeViolation/G-single",
        "with a pause",
        "sxsx",
        "12",
        &["a: r(x,0) w(x,1) @[0,3]", "a: r(x,0) @[5,9]"],
    ),
    plant(
        "CausalityViolation",
        "two reads of a session",
        "ssss",
        "123",
        &["a: r(x,0) w(x,1)", "b: r(x,1) @[0,4]", "b: r(x,0) @[4,9]"],
    ),
    plant(
        "CyclicCausality",
        "a session reads its future",
        "ssss",
        "12",
        &["a: r(x,1) @[0,4]", "a: r(x,0) w(x,1) @[4,9]"],
    ),
    plant(
        "G-nonadjacent",
        "each session misses the other",
        "ssss",
        "1234",
        &[
            "a: r(x,0) w(x,1) @[0,4]",
            "a: r(y,0) @[4,9]",
            "b: r(y,0) w(y,1) @[0,4]",
            "b: r(x,0) @[4,9]",
        ],
    ),
    plant(
        "G2-item",
        "a session and another",
        "..ss",
        "123",
        &["a: r(y,0) w(y,1) @[0,4]", "a: r(x,0) @[4,9]", "b: r(x,0) w(x,1) r(y,0)"],
    ),
    plant(
        "G-single",
        "a stale read",
        ".x.x",
        "12",
        &["a: r(x,0) w(x,1) @[0,3]", "b: r(x,0) @[5,9]"],
    ),
    plant(
        "G-single",
        "a stale read of a list",
        ".x.x",
        "12",
        &["a: append(x,1) @[0,3]", "b: list(x,[*]) @[5,9]"],
    ),
    plant(
        "G1c",
        "a read before its write",
        ".x.x",
        "12",
        &["a: r(x,0) w(x,1) @[5,9]", "b: r(x,1) @[0,3]"],
    ),
    plant(
        "G2-item",
        "real time and two anti-dependencies",
        "...x",
        "123",
        &["a: r(y,0) w(y,1) @[0,3]", "b: r(x,0) @[5,9]", "c: r(x,0) w(x,1) r(y,0)"],
    ),
    plant(
        "LostUpdate",
        "one after the other",
        "xxxx",
        "12",
        &["a: r(x,0) w(x,1) @[0,3]", "b: r(x,0) w(x,2) @[5,9]"],
    ),
];

/// All tables.
pub fn all() -> impl Iterator<Item = &'static Plant> {
    [FOURTEEN, FOURTEEN_LISTS, CYCLES, BLIND, LISTS, UNKNOWN, ORDERS].into_iter().flatten()
}
