//! What a workload shall be like, and what it cannot be like.

use isolde_spec::Anomaly;

use crate::pick::Distribution;

/// How many elements a list gets before there is a fresh one, unless told otherwise. A read brings
/// the whole list, so twice as long is twice as slow.
const LIST_LENGTH: u32 = 64;
/// The most popular list may get so many times as many.
const TOP_LIST: f64 = 8.0;
/// How many operations a row gets before there is a fresh table.
const OPERATIONS_A_ROW: u64 = 64;

/// What transactions do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Mini-transactions: one or two reads, up to two writes, each after a read of its key.
    Mini,
    /// Cobra's mix: 20% read-only, 40% write-only, 40% read-modify-write.
    General,
    /// Appends to lists and reads of lists.
    Append,
    /// Compare-and-set, insert-if-absent and reads of single rows, in fresh, empty tables.
    Cas,
    /// Reads and blind writes of registers, mixed at random.
    Register,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 5] = [Kind::Mini, Kind::General, Kind::Append, Kind::Cas, Kind::Register];

    /// Its name on the command line and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Mini => "mini",
            Kind::General => "general",
            Kind::Append => "append",
            Kind::Cas => "cas",
            Kind::Register => "register",
        }
    }

    /// The kind of that name.
    pub fn named(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// What a workload shall be like.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    /// What transactions do.
    pub kind: Kind,
    /// The rows of a table.
    pub keys: u32,
    /// How often each is touched.
    pub distribution: Distribution,
    /// How many operations a transaction has at most (general: exactly; mini: 4, always; cas: 1,
    /// always).
    pub max_txn_len: u32,
    /// How many sessions there are.
    pub sessions: u32,
    /// An anomaly whose shape and contention to favour (mini only).
    pub favour: Option<Anomaly>,
    /// Which share of the transactions the client rolls back on purpose, from 0 to 1.
    pub rollbacks: f64,
    /// After how many transactions of a session it goes on to a fresh table. 0 means, for append
    /// and cas: chosen so that lists stay short and inserts have a chance; for the others: never.
    ///
    /// Each session counts its own transactions, whatever the others do, so for a while some
    /// work on the old table and some on the new one.
    pub round: u32,
    /// What all choices follow from.
    pub seed: u64,
}

/// The longest transaction: a longer one shows nothing more.
const MAX_TXN_LEN: u32 = 1_000;
/// The largest table: alias tables have a cell for each row.
const MAX_KEYS: u32 = 100_000_000;
const MAX_SESSIONS: u32 = 100_000;

impl Default for Settings {
    fn default() -> Settings {
        Settings::new(Kind::Mini)
    }
}

impl Settings {
    /// What is usual for that kind.
    pub const fn new(kind: Kind) -> Settings {
        let (keys, max_txn_len) = match kind {
            Kind::Mini | Kind::Register => (1_000, 4),
            Kind::General => (1_000, 8),
            Kind::Append => (100, 4),
            Kind::Cas => (10, 1),
        };
        Settings {
            kind,
            keys,
            distribution: Distribution::Uniform,
            max_txn_len,
            sessions: 10,
            favour: None,
            rollbacks: 0.0,
            round: 0,
            seed: 0,
        }
    }

    /// After how many transactions of a session lists have about that length: a
    /// [`round`](Settings::round) for [`Kind::Append`].
    pub fn round_for_lists(&self, length: u32) -> u32 {
        // Half of the operations append, and half of the longest transaction is the mean one.
        let a_txn = (f64::from(self.max_txn_len) + 1.0) / 4.0;
        let all = f64::from(self.sessions) * a_txn;
        let top = self.distribution.top_share(self.keys);
        let appends = f64::from(length) * f64::from(self.keys).min(TOP_LIST / top);
        (appends / all).clamp(1.0, f64::from(u32::MAX)) as u32
    }

    /// The same with everything chosen that was left open, or what is wrong.
    pub(crate) fn settled(mut self) -> Result<Settings, String> {
        match self.kind {
            Kind::Mini => self.max_txn_len = 4,
            Kind::Cas => self.max_txn_len = 1,
            Kind::General | Kind::Append | Kind::Register => {}
        }
        self.validate()?;
        if self.round == 0 {
            self.round = match self.kind {
                Kind::Append => self.round_for_lists(LIST_LENGTH),
                Kind::Cas => self.round_for_rows(),
                Kind::Mini | Kind::General | Kind::Register => 0,
            };
        }
        Ok(self)
    }

