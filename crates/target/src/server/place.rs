//! Where a throwaway server lives: a user, a fresh folder, a port.

use std::env;
use std::fs;
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use crate::target::OpenError;
use crate::unique;

/// Whose process a server is. Servers refuse to run as root.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct User {
    /// Its number.
    pub(super) id: u32,
    /// The number of its group.
    pub(super) group: u32,
}

/// The user to become: none, unless we are root.
pub(super) fn user(preferred: &str) -> Option<User> {
    // The owner of our own entry in /proc is our user; std has no other safe way to ask.
    let root = fs::metadata("/proc/self").map(|m| m.uid()).is_ok_and(|uid| uid == 0);
    let passwd = if root { fs::read_to_string("/etc/passwd").ok()? } else { return None };
    find_user(&passwd, preferred).or_else(|| find_user(&passwd, "nobody"))
}

fn find_user(passwd: &str, name: &str) -> Option<User> {
    let fields = passwd.lines().map(|l| l.split(':').collect::<Vec<_>>());
    let mut found = fields.filter(|f| f.first() == Some(&name));
    let user = found.next()?;
    Some(User { id: user.get(2)?.parse().ok()?, group: user.get(3)?.parse().ok()? })
}

/// Makes a folder that only the user can enter.
pub(super) fn folder(name: &str, user: Option<User>) -> Result<PathBuf, OpenError> {
    let parent = env::temp_dir();
    let wrong = |what: &str, error: std::io::Error| {
        OpenError::new(format!("{what} a temporary folder in {}: {error}", parent.display()))
            .hint("TMPDIR says where temporary folders are made")
    };
    // Servers report real paths, by which they are recognised.
    let parent = parent.canonicalize().map_err(|e| wrong("cannot find", e))?;
    let folder = parent.join(format!("isolde-{name}-{}", unique::tag()));
    let made = fs::create_dir(&folder)
        .and_then(|()| fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)))
        .and_then(|()| match user {
            Some(user) => chown(&folder, Some(user.id), Some(user.group)),
            None => Ok(()),
        });
    made.map_err(|e| wrong("cannot make", e))?;
    Ok(folder)
}

/// Writes a file that only the user can read.
pub(super) fn write_for(user: Option<User>, path: &Path, text: &str) -> Result<(), OpenError> {
    let written = fs::File::options()
        .create_new(true)
        .write(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| match user {
            Some(user) => chown(path, Some(user.id), Some(user.group)),
            None => Ok(()),
        });
    written.map_err(|e| OpenError::new(format!("cannot write {}: {e}", path.display())))
}

/// Checks that the server which answered is the one that was started.
pub(super) fn same_folder(ours: &Path, theirs: &str) -> Result<(), OpenError> {
    if Path::new(theirs.trim_end_matches('/')) == ours {
        return Ok(());
    }
    Err(OpenError::new(format!(
        "a server answers on the port, and it is not ours: its folder is {theirs}, not {}",
        ours.display()
    ))
    .hint("nothing was written to it; start again"))
}

/// A port on which no process listens: the given one or any.
pub(super) fn port(given: Option<u16>) -> Result<u16, OpenError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, given.unwrap_or(0)));
    match (listener.and_then(|l| l.local_addr()), given) {
        (Ok(address), _) => Ok(address.port()),
        (Err(error), Some(port)) => {
            let problem = format!("port {port} on 127.0.0.1 cannot be used: {error}");
            Err(OpenError::new(problem)
                .hint("leave the port out, and a free one is taken; or give the server's URL"))
        }
        (Err(error), None) => Err(OpenError::new(format!("no free port on 127.0.0.1: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_name() {
        let passwd = "root:x:0:0:root:/root:/bin/bash\npostgres:x:101:104:,,,:/:/bin/sh\n";
        assert_eq!(find_user(passwd, "postgres"), Some(User { id: 101, group: 104 }));
        assert_eq!(find_user(passwd, "mysql"), None);
        assert_eq!(find_user("broken\n::\n", "broken"), None);
    }

    #[test]
    fn a_taken_port_is_refused() {
        let holder = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let taken = holder.local_addr().unwrap().port();
        let error = port(Some(taken)).unwrap_err();
        assert!(error.to_string().contains(&taken.to_string()), "{error}");
        assert!(port(None).is_ok());
    }
}
