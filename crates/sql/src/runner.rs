//! A place on a server where cases run, one after another: a room with sessions that stay.

use std::time::{Duration, Instant};

use isolde_probe::{Cast, Played, Player, Schedule};
use isolde_target::{Console, Consoles, Failure, Offer, Said, Waits};

use crate::case::Case;
use crate::instrument::contents;
use crate::observation::Row;

/// How long a statement may take that neither ends nor waits. Consoles give up sooner.
const LIMIT: Duration = Duration::from_secs(15);

/// What a statement outside of transactions brought.
pub type Answered = Result<Said, Failure>;

/// A place where cases run.
pub struct Runner<'t> {
    consoles: &'t dyn Consoles,
    offer: Offer,
    room: String,
    waits: Option<Box<dyn Waits>>,
    cast: Option<Cast>,
    /// Works without transactions: it resets tables, reads what is in them, and runs serial cases.
    keeper: Option<Box<dyn Console>>,
    /// What made the tables that are there, and their names.
    made: (Vec<String>, Vec<String>),
    /// Where the time went.
    pub spent: Spent,
}

/// Where time went.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Spent {
    /// In making and filling tables.
    pub reset: Duration,
    /// In transactions, with the reads in between.
    pub transactions: Duration,
    /// In statements without transactions, and in reading what is in the tables.
    pub alone: Duration,
}

impl<'t> Runner<'t> {
    /// Makes one.
    pub fn open(consoles: &'t dyn Consoles, offer: Offer) -> Result<Runner<'t>, Failure> {
        let waits = consoles.waits()?;
        let room = consoles.make_room()?;
        let made = (Vec::new(), Vec::new());
        let spent = Spent::default();
        Ok(Runner { consoles, offer, room, waits, cast: None, keeper: None, made, spent })
    }

    /// Runs one statement outside of transactions.
    pub fn run(&mut self, statement: &str) -> Answered {
        let began = Instant::now();
        let answered = self.keep(statement);
        self.spent.alone += began.elapsed();
        answered
    }

    fn keep(&mut self, statement: &str) -> Answered {
        if self.keeper.is_none() {
            self.keeper = Some(self.consoles.console(&self.offer, &self.room)?);
        }
        let Some(keeper) = &mut self.keeper else { return Ok(Said::Done) };
        let answered = keeper.run(statement);
        if matches!(&answered, Err(failure) if failure.after == isolde_target::After::Lost) {
            self.keeper = None;
        }
        answered
    }

    /// Makes the tables of a case, unless the last case had the same, and fills them. Of three small tables of MariaDB, emptying
    /// and filling them takes 0.3 ms by DELETE, 24 ms by TRUNCATE, and 19 ms by DROP and CREATE.
    pub fn reset(&mut self, case: &Case) -> Result<(), Failure> {
        let began = Instant::now();
        let made = self.make(case);
        self.spent.reset += began.elapsed();
        made
    }

    fn make(&mut self, case: &Case) -> Result<(), Failure> {
        let names = || case.tables.iter().map(|table| table.name.clone());
        if self.made.0 != case.schema {
            let made = std::mem::take(&mut self.made);
            // A table goes before those that it refers to, which were made before it.
            for name in made.1.iter().rev() {
                self.keep(&format!("DROP TABLE {name}"))?;
            }
            for (at, statement) in case.schema.iter().enumerate() {
                if let Err(failure) = self.keep(statement) {
                    self.start_afresh()?;
                    let message = format!("{} (statement {at} of the schema)", failure.message);
                    return Err(Failure { message, ..failure });
                }
            }
            self.made = (case.schema.clone(), names().collect());
        } else {
            for name in names().collect::<Vec<_>>().iter().rev() {
                self.keep(&format!("DELETE FROM {name}"))?;
            }
        }
        case.rows.iter().try_for_each(|statement| self.keep(statement).map(|_| ()))
    }

    /// Runs what is sent by sessions that have transactions.
    pub fn play(&mut self, schedule: &Schedule) -> Result<Played, Failure> {
        let needed = schedule.sessions().len();
        let mut cast = match self.cast.take() {
            Some(cast) if cast.is_free() && cast.len() >= needed => cast,
            old => {
                old.into_iter().for_each(|cast| cast.end(LIMIT));
                let console = |_| self.consoles.console(&self.offer, &self.room);
                Cast::new((0..needed.max(2)).map(console).collect::<Result<_, _>>()?)
            }
        };
        let waits: Option<&mut dyn Waits> = match &mut self.waits {
            Some(waits) => Some(&mut **waits),
            None => None,
        };
        let began = Instant::now();
        let played = Player::new(waits, LIMIT).play_by(schedule, &mut cast);
        self.spent.transactions += began.elapsed();
        self.cast = Some(cast);
        played
    }

    /// From now on with new sessions: it is not known in what state the old ones are, or they have a transaction left.
    pub fn forget_sessions(&mut self) {
        self.cast.take().into_iter().for_each(|cast| cast.end(LIMIT));
    }

    /// All rows of every table, by their keys.
    pub fn contents(&mut self, case: &Case) -> Result<Vec<Vec<Row>>, Failure> {
        let mut all = Vec::new();
        for table in 0..case.tables.len() {
            match self.run(&contents(case, table))? {
                Said::Rows(rows) => all.push(rows.rows),
                _ => all.push(Vec::new()),
            }
        }
        Ok(all)
    }

    /// An empty room with new sessions.
    pub fn start_afresh(&mut self) -> Result<(), Failure> {
        self.forget_sessions();
        self.keeper = None;
        self.made = (Vec::new(), Vec::new());
        self.consoles.empty_room(&self.room)
    }
}

impl Drop for Runner<'_> {
    fn drop(&mut self) {
        self.forget_sessions();
        self.keeper = None;
        // A server that is gone has no rooms.
        let _ = self.consoles.remove_room(&self.room);
    }
}
