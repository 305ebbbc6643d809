//! What connections set first, but for what the user has set for the whole server.

use super::wire::{Trouble, Wire};
use crate::open::OpenOptions;

/// Statements, one text for each purpose; empty where the user has set everything.
pub(super) struct Preludes {
    /// Of a session.
    session: String,
    /// Of a console.
    console: String,
    /// Of a console that belongs to a superuser.
    deadlocks: String,
}

impl Preludes {
    pub(super) fn new(options: &OpenOptions) -> Preludes {
        // The server gives a statement up a little before we do.
        let limit = (options.timeout.as_millis() * 4 / 5).max(1).to_string();
        let set = |settings: &[(&str, &str)]| -> String {
            let own = settings.iter().filter(|(name, _)| !options.sets(name));
            own.map(|(name, value)| format!("SET {name} = {value}; ")).collect()
        };
        Preludes {
            // Tables are small: the planner would read them whole, whatever path was asked for. A plan for
            // any parameter is good for all, as they are the same statements all over.
            session: set(&[
                ("statement_timeout", &limit),
                ("lock_timeout", &limit),
                ("enable_seqscan", "off"),
                ("enable_bitmapscan", "off"),
                ("plan_cache_mode", "force_generic_plan"),
            ]),
            // The planner is left as it is: what a serializable transaction locks depends on the plan.
            console: set(&[("statement_timeout", &limit), ("lock_timeout", "0")]),
            // The usual time: then the transaction that waited first gives way, since no other one's time is
            // over sooner.
            deadlocks: set(&[("deadlock_timeout", "'1s'")]),
        }
    }

    pub(super) fn session(&self, wire: &mut Wire) -> Result<(), Trouble> {
        say(wire, &self.session)
    }

    pub(super) fn console(&self, wire: &mut Wire) -> Result<(), Trouble> {
        say(wire, &self.console)
    }

    /// Only superusers may; others keep what the server has.
    pub(super) fn deadlocks(&self, wire: &mut Wire) {
        let _ = say(wire, &self.deadlocks);
    }
}

fn say(wire: &mut Wire, statements: &str) -> Result<(), Trouble> {
    if statements.is_empty() {
        return Ok(());
    }
    wire.simple(statements).map(drop)
}
