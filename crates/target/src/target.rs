//! The two traits behind which databases stand.

use std::path::PathBuf;

use isolde_history::{OpKind, Outcome};

use crate::console::Consoles;
use crate::failure::Failure;
use crate::leftover::Leftover;
use crate::node::Node;
use crate::offer::Offer;
use crate::path::Path;
use crate::relay::Relay;
use crate::request::{Answer, Request};
use crate::shown::{InDoubt, ResolvedOutcome, ServerTxn, Show, TableVersions, TakenSnapshot};
use crate::timestamps::{CommitOrder, Timestamps};

/// What the rows of a table hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contents {
    /// One integer each.
    Registers,
    /// A list of integers each, which is appended to.
    Lists,
}

/// A table to be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Table {
    /// Its number; a target makes a name of it that nothing else uses.
    pub number: u32,
    /// What its rows hold.
    pub contents: Contents,
    /// How many rows there may be.
    pub rows: u32,
    /// Whether all rows are there from the start, each with the integer 0 (registers only).
    pub filled: bool,
}

/// How a COMMIT ended that brought no error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// The server confirmed it.
    Committed,
    /// The server rolled back, and said so (PostgreSQL after a failed statement).
    RolledBack,
}

/// Where a throwaway server is, for a user to look at it or keep it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Throwaway {
    /// How to connect; with its password, so it belongs on a screen and in no record.
    pub url: String,
    /// The folder that holds its data, its log and its socket.
    pub folder: PathBuf,
    /// The number of its process.
    pub pid: Option<u32>,
    /// Whether it stays when we are gone.
    pub kept: bool,
}

/// A database.
pub trait Target: Send + Sync {
    /// The database system, such as `PostgreSQL`.
    fn name(&self) -> &str;

    /// Its version, as it says itself.
    fn version(&self) -> &str;

