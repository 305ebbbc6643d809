//! Registers and mini-transactions: one or two reads, up to two writes, each after a read of its key.

use super::pick::Picker;
use super::plan::Plan;
use super::random::Random;
use super::store::{Act, Fresh, Running, Store, Touch};

/// A value under each key. Every value is written once, so it is its own version.
pub(crate) struct Registers {
    picker: Picker,
    values: Vec<u64>,
    next_key: u64,
    last_value: u64,
}

impl Registers {
    pub(crate) fn new(plan: &Plan) -> Registers {
        Registers {
            picker: Picker::new(plan.distribution, plan.keys, plan.exponent),
            values: vec![0; plan.keys as usize],
            next_key: u64::from(plan.keys),
            last_value: 0,
        }
    }

    fn read(&self, place: u32, wrote: bool, txn: &mut Running) {
        let (key, value) = (u64::from(place), self.values[place as usize]);
        txn.acts.push(Act::Read { key, value });
        txn.touched.push(Touch { place, key, version: value, read: true, wrote });
    }

    fn write(&mut self, place: u32, txn: &mut Running) {
        self.last_value += 1;
        txn.acts.push(Act::Write { key: u64::from(place), value: self.last_value });
    }
}

impl Store for Registers {
    const LISTS: bool = false;

    fn picker(&self) -> &Picker {
        &self.picker
    }

    fn begin(&mut self, random: &mut Random, txn: &mut Running) {
        let first = self.picker.pick(random);
        let writes = [random.coin(), random.coin()];
        if random.below(4) == 0 {
            self.read(first, writes[0], txn);
            if writes[0] {
                self.write(first, txn);
            }
            return;
        }
        let places = [first, self.picker.pick_other(first, random)];
        // Both reads and then the writes, or one key after the other.
        let reads_first = random.coin();
        for (place, wrote) in places.into_iter().zip(writes) {
            self.read(place, wrote, txn);
            if wrote && !reads_first {
                self.write(place, txn);
            }
        }
        for (place, wrote) in places.into_iter().zip(writes) {
            if wrote && reads_first {
                self.write(place, txn);
            }
        }
    }

    fn update(&mut self, place: u32, txn: &mut Running) {
        self.read(place, true, txn);
        self.write(place, txn);
    }

    fn is_current(&self, touch: &Touch) -> bool {
        self.values[touch.place as usize] == touch.version
    }

    fn is_there(&self, _: &Touch) -> bool {
        true
    }

    fn apply(&mut self, txn: &Running) {
        for act in &txn.acts {
            // The keys of planted violations have no place here: nobody else reads them.
            if let Act::Write { key, value } = *act
                && let Some(cell) = self.values.get_mut(key as usize)
            {
                *cell = value;
            }
        }
    }

    fn fresh(&mut self) -> Fresh {
        let keys = [self.next_key, self.next_key + 1];
        self.next_key += 2;
        let base = self.last_value;
        self.last_value += 10;
        Fresh { keys, base }
    }
}
