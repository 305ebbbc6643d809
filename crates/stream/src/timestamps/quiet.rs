//! Versions of which it can be seen at once that nothing is to be told: nearly all.

use super::key_records::Version;
use super::key_state::{KeyState, duration};

impl KeyState {
    /// Enters versions of a register if it can be seen at once that nothing is to be told of them: no reader is later, none
    /// has the commit timestamp of another, and, where writers may conflict, all are apart. Otherwise nothing is changed. The
    /// caller knows that no read that was told saw any of them.
    ///
    /// Together, because each version that comes late makes room among those that stand after it.
    pub(crate) fn add_quiet_versions(&mut self, new: &mut [Version], may_conflict: bool) -> bool {
        new.sort_unstable_by_key(|version| (version.commit, version.txn));
        let Some(first) = new.first() else { return true };
        if first.commit <= self.latest || (may_conflict && !self.apart) {
            return false;
        }
        let from = self.place_of(first);
        let fits = |before: &Version, next: &Version| match may_conflict {
            true => before.commit <= next.start && next.start < next.commit,
            false => before.commit < next.commit,
        };
        let mut before = from.checked_sub(1).map(|before| self.versions[before]);
        let (mut old, mut rest) = (&self.versions[from..], &*new);
        while let Some(next) = rest.first() {
            let next = match old.split_first() {
                Some((next_old, others)) if next_old.commit < next.commit => {
                    old = others;
                    next_old
                }
                _ => {
                    rest = &rest[1..];
                    next
                }
            };
            let starts_well = !may_conflict || next.start < next.commit;
            if !starts_well || before.is_some_and(|before| !fits(&before, next)) {
                return false;
            }
            before = Some(*next);
        }
        if let (Some(before), Some(next)) = (before, old.first())
            && !fits(&before, next)
        {
            return false;
        }
        for version in &*new {
            if let Some(words) = &mut self.words {
                words.add_version(version);
            }
            self.longest = self.longest.max(duration(version));
        }
        self.marks.forget_from(from);
        self.merge_versions(new);
        true
    }

    /// Puts versions that are in their order among those that are here.
    fn merge_versions(&mut self, new: &[Version]) {
        let (mut old, mut left) = (self.versions.len(), new.len());
        self.versions.extend_from_slice(new);
        // From the last place down, the later of the two.
        while left > 0 && old > 0 {
            let is_later = self.versions[old - 1].commit > new[left - 1].commit;
            let later = if is_later { self.versions[old - 1] } else { new[left - 1] };
            self.versions[old + left - 1] = later;
            match is_later {
                true => old -= 1,
                false => left -= 1,
            }
        }
        self.versions[..left].copy_from_slice(&new[..left]);
    }
}
