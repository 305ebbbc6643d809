//! A throwaway server that stays for a test, as the server of a user would.

use std::process::Command;

use isolde_target::{OpenOptions, Target, open};

/// A server that is there until this goes.
pub(crate) struct Kept {
    target: Box<dyn Target>,
    pub(crate) url: String,
    pub(crate) password: String,
}

impl Kept {
    pub(crate) fn start(kind: &str) -> Kept {
        let target = open(kind, &OpenOptions::default()).unwrap();
        let url = target.throwaway().unwrap().url;
        let login = url.split_once("://").unwrap().1.rsplit_once('@').unwrap().0;
        let password = login.split_once(':').unwrap().1.to_owned();
        Kept { target, url, password }
    }

    /// Runs statements on it.
    pub(crate) fn run(&self, statements: &[&str]) {
        let consoles = self.target.consoles().unwrap();
        let room = consoles.make_room().unwrap();
        let mut console = consoles.console(&self.target.offers()[0], &room).unwrap();
        statements.iter().for_each(|statement| drop(console.run(statement).unwrap()));
        consoles.remove_room(&room).unwrap();
    }
}

/// Ends a process as hard as can be.
pub(crate) fn kill(pid: u32) {
    let sent = Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap();
    assert!(sent.success());
}
