//! What a workload shall be like, and what it cannot be like.

use isolde_spec::Anomaly;

use crate::application::{Row, TxnType};
use crate::pick::Distribution;
use crate::{rubis, tpcc, twitter};

/// How many elements a list gets before there is a fresh one, unless told otherwise. A read brings
/// the whole list, so twice as long is twice as slow.
const LIST_LENGTH: u32 = 64;
/// The most popular list may get so many times as many.
const TOP_LIST: f64 = 8.0;
/// How many operations a row gets before there is a fresh table.
const OPERATIONS_A_ROW: u64 = 64;

/// The share of reads that is usual.
const HALF: f64 = 0.5;

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
    /// The same with a length and a share of reads of one's own.
    Mix,
    /// A small Twitter: post, follow, unfollow, timeline.
    Twitter,
    /// An auction site: register, list, bid, comment, view.
    Rubis,
    /// The five transactions of TPC-C.
    Tpcc,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 9] = [
        Kind::Mini,
        Kind::General,
        Kind::Append,
        Kind::Cas,
        Kind::Register,
        Kind::Mix,
        Kind::Twitter,
        Kind::Rubis,
        Kind::Tpcc,
    ];

    /// Its name on the command line and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Mini => "mini",
            Kind::General => "general",
            Kind::Append => "append",
            Kind::Cas => "cas",
            Kind::Register => "register",
            Kind::Mix => "mix",
            Kind::Twitter => "twitter",
            Kind::Rubis => "rubis",
            Kind::Tpcc => "tpcc",
        }
    }

    /// The kind of that name.
    pub fn named(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The transactions of a workload that imitates an application; none of the others.
    pub fn transactions(self) -> Vec<TxnType> {
        fn types<T>(table: &[Row<T>]) -> Vec<TxnType> {
            table.iter().map(|row| row.0).collect()
        }
        match self {
            Kind::Twitter => types(&twitter::TABLE),
            Kind::Rubis => types(&rubis::TABLE),
            Kind::Tpcc => types(&tpcc::TABLE),
            _ => Vec::new(),
        }
    }

    /// How long its longest transactions are, if that is not for the user to say.
    pub const fn own_length(self) -> Option<u32> {
        match self {
            Kind::Mini => Some(4),
            Kind::Cas => Some(1),
            Kind::Twitter => Some(twitter::LONGEST),
            Kind::Rubis => Some(rubis::LONGEST),
            Kind::Tpcc => Some(tpcc::LONGEST),
            Kind::General | Kind::Append | Kind::Register | Kind::Mix => None,
        }
    }
}