    /// Facts for the record beside name and version: settings that matter, where it runs.
    fn facts(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// The levels that it offers, weakest first.
    fn offers(&self) -> &'static [Offer];

    /// Whether sessions tell when transactions happened ([`Session::timestamps`]), as far as that is known before
    /// they do.
    fn tells_timestamps(&self) -> bool {
        false
    }

    /// What it claims of the order of the commit timestamps that sessions at that offer tell
    /// ([`Session::timestamps`]).
    fn commit_order(&self, _offer: &Offer) -> CommitOrder {
        CommitOrder::Unsaid
    }

    /// The ways to do an access, with how often each is taken; not empty for kinds it can do. The
    /// weight of 0 is for ways that are only taken if the user asks for them by name.
    fn paths(&self, kind: OpKind) -> &'static [(Path, u32)];

    /// Makes a table.
    fn create(&self, table: &Table) -> Result<(), Failure>;

    /// A new session at one of the [`offers`](Target::offers).
    fn connect(&self, offer: &Offer) -> Result<Box<dyn Session>, Failure>;

    /// The same for one of many clients, counted from 0: a cluster spreads them over its nodes. A client
    /// that comes back gets the node that it had.
    fn connect_client(&self, offer: &Offer, _client: u32) -> Result<Box<dyn Session>, Failure> {
        self.connect(offer)
    }

    /// The name of the node that serves a client, if there are several.
    fn node_of(&self, _client: u32) -> Option<String> {
        None
    }

    /// Whether that client can only read, since its node is a copy.
    fn only_reads(&self, _client: u32) -> bool {
        false
    }

    /// The servers behind it to which something can be done; none of servers that are not ours.
    fn nodes(&self) -> Vec<&dyn Node> {
        Vec::new()
    }

    /// What its connections go through, if it was asked for (`OpenOptions::relayed`).
    fn relay(&self) -> Option<&Relay> {
        None
    }

    /// SQL as it is typed, for exact interleavings, if it understands any.
    fn consoles(&self) -> Option<&dyn Consoles> {
        None
    }

    /// The same for any SQL that is not a schedule's: a target whose sessions never wait, and so play no schedules, has
    /// these only.
    fn sql(&self) -> Option<&dyn Consoles> {
        self.consoles()
    }

    /// Removes one table that no session will touch again, so that long runs do not fill the server.
    /// Targets to which it does not matter leave it for [`clean`](Target::clean).
    fn drop_table(&self, _number: u32) -> Result<(), Failure> {
        Ok(())
    }

    /// Removes what [`create`](Target::create) made. Sessions are gone by then.
    fn clean(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// Whether it shows that beside its answers; if not, why not.
    fn shows(&self, show: Show) -> Result<(), String> {
        Err(format!("{} does not show {}; {}", self.name(), show.name(), show.shown_by()))
    }

    /// What became of a transaction whose COMMIT got no final answer, if the server can tell by now. Asked
    /// when the session that ran it is connected again.
    fn fate(&self, _in_doubt: &InDoubt<'_>) -> ResolvedOutcome {
        Outcome::Unknown.into()
    }

    /// Of transactions whose commit the server confirmed, those that it has lost. Asked when all sessions are
    /// gone.
    fn lost(&self, _confirmed: &[ServerTxn]) -> Result<Vec<ServerTxn>, Failure> {
        Ok(Vec::new())
    }

    /// When each transaction was committed by the server's own clock, in microseconds, if it keeps that. The
    /// clock may jump, so it contradicts nothing that the server shows; it can only cast doubt on it.
    fn commit_times(&self, _txns: &[ServerTxn]) -> Result<Option<Vec<Option<i64>>>, Failure> {
        Ok(None)
    }

    /// All versions of the rows of a table that no session will touch again, if the server shows them
    /// ([`Show::Versions`](crate::Show)).
    fn versions(&self, _table: u32) -> Result<Option<TableVersions>, Failure> {
        Ok(None)
    }

    /// What runs that were killed left behind; nothing if this target cannot tell.
    fn leftovers(&self) -> Result<Option<Vec<Leftover>>, Failure> {
        Ok(None)
    }

    /// Removes one of them.
    fn remove_leftover(&self, _left: &Leftover) -> Result<(), Failure> {
        Ok(())
    }

    /// The throwaway server behind it, if it is one.
    fn throwaway(&self) -> Option<Throwaway> {
        None
    }

    /// What a database that died left behind: the path of its log, or its last lines.
    fn last_words(&self) -> Option<String> {
        None
    }
}

/// A client of the database: runs transactions one after another.
pub trait Session: Send {
    /// Starts a transaction.
    fn begin(&mut self) -> Result<(), Failure>;

    /// Starts a transaction that will only read, and lock nothing. Whether the server was told so: those
    /// that can declare it do if it changes nothing that is to be tested.
    fn begin_reading(&mut self) -> Result<bool, Failure> {
        self.begin().map(|()| false)
    }

    /// Does one access inside the transaction.
    fn run(&mut self, request: &Request) -> Result<Answer, Failure>;

    /// The server's revision of the version that the last access read, if it tells and there was one.
    fn revision(&self) -> Option<i64> {
        None
    }

    /// The snapshot that the last access read from, if the server was told to show it
    /// ([`Show::Snapshots`](crate::Show)) and it was not told before.
    fn snapshot(&mut self) -> Option<TakenSnapshot> {
        None
    }

    /// The server's number of the transaction that is under way, or that ended last, if it has one and was
    /// told to show it.
    fn server_txn(&self) -> Option<ServerTxn> {
        None
    }

    /// Asks for the commit. An error whose [`Failure::after`] is `Lost` leaves the outcome unknown;
    /// `Open` means that nothing was committed and the transaction has to be rolled back.
    fn commit(&mut self) -> Result<Ended, Failure>;

    /// When the transaction whose commit was asked for last happened, by the server's own clock, as far as
    /// the server tells. Asked after a commit that was confirmed, and after one whose answer was lost.
    fn timestamps(&self) -> Timestamps {
        Timestamps::default()
    }

    /// Gives the transaction up.
    fn rollback(&mut self) -> Result<(), Failure>;
}

/// Why a target cannot be had.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{problem}{}", .hint.as_ref().map(|h| format!("\n  hint: {h}")).unwrap_or_default())]
pub struct OpenError {
    /// What is wrong.
    pub problem: String,
    /// What the user can do about it.
    pub hint: Option<String>,
}

impl OpenError {
    /// A problem without advice.
    pub fn new(problem: impl Into<String>) -> OpenError {
        OpenError { problem: problem.into(), hint: None }
    }

    /// The same, with advice.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> OpenError {
        self.hint = Some(hint.into());
        self
    }
}
