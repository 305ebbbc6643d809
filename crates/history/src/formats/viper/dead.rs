//! Dead reads whose identifier is that of a live write: Viper takes the writer of a read from the identifier,
//! and so such a read would be one of a value that is there and is not.

use hashbrown::{HashMap, HashSet};

use crate::attributes::Entity;
use crate::draft::TxnDraft;
use crate::ids::Key;
use crate::notation::write_value;
use crate::op::{Effect, OpKind};
use crate::sink::Sink;
use crate::source::Source;
use crate::value::Value;

/// What was written alive, and what was read as dead.
#[derive(Default)]
pub(super) struct DeadReads {
    live: HashSet<(Key, Value)>,
    /// The first dead read of each identifier: its file, and where its line begins.
    dead: HashMap<(Key, Value), (usize, usize)>,
}

impl DeadReads {
    /// Notes a transaction of a line of a file.
    pub(super) fn note(&mut self, draft: &TxnDraft, tombstone: Value, place: (usize, usize)) {
        for ((code, key), word) in draft.codes.iter().zip(&draft.keys).zip(&draft.payloads) {
            let writes = matches!(code.kind(), OpKind::Write | OpKind::InsertIfAbsent);
            if writes && code.effect() == Effect::Done {
                self.live.insert((*key, Value::from_trusted_bits(*word)));
            }
        }
        for (entity, op, name, value) in &draft.attrs {
            let at = *op as usize;
            if *entity == Entity::Op
                && *name == tombstone
                && draft.codes.get(at).is_some_and(|code| code.kind() == OpKind::Read)
            {
                self.dead.entry((draft.keys[at], *value)).or_insert(place);
            }
        }
    }

    /// Warns once, at the first such read.
    pub(super) fn warn(&self, source: &Source, sink: &mut dyn Sink) {
        let odd = || self.dead.iter().filter(|(written, _)| self.live.contains(*written));
        let Some(((key, value), (file, at))) = odd().min_by_key(|(_, place)| **place) else {
            return;
        };
        let Some(input) = source.files().get(*file) else { return };
        let (mut shown_key, mut shown_value) = (String::new(), String::new());
        let name = sink.pool().key_name(*key);
        write_value(sink.pool(), name, &mut shown_key);
        write_value(sink.pool(), *value, &mut shown_value);
        let more = match odd().count() {
            1 => String::new(),
            count => format!("; {count} identifiers are like this, the first in this line"),
        };
        let message = format!(
            "key {shown_key} is read as dead, and with the identifier {shown_value}, which a live write has: \
             it is taken as a read of a deleted key{more}"
        );
        sink.warn(input.text_warning(*at, message));
    }
}
