//! The profiles that come with Isolde, and how they are found.

use std::sync::OnceLock;

use isolde_history::printable;

use super::error::UnknownProfile;
use super::{Profile, spelling};

/// The files, in the order in which profiles are listed.
pub(super) const FILES: [&str; 8] = [
    include_str!("../../profiles/postgresql.toml"),
    include_str!("../../profiles/mariadb.toml"),
    include_str!("../../profiles/myrocks.toml"),
    include_str!("../../profiles/mysql.toml"),
    include_str!("../../profiles/tidb.toml"),
    include_str!("../../profiles/sqlite.toml"),
    include_str!("../../profiles/occ.toml"),
    include_str!("../../profiles/timestamp-order.toml"),
];

impl Profile {
    /// Every profile that is built in.
    pub fn builtin() -> &'static [Profile] {
        static PROFILES: OnceLock<Vec<Profile>> = OnceLock::new();
        // A test proves that every file is read.
        let parsed = || FILES.iter().filter_map(|file| Profile::parse(file).ok()).flatten();
        PROFILES.get_or_init(|| parsed().collect())
    }

    /// The built-in profile of a server and its level, by the names that a history's header has, that JDBC has, or that
    /// people write.
    ///
    /// ```
    /// use isolde_spec::Profile;
    /// let profile = Profile::find("PostgreSQL", "repeatable-read").unwrap();
    /// assert_eq!(Profile::find("postgres", "REPEATABLE READ"), Some(profile));
    /// assert_eq!(Profile::find("postgresql", "TRANSACTION_REPEATABLE_READ"), Some(profile));
    /// assert_eq!(Profile::find("PostgreSQL", "snapshot"), None);
    /// ```
    pub fn find(server: &str, level: &str) -> Option<&'static Profile> {
        Profile::builtin().iter().find(|profile| profile.is_of(server, level))
    }

    /// The built-in profile of a name like `postgresql/repeatable-read`.
    ///
    /// ```
    /// use isolde_spec::Profile;
    /// let profile = Profile::named("postgresql/repeatable-read").unwrap();
    /// assert_eq!(profile.name(), "PostgreSQL repeatable-read");
    /// assert_eq!(profile.word(), "postgresql/repeatable-read");
    /// ```
    ///
    /// # Errors
    /// If there is none: then with the names of the server's profiles, or of all.
    pub fn named(name: &str) -> Result<&'static Profile, UnknownProfile> {
        let (server, level) = name.split_once('/').unwrap_or((name, ""));
        Profile::find(server, level).ok_or_else(|| unknown(name, server))
    }

    /// The name without spaces, as it is given to a command.
    pub fn word(&self) -> String {
        format!("{}/{}", spelling::server(&self.server), spelling::level(&self.level))
    }
}

fn unknown(name: &str, server: &str) -> UnknownProfile {
    let of_server =
        |profile: &&Profile| spelling::server(&profile.server) == spelling::server(server);
    let mut known: Vec<String> =
        Profile::builtin().iter().filter(of_server).map(Profile::word).collect();
    if known.is_empty() {
        known = Profile::builtin().iter().map(Profile::word).collect();
    }
    UnknownProfile { name: printable(name).into_owned(), known }
}
