//! `docs/workloads.md` says what the tables of the code say.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use isolde_workload::simulate::{TimestampFault, TimestampStyle, plantable};
use isolde_workload::{Kind, SHAPES, favoured};

#[test]
fn the_page_names_every_kind_shape_fault_and_anomaly() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/workloads.md");
    let page = std::fs::read_to_string(path).unwrap();
    for shape in &SHAPES {
        assert!(page.contains(&format!("| `{}` | {} |", shape.name, shape.weight)), "{shape:?}");
    }
    for kind in Kind::ALL {
        assert!(page.contains(&format!("| `{}` |", kind.name())), "{kind:?}");
        for txn in kind.transactions() {
            assert!(page.contains(&format!("| `{}` | {} |", txn.name, txn.weight)), "{txn:?}");
        }
        for anomaly in plantable(kind).chain(favoured()) {
            assert!(page.contains(&format!("`{anomaly}`")), "{anomaly}");
        }
    }
    let faults = TimestampFault::ALL.map(|fault| format!("| `{}` |", fault.name()));
    let styles = TimestampStyle::ALL.map(|style| format!("`{}`", style.name()));
    for name in faults.iter().chain(&styles) {
        assert!(page.contains(name), "{name}");
    }
}
