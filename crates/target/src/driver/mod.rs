//! Any database at all: a process that speaks a small JSON protocol on standard input and output.
//!
//! One process for each session, and one more that makes and removes tables. `docs/drivers.md` is the
//! protocol as its writers need it.

mod about;
mod check;
mod complaints;
mod process;
mod session;
mod stamps;
mod talk;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use isolde_history::OpKind;

use crate::failure::{After, Failure};
use crate::offer::Offer;
use crate::open::OpenOptions;
use crate::path::Path;
use crate::target::{Contents, OpenError, Session, Table, Target};
use crate::timestamps::CommitOrder;
use crate::unique;
use about::DriverAbout;
pub use check::{Check, CheckStep, Found, check_driver};
use session::DriverSession;
use talk::{LastWords, PROTOCOL, Talk, quoted, take};

/// How long the process that makes tables may take to end: it may have a server to stop.
const CONTROL_GRACE: Duration = Duration::from_secs(5);

/// Opens what `driver:COMMAND` names.
pub(crate) fn open(url: Option<&str>, options: &OpenOptions) -> Result<Box<dyn Target>, OpenError> {
    let command = url.and_then(|url| url.split_once(':')).map_or("", |(_, command)| command).trim();
    if command.is_empty() {
        return Err(OpenError::new("a driver needs a command")
            .hint("isolde test 'driver:python3 examples/drivers/redis_driver.py'"));
    }
    let last_words = LastWords::default();
    let driver = Driver::start(command, options.timeout, &last_words).map_err(|failure| {
        // All that it said, if it said anything.
        let words = take(&last_words).unwrap_or(failure.message);
        OpenError::new(format!("could not start the driver '{command}': {words}"))
            .hint(format!("isolde driver check {}", shell_word(command)))
    })?;
    Ok(Box::new(driver))
}

/// A word as a shell takes it.
fn shell_word(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A database behind a driver.
struct Driver {
    command: String,
    timeout: Duration,
    about: DriverAbout,
    /// A text that no other run has, for the names of tables.
    run: String,
    control: Mutex<Talk>,
    /// The tables that are there.
    made: Mutex<Vec<u32>>,
    last_words: LastWords,
}

impl Driver {
    fn start(command: &str, timeout: Duration, last_words: &LastWords) -> Result<Driver, Failure> {
        let mut control = Talk::start(command, timeout, last_words)?.with_grace(CONTROL_GRACE);
        let run = format!("isolde_{}", unique::tag());
        let fields = format_args!(r#","protocol":{PROTOCOL},"run":"{run}""#);
        let answer = control.ask("hello", fields)?;
        let about = DriverAbout::read(&answer).map_err(|problem| control.nonsense(&problem))?;
        Ok(Driver {
            command: command.to_owned(),
            timeout,
            about,
            run,
            control: Mutex::new(control),
            made: Mutex::default(),
            last_words: LastWords::clone(last_words),
        })
    }

    /// Starts a process for a session; it is not open yet.
    fn talk(&self) -> Result<Talk, Failure> {
        Talk::start(&self.command, self.timeout, &self.last_words)
    }

    fn open_at(&self, talk: &mut Talk, level: &str) -> Result<(), Failure> {
        let (level, context) = (quoted(level), quoted(&self.about.context));
        let run = &self.run;
        let fields = format_args!(r#","level":{level},"run":"{run}","context":{context}"#);
        talk.ask("open", fields).map(drop)
    }

    fn control(&self, verb: &str, fields: std::fmt::Arguments<'_>) -> Result<(), Failure> {
        let mut control = self.control.lock().unwrap_or_else(PoisonError::into_inner);
        control.ask(verb, fields).map(drop)
    }
}

impl Target for Driver {
    fn name(&self) -> &str {
        &self.about.name
    }

    fn version(&self) -> &str {
        &self.about.version
    }

    fn facts(&self) -> Vec<(String, String)> {
        vec![("driver-protocol".to_owned(), PROTOCOL.to_string())]
    }

    fn offers(&self) -> &'static [Offer] {
        self.about.offers
    }

    /// It says so with its answers only.
    fn tells_timestamps(&self) -> bool {
        true
    }

    fn commit_order(&self, offer: &Offer) -> CommitOrder {
        let at = self.about.offers.iter().position(|other| other.name == offer.name);
        at.and_then(|at| self.about.orders.get(at)).copied().unwrap_or_default()
    }

    fn paths(&self, kind: OpKind) -> &'static [(Path, u32)] {
        if self.about.kinds.contains(&kind) { &[(Path::PrimaryKey, 1)] } else { &[] }
    }

    fn create(&self, table: &Table) -> Result<(), Failure> {
        let contents = match table.contents {
            Contents::Registers => "registers",
            Contents::Lists => "lists",
        };
        let (number, rows) = (table.number, table.rows);
        let filled = table.filled && table.contents == Contents::Registers;
        // One that could not be made to the end is removed, too.
        self.made.lock().unwrap_or_else(PoisonError::into_inner).push(number);
        self.control(
            "create",
            format_args!(
                r#","table":{number},"contents":"{contents}","rows":{rows},"filled":{filled}"#
            ),
        )
    }

    fn connect(&self, offer: &Offer) -> Result<Box<dyn Session>, Failure> {
        let mut talk = self.talk()?;
        match self.open_at(&mut talk, offer.name) {
            Ok(()) => Ok(Box::new(DriverSession::new(talk))),
            Err(failure) => Err(Failure { after: After::Lost, ..failure }),
        }
    }

    fn drop_table(&self, number: u32) -> Result<(), Failure> {
        self.control("drop", format_args!(r#","table":{number}"#))?;
        self.made.lock().unwrap_or_else(PoisonError::into_inner).retain(|n| *n != number);
        Ok(())
    }

    fn clean(&self) -> Result<(), Failure> {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner).clone();
        made.into_iter().try_for_each(|number| self.drop_table(number))
    }

    fn last_words(&self) -> Option<String> {
        // The control process may have taken a server with it, which is why sessions failed.
        let control = self.control.try_lock().ok().and_then(|mut control| control.died());
        let control = control.map(|words| format!("the control process: {words}"));
        control.or_else(|| self.last_words.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.clean();
    }
}
