//! A session on a thread of its own, so that it may block.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use isolde_target::{Console, Failure, Said};

/// The answer to a session's statement.
pub(crate) struct Answer {
    /// Which session.
    pub(crate) actor: usize,
    /// What it was told.
    pub(crate) said: Result<Said, Failure>,
    /// Right before it was sent, and right after the answer had come.
    pub(crate) span: (Instant, Instant),
}

/// A session, seen by the player that directs it.
pub(crate) struct Actor {
    /// The server's number of the client.
    pub(crate) number: u64,
    orders: Sender<String>,
    thread: JoinHandle<()>,
    /// Its other end is closed as soon as the session is gone.
    gone: Receiver<()>,
}

impl Actor {
    /// Starts a thread that runs what it is told on the console, and tells what came of it.
    pub(crate) fn start(
        actor: usize,
        mut console: Box<dyn Console>,
        tell: Sender<Answer>,
    ) -> Actor {
        let number = console.number();
        let (orders, todo) = channel::<String>();
        let (here, gone) = channel();
        let thread = thread::spawn(move || {
            for statement in todo {
                let sent = Instant::now();
                let said = console.run(&statement);
                let span = (sent, Instant::now());
                if tell.send(Answer { actor, said, span }).is_err() {
                    break;
                }
            }
            drop(console);
            drop(here);
        });
        Actor { number, orders, thread, gone }
    }

    /// Sends a statement; false if the thread is gone.
    pub(crate) fn send(&self, statement: &str) -> bool {
        self.orders.send(statement.to_owned()).is_ok()
    }

    /// Ends the session: the connection is closed, and what is left of its transaction is gone. One that
    /// takes longer is left alone: an engine in this process may never come back.
    pub(crate) fn end(self, patience: Duration) {
        drop(self.orders);
        if self.gone.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
            return;
        }
        // It panics only if a client library does, and then there is nothing left to end.
        let _ = self.thread.join();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A session of an engine that never comes back from being closed.
    struct Stuck;

    impl Console for Stuck {
        fn run(&mut self, _statement: &str) -> Result<Said, Failure> {
            Ok(Said::Done)
        }

        fn number(&self) -> u64 {
            0
        }
    }

    impl Drop for Stuck {
        fn drop(&mut self) {
            thread::sleep(Duration::from_secs(3600));
        }
    }

    #[test]
    fn a_session_that_never_ends_is_left_alone() {
        let (tell, answers) = channel();
        let actor = Actor::start(0, Box::new(Stuck), tell);
        assert!(actor.send("begin"));
        assert_eq!(answers.recv().unwrap().said, Ok(Said::Done));
        let begun = Instant::now();
        actor.end(Duration::from_millis(20));
        assert!(begun.elapsed() < Duration::from_secs(60));
    }
}