/// What a workload shall be like.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    /// What transactions do.
    pub kind: Kind,
    /// The rows of a table; of twitter and rubis, how many users there are, and of tpcc, how many
    /// warehouses: these have several [`rows`](Settings::rows) each.
    pub keys: u32,
    /// How often each is touched.
    pub distribution: Distribution,
    /// How many operations a transaction has at most (general, mix: exactly). Where the kind has its
    /// [own length](Kind::own_length), it is that.
    pub max_txn_len: u32,
    /// Which share of the operations reads, from 0 to 1; half of them if nothing is said (mix only).
    pub reads: Option<f64>,
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
        let (keys, usual_len) = match kind {
            Kind::Mini | Kind::Register => (1_000, 4),
            Kind::General => (1_000, 8),
            Kind::Append => (100, 4),
            Kind::Cas => (10, 1),
            Kind::Mix => (1_000, 15),
            Kind::Twitter => (500, 1),
            Kind::Rubis => (200, 1),
            Kind::Tpcc => (1, 1),
        };
        let max_txn_len = match kind.own_length() {
            Some(own) => own,
            None => usual_len,
        };
        let (distribution, sessions) = match kind {
            Kind::Mix => (Distribution::Zipf(1.0), 50),
            Kind::Twitter => (Distribution::Zipf(1.0), 10),
            _ => (Distribution::Uniform, 10),
        };
        Settings {
            kind,
            keys,
            distribution,
            max_txn_len,
            reads: None,
            sessions,
            favour: None,
            rollbacks: 0.0,
            round: 0,
            seed: 0,
        }
    }

    /// How many rows a table has.
    pub fn rows(&self) -> u32 {
        u32::try_from(self.row_count()).unwrap_or(u32::MAX)
    }

    fn row_count(&self) -> u64 {
        match self.kind {
            Kind::Twitter => twitter::rows(self.keys),
            Kind::Rubis => rubis::rows(self.keys),
            Kind::Tpcc => tpcc::rows(self.keys),
            _ => u64::from(self.keys),
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
        self.max_txn_len = self.kind.own_length().unwrap_or(self.max_txn_len);
        self.validate()?;
        if self.kind == Kind::Mix {
            self.reads = self.reads.or(Some(HALF));
        }
        if self.round == 0 {
            self.round = match self.kind {
                Kind::Append => self.round_for_lists(LIST_LENGTH),
                Kind::Cas => self.round_for_rows(),
                _ => 0,
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

    /// What there are so many of as there are keys.
    fn keys_are(&self) -> &'static str {
        match self.kind {
            Kind::Twitter | Kind::Rubis => "users",
            Kind::Tpcc => "warehouses",
            _ => "keys",
        }
    }

    fn validate(&self) -> Result<(), String> {
        let within = |what: &str, n: u32, least: u32, most: u32| {
            if (least..=most).contains(&n) {
                return Ok(());
            }
            Err(format!("a workload needs {least} to {most} {what}, not {n}"))
        };
        // One operation a transaction needs no second row, and one warehouse has many rows.
        let least = if matches!(self.kind, Kind::Cas | Kind::Tpcc) { 1 } else { 2 };
        within(self.keys_are(), self.keys, least, MAX_KEYS)?;
        if self.row_count() > u64::from(MAX_KEYS) {
            let (keys, what, rows) = (self.keys, self.keys_are(), self.row_count());
            return Err(format!(
                "{keys} {what} have {rows} rows, and a workload has at most {MAX_KEYS}"
            ));
        }
        within("sessions", self.sessions, 1, MAX_SESSIONS)?;
        within("operations a transaction", self.max_txn_len, 1, MAX_TXN_LEN)?;
        self.distribution.validate()?;
        if !(0.0..=1.0).contains(&self.rollbacks) {
            return Err(format!(
                "the share of rollbacks lies between 0 and 1, not at {}",
                self.rollbacks
            ));
        }
        if self.kind == Kind::Tpcc && self.distribution != Distribution::Uniform {
            return Err(
                "tpcc picks customers and items as its standard says, not by a distribution"
                    .to_owned(),
            );
        }
        match self.reads {
            Some(_) if self.kind != Kind::Mix => {
                let kind = self.kind.name();
                return Err(format!("the workload {kind} has its own share of reads; mix has not"));
            }
            Some(share) if !(0.0..=1.0).contains(&share) => {
                return Err(format!("the share of reads lies between 0 and 1, not at {share}"));
            }
            _ => {}
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
        let tpcc = || Settings::new(Kind::Tpcc);
        refused(Settings { distribution: Distribution::Zipf(1.0), ..tpcc() }, "standard");
        refused(Settings { keys: 20_000, ..tpcc() }, "20000 warehouses have 120221000 rows");
        refused(Settings { keys: 1, ..Settings::new(Kind::Rubis) }, "2 to 100000000 users, not 1");
        refused(Settings { reads: Some(0.5), ..usual() }, "its own share of reads");
        refused(Settings { reads: Some(2.0), ..Settings::new(Kind::Mix) }, "between 0 and 1");
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
            assert_eq!(workload.settings().reads, (kind == Kind::Mix).then_some(0.5));
            let rounds = matches!(kind, Kind::Append | Kind::Cas);
            assert_eq!(workload.settings().round > 0, rounds, "{kind:?}");
        }
        // A wish of one's own stays.
        let own = Settings { round: 7, ..Settings::new(Kind::Append) };
        assert_eq!(Workload::new(own).unwrap().settings().round, 7);
    }
}
