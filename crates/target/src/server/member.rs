//! A server to which something can be done: the only one of a target, or a node of a cluster.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::apart::Cable;
use super::running::Server;
use super::supervise::Word;
use crate::node::{Mishap, Node};

/// Whether the server answers.
pub(crate) type Answers = Box<dyn Fn() -> bool + Send + Sync>;

/// A throwaway server, and what was done to it.
pub(crate) struct Member {
    name: String,
    server: Server,
    answers: Answers,
    /// What joins it to the other nodes, if it can be pulled out.
    cable: Option<Cable>,
    /// What was done to it and not undone.
    harmed: Mutex<Vec<Mishap>>,
}

impl Member {
    /// A server, what it is called, and how to see that it answers.
    pub(crate) fn new(name: impl Into<String>, server: Server, answers: Answers) -> Member {
        Member { name: name.into(), server, answers, cable: None, harmed: Mutex::default() }
    }

    /// The same, with a cable to the others.
    pub(crate) fn with_cable(mut self, cable: Option<Cable>) -> Member {
        self.cable = cable;
        self
    }

    /// The server itself.
    pub(crate) fn server(&self) -> &Server {
        &self.server
    }

    fn harmed(&self) -> MutexGuard<'_, Vec<Mishap>> {
        self.harmed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn undo(&self, mishap: Mishap) -> Result<(), String> {
        match mishap {
            Mishap::Pause => self.server.process.tell(Word::Resume),
            Mishap::Kill | Mishap::Stop => self.server.process.tell(Word::Start),
            Mishap::Isolate => self.cable.as_ref().map_or(Ok(()), Cable::plug_in),
        }
    }
}

impl Node for Member {
    fn name(&self) -> &str {
        &self.name
    }

    fn can(&self, mishap: Mishap) -> Result<(), String> {
        match mishap {
            Mishap::Isolate if self.cable.is_none() => {
                Err("it has no network of its own that could be cut".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn harm(&self, mishap: Mishap) -> Result<(), String> {
        self.can(mishap)?;
        // Noted before it is tried: what was done by half has to be undone, too.
        self.harmed().push(mishap);
        match mishap {
            Mishap::Pause => self.server.process.tell(Word::Pause),
            Mishap::Kill => self.server.process.tell(Word::Kill),
            Mishap::Stop => self.server.process.tell(Word::Stop),
            Mishap::Isolate => self.cable.as_ref().map_or(Ok(()), Cable::pull_out),
        }
    }

    fn mend(&self) -> Result<(), String> {
        let mut harmed = self.harmed();
        while let Some(mishap) = harmed.last().copied() {
            self.undo(mishap)?;
            harmed.pop();
        }
        let answers = || Ok((self.answers)());
        self.server.process.wait(answers).map_err(|error| error.to_string())?;
        self.server.process.tell(Word::Settled)
    }

    fn revive(&self) -> Result<(), String> {
        self.server.process.tell(Word::Revive)
    }
}
