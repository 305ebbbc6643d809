//! A place on a server in which schedules run, one after another, with tables of any name.

use std::time::Duration;

use isolde_target::{After, Console, Consoles, Failure, Offer, Waits};

use crate::player::Player;
use crate::schedule::{Played, Schedule};

/// How long a statement may take that neither ends nor waits. Consoles give up sooner.
const LIMIT: Duration = Duration::from_secs(15);

/// The code of the failure of a schedule with statements that are not understood.
pub(crate) const NOT_FOR_IT: &str = "not-for-it";

/// How long is long for the background of a server.
const CALM: Duration = Duration::from_millis(250);
/// Keeps old versions of rows alive on InnoDB as long as the transaction lasts.
const HOLD: &str = "START TRANSACTION WITH CONSISTENT SNAPSHOT";

/// What the background of the server, which removes old versions of rows, gets to do. A session that
/// waits for a row that was deleted is let go when the row is removed, sooner or later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Background {
    /// What it happens to do.
    Any,
    /// It has time for everything.
    Done,
    /// It is held up.
    Held,
}

/// A schema or a database of our own, which goes away at the end.
pub struct Room<'t> {
    consoles: &'t dyn Consoles,
    name: String,
    waits: Option<Box<dyn Waits>>,
}

impl<'t> Room<'t> {
    /// Makes one.
    pub fn open(consoles: &'t dyn Consoles) -> Result<Room<'t>, Failure> {
        let waits = consoles.waits()?;
        Ok(Room { consoles, name: consoles.make_room()?, waits })
    }

    /// Runs a schedule at an offer, from an empty room. `first` is what each session is told before it
    /// begins, such as a setting.
    pub fn play(
        &mut self,
        offer: &Offer,
        first: &[String],
        schedule: &Schedule,
    ) -> Result<Played, Failure> {
        self.play_with(offer, first, schedule, Background::Any)
    }

    /// The same, with a say in what the server does in the background.
    pub fn play_with(
        &mut self,
        offer: &Offer,
        first: &[String],
        schedule: &Schedule,
        background: Background,
    ) -> Result<Played, Failure> {
        let steps: Vec<&str> = schedule.steps.iter().map(|s| s.statement.as_str()).collect();
        if let Some(why) = self.consoles.refusal(&schedule.setup, &steps) {
            return Err(Failure::new(After::Open, NOT_FOR_IT, why));
        }
        self.consoles.empty_room(&self.name)?;
        let open = |first: &[String]| -> Result<Box<dyn Console>, Failure> {
            let mut console = self.consoles.console(offer, &self.name)?;
            first.iter().try_for_each(|statement| console.run(statement).map(|_| ()))?;
            Ok(console)
        };
        drop(open(&schedule.setup)?);
        let sessions = schedule.sessions();
        let consoles = sessions.iter().map(|_| open(first)).collect::<Result<Vec<_>, _>>()?;
        let mut holder = open(&[])?;
        if background == Background::Held {
            // Where there is no such statement, there is nothing to hold up.
            let _ = holder.run(HOLD);
        }
        let waits: Option<&mut dyn Waits> = match &mut self.waits {
            Some(waits) => Some(&mut **waits),
            None => None,
        };
        let mut player = Player::new(waits, LIMIT);
        if background == Background::Done {
            player.calm = CALM;
        }
        player.play(schedule, consoles)
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        // A server that is gone has no rooms.
        let _ = self.consoles.remove_room(&self.name);
    }
}
