//! Lists and transactions that append to them and read them.
//!
//! As in Jepsen's workload, a list that is long enough makes room for a new one under a new key, so
//! that reads stay short however long the history is.

use super::pick::Picker;
use super::plan::Plan;
use super::random::Random;
use super::store::{Act, Fate, Fresh, Running, Store, Touch};

/// The lists in use.
pub(crate) struct Lists {
    picker: Picker,
    places: Vec<Place>,
    next_key: u64,
    longest: usize,
    /// Lists that have stopped growing and shall be read once more; `None` if none shall be.
    stopped: Option<Vec<(u64, Vec<u64>)>>,
}

/// Where one list after another grows.
struct Place {
    key: u64,
    elements: Vec<u64>,
    /// The last element that somebody has set out to append.
    last: u64,
    /// How often something was appended here, to whatever list.
    version: u64,
}

impl Lists {
    pub(crate) fn new(plan: &Plan) -> Lists {
        let place = |key| Place { key, elements: Vec::new(), last: 0, version: 0 };
        Lists {
            picker: Picker::new(plan.distribution, plan.keys, plan.exponent),
            places: (0..u64::from(plan.keys)).map(place).collect(),
            next_key: u64::from(plan.keys),
            longest: plan.list_length,
            stopped: plan.read_out.then(Vec::new),
        }
    }

    fn touch<'t>(&self, at: u32, txn: &'t mut Running) -> &'t mut Touch {
        let found = txn.touched.iter().position(|t| t.place == at);
        let index = found.unwrap_or(txn.touched.len());
        if found.is_none() {
            let Place { key, version, .. } = self.places[at as usize];
            txn.touched.push(Touch { place: at, key, version, read: false, wrote: false });
        }
        &mut txn.touched[index]
    }

    fn append(&mut self, at: u32, txn: &mut Running) {
        self.touch(at, txn).wrote = true;
        let place = &mut self.places[at as usize];
        place.last += 1;
        txn.acts.push(Act::Append { key: place.key, value: place.last });
    }

    /// Everything that is there, and what the transaction itself has appended so far.
    fn read(&self, at: u32, txn: &mut Running) {
        self.touch(at, txn).read = true;
        let place = &self.places[at as usize];
        let start = txn.elements.len() as u32;
        txn.elements.extend(&place.elements);
        let own = txn.acts.iter().filter_map(|act| match *act {
            Act::Append { key, value } if key == place.key => Some(value),
            _ => None,
        });
        txn.elements.extend(own);
        txn.acts.push(Act::ListRead { key: place.key, start, end: txn.elements.len() as u32 });
    }
}

impl Store for Lists {
    const LISTS: bool = true;

    fn picker(&self) -> &Picker {
        &self.picker
    }

    fn begin(&mut self, random: &mut Random, txn: &mut Running) {
        for _ in 0..=random.below(4) {
            let at = self.picker.pick(random);
            if random.coin() {
                self.append(at, txn);
            } else {
                self.read(at, txn);
            }
        }
    }

    fn update(&mut self, place: u32, txn: &mut Running) {
        self.read(place, txn);
        self.append(place, txn);
    }

    fn is_current(&self, touch: &Touch) -> bool {
        self.places[touch.place as usize].version == touch.version
    }

    fn is_there(&self, touch: &Touch) -> bool {
        self.places[touch.place as usize].key == touch.key
    }

    fn apply(&mut self, txn: &Running) {
        for act in &txn.acts {
            let Act::Append { key, value } = *act else { continue };
            // The keys of planted violations have no place here: nobody else reads them.
            let Some(touch) = txn.touched.iter().find(|t| t.key == key) else { continue };
            let place = &mut self.places[touch.place as usize];
            if place.key == key {
                place.elements.push(value);
                place.version += 1;
            }
        }
        for touch in txn.touched.iter().filter(|t| t.wrote) {
            let place = &mut self.places[touch.place as usize];
            if place.elements.len() >= self.longest {
                let elements = std::mem::take(&mut place.elements);
                if let Some(stopped) = &mut self.stopped {
                    stopped.push((place.key, elements));
                }
                place.key = self.next_key;
                place.last = 0;
                self.next_key += 1;
            }
        }
    }

    fn fresh(&mut self) -> Fresh {
        let keys = [self.next_key, self.next_key + 1];
        self.next_key += 2;
        Fresh { keys, base: 0 }
    }
    fn last_read(&mut self) -> Option<Running> {
        let (key, elements) = self.stopped.as_mut()?.pop()?;
        let mut txn = Running { fate: Fate::Commits, ..Running::default() };
        txn.list_read(key, elements);
        Some(txn)
    }

    fn close(&mut self) {
        let lists = self.places.iter_mut().map(|p| (p.key, std::mem::take(&mut p.elements)));
        if let Some(stopped) = &mut self.stopped {
            stopped.extend(lists.filter(|(_, elements)| !elements.is_empty()));
        }
    }
}
