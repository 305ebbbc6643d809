//! What opening a target takes.

use std::path::PathBuf;
use std::time::Duration;

use isolde_spec::Anomaly;

use crate::shown::Show;
use crate::target::{OpenError, Target};

/// How to open a target.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// Where the programs of a throwaway server are, if not in the usual places.
    pub server_bin: Option<PathBuf>,
    /// The port of a throwaway server; a free one if not given.
    pub port: Option<u16>,
    /// Leave the throwaway server running, and its folder in place.
    pub keep: bool,
    /// How long one statement may take before the session gives up on the connection.
    pub timeout: Duration,
    /// Whether a throwaway server keeps what it has acknowledged when it is killed, or saves that time.
    pub durable: bool,
    /// Settings of a throwaway server, in its own words; the last word of several.
    pub settings: Vec<(String, String)>,
    /// Whether each node of a throwaway cluster has a network of its own, so that it can be isolated.
    pub apart: bool,
    /// Whether connections shall go through a relay that can cut and slow them.
    pub relayed: bool,
    /// How many sessions there will be: a throwaway server lets in as many.
    pub sessions: u32,
    /// A file whose first line is the password for a server of the user's.
    pub password_file: Option<PathBuf>,
    /// Anomalies to plant; only the engine that is faulty on purpose can.
    pub planted: Vec<Anomaly>,
    /// What the server shall show beside its answers. A target that cannot show it is refused.
    pub show: Option<Show>,
}

impl Default for OpenOptions {
    fn default() -> OpenOptions {
        let timeout = Duration::from_secs(10);
        OpenOptions {
            server_bin: None,
            port: None,
            keep: false,
            timeout,
            durable: false,
            settings: Vec::new(),
            apart: false,
            relayed: false,
            sessions: 8,
            password_file: None,
            planted: Vec::new(),
            show: None,
        }
    }
}

impl OpenOptions {
    /// Whether the user has set that for a throwaway server.
    #[cfg(any(feature = "postgres", feature = "mysql"))]
    pub(crate) fn sets(&self, name: &str) -> bool {
        self.settings.iter().any(|(other, _)| plain(other) == name)
    }

    /// Refuses settings that every session makes itself: they would have no effect.
    #[cfg(any(feature = "postgres", feature = "mysql"))]
    pub(crate) fn refuse(&self, names: &[&str]) -> Result<(), OpenError> {
        match self.settings.iter().find(|(name, _)| names.contains(&plain(name).as_str())) {
            None => Ok(()),
            Some((name, _)) => {
                let problem =
                    format!("--setting {name} would have no effect: every session sets it");
                Err(OpenError::new(problem).hint(
                    "--isolation names the level of the sessions, as in repeatable-read-snapshot",
                ))
            }
        }
    }

    /// How many connections a throwaway server has to let in: the sessions, and those that make tables, look
    /// after locks or come back.
    #[cfg(any(feature = "postgres", feature = "mysql"))]
    pub(crate) fn connections(&self) -> u32 {
        self.sessions.saturating_add(100).max(300)
    }
}

/// A setting's name as servers compare them: MariaDB takes dashes and a few prefixes.
#[cfg(any(feature = "postgres", feature = "mysql"))]
fn plain(name: &str) -> String {
    let name = name.trim().to_lowercase().replace('-', "_");
    name.strip_prefix("loose_").unwrap_or(&name).to_owned()
}

/// Opens a target: by the bare name of its kind (no URL: a server is started), or what a URL names.
pub type Open = fn(url: Option<&str>, options: &OpenOptions) -> Result<Box<dyn Target>, OpenError>;
