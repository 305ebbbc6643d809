//! How much memory the mirror takes.

use super::content::Content;
use super::mirror::Mirror;
use super::row::{Held, Row, RowVersion, TraceNo};
use super::topology::Topology;
use super::trace::{Hold, Read, Trace, Write};
use crate::content::{NameId, Word};

/// A dependency, on both of its ends.
const A_LINK: usize = 64;
/// A transaction in the order of all.
const A_NODE: usize = 160;

impl Mirror {
    /// The bytes that it takes, about: all rows are looked at.
    pub(super) fn heap_bytes(&self) -> usize {
        let rows = self.rows.values().map(Row::heap_bytes).sum::<usize>();
        let table = self.rows.capacity() * (size_of::<(NameId, Row)>() + 1);
        let waiting = self.waiting_traces().map(trace_bytes).sum::<usize>();
        rows + table + waiting + topology_bytes(&self.topology)
    }
}

impl Row {
    fn heap_bytes(&self) -> usize {
        let of = |version: &RowVersion| {
            version.readers.capacity() * size_of::<(TraceNo, u32)>() + version.content.heap_bytes()
        };
        self.versions.capacity() * size_of::<RowVersion>()
            + self.versions.iter().map(of).sum::<usize>()
            + self.held.capacity() * size_of::<Held>()
            + self.first_readers.capacity() * size_of::<(TraceNo, u32)>()
            + self.first.heap_bytes()
    }
}

impl Content {
    fn heap_bytes(&self) -> usize {
        match self {
            Content::Columns { cells, .. } => cells.capacity() * size_of::<(NameId, Word)>(),
            _ => 0,
        }
    }
}

fn trace_bytes(trace: &Trace) -> usize {
    size_of::<(TraceNo, Trace)>()
        + trace.reads.capacity() * size_of::<Read>()
        + trace.writes.capacity() * size_of::<Write>()
        + trace.holds.capacity() * size_of::<Hold>()
}

fn topology_bytes(topology: &Topology) -> usize {
    let (nodes, links) = topology.size();
    nodes * A_NODE + links * A_LINK
}
