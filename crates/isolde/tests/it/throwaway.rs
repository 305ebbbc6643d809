//! A throwaway server that stays for a test, as the server of a user would.

use std::process::Command;

use isolde_target::{OpenOptions, Target, open};

/// A server that is there until this goes.
pub(crate) struct Kept {
    _target: Box<dyn Target>,
    pub(crate) url: String,
    pub(crate) password: String,
}

impl Kept {
    pub(crate) fn start(kind: &str) -> Kept {
        let target = open(kind, &OpenOptions::default()).unwrap();
        let url = target.throwaway().unwrap().url;
        let who = url.split_once("://").unwrap().1.rsplit_once('@').unwrap().0;
        let password = who.split_once(':').unwrap().1.to_owned();
        Kept { _target: target, url, password }
    }
}

/// Ends a process as hard as can be.
pub(crate) fn kill(pid: u32) {
    let sent = Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap();
    assert!(sent.success());
}