    /// After how many transactions of a session there is a fresh table for [`Kind::Cas`].
    fn round_for_rows(&self) -> u32 {
        let all = OPERATIONS_A_ROW * u64::from(self.keys);
        // Fewer would leave a session no time to read what it then replaces.
        (all / u64::from(self.sessions)).clamp(4, u64::from(u32::MAX)) as u32
    }

    fn validate(&self) -> Result<(), String> {
        let within = |what: &str, n: u32, least: u32, most: u32| {
            if (least..=most).contains(&n) {
                return Ok(());
            }
            Err(format!("a workload needs {least} to {most} {what}, not {n}"))
        };
        // One operation a transaction needs no second row.
        let least = if self.kind == Kind::Cas { 1 } else { 2 };
        within("keys", self.keys, least, MAX_KEYS)?;
        within("sessions", self.sessions, 1, MAX_SESSIONS)?;
        within("operations a transaction", self.max_txn_len, 1, MAX_TXN_LEN)?;
        self.distribution.validate()?;
        if !(0.0..=1.0).contains(&self.rollbacks) {
            return Err(format!(
                "the share of rollbacks lies between 0 and 1, not at {}",
                self.rollbacks
            ));
        }
        match self.favour {
            Some(anomaly) if self.kind != Kind::Mini => Err(format!(
                "only mini-transactions can favour {anomaly}, not the workload {}",
                self.kind.name()
            )),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Workload;

    #[track_caller]
    fn refused(settings: Settings, words: &str) {
        let error = Workload::new(settings).map(|_| ()).unwrap_err();
        assert!(error.contains(words), "{error}");
    }

    #[test]
    fn nonsense_is_refused() {
        let usual = Settings::default;
        let hotspot = |keys, operations| Distribution::Hotspot { keys, operations };
        refused(Settings { keys: 1, ..usual() }, "2 to 100000000 keys, not 1");
        refused(Settings { keys: u32::MAX, ..usual() }, "keys");
        refused(Settings { keys: 0, ..Settings::new(Kind::Cas) }, "1 to 100000000 keys, not 0");
        assert!(Workload::new(Settings { keys: 1, ..Settings::new(Kind::Cas) }).is_ok());
        refused(Settings { sessions: 0, ..usual() }, "1 to 100000 sessions, not 0");
        refused(Settings { max_txn_len: 0, ..Settings::new(Kind::General) }, "operations");
        refused(Settings { max_txn_len: 5_000, ..Settings::new(Kind::Append) }, "operations");
        refused(Settings { rollbacks: 1.5, ..usual() }, "between 0 and 1, not at 1.5");
        refused(Settings { rollbacks: f64::NAN, ..usual() }, "between 0 and 1");
        refused(Settings { distribution: Distribution::Zipf(-1.0), ..usual() }, "exponent");
        refused(Settings { distribution: hotspot(0.0, 80.0), ..usual() }, "hotspot:0/80");
        refused(Settings { distribution: hotspot(100.0, 80.0), ..usual() }, "hotspot:100/80");
        refused(Settings { favour: Some(Anomaly::G2Item), ..usual() }, "G2-item is none");
        let favour = Some(Anomaly::LostUpdate);
        refused(Settings { favour, ..Settings::new(Kind::Append) }, "not the workload append");
    }

    #[test]
    fn every_kind_has_usual_settings() {
        for kind in Kind::ALL {
            let workload = Workload::new(Settings::new(kind)).unwrap();
            assert_eq!(workload.settings().kind, kind);
            assert_eq!(Kind::named(kind.name()), Some(kind));
            let rounds = matches!(kind, Kind::Append | Kind::Cas);
            assert_eq!(workload.settings().round > 0, rounds, "{kind:?}");
        }
        // A wish of one's own stays.
        let own = Settings { round: 7, ..Settings::new(Kind::Append) };
        assert_eq!(Workload::new(own).unwrap().settings().round, 7);
    }
}
