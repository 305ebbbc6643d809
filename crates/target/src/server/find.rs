//! Where the programs of servers are.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::target::OpenError;

/// A program that has to be found.
pub(super) struct Program {
    /// Its file names, the preferred first.
    pub(super) names: &'static [&'static str],
    /// Folders in which it may be, beside those of `PATH`; a part `*` stands for any folder, the
    /// greatest version first.
    pub(super) places: &'static [&'static str],
    /// How to get it.
    pub(super) install: &'static str,
}

impl Program {
    /// Finds it, in the given folder only if there is one.
    pub(super) fn find(&self, given: Option<&Path>) -> Result<PathBuf, OpenError> {
        let name = self.names.first().copied().unwrap_or_default();
        if let Some(given) = given {
            // A folder of an installation, or its folder of programs.
            let parts = ["", "bin", "sbin", "libexec", "scripts"];
            let folders = parts.map(|part| given.join(part));
            return self.in_folders(&folders).ok_or_else(|| {
                OpenError::new(format!("there is no program '{name}' in {}", given.display()))
                    .hint("--server-bin is the folder with the programs of the server")
            });
        }
        let mut folders: Vec<PathBuf> = self.places.iter().flat_map(|p| expand(p)).collect();
        folders.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
        self.in_folders(&folders).ok_or_else(|| {
            let hint = format!(
                "install it ({}), say where it is (--server-bin), or give the URL of a server",
                self.install
            );
            OpenError::new(format!("the program '{name}' was not found")).hint(hint)
        })
    }

    /// Finds a file that is no program, such as a library.
    pub(super) fn find_file(&self) -> Result<PathBuf, OpenError> {
        let places = self.places.iter().flat_map(|p| expand(p));
        let files = places.flat_map(|place| self.names.iter().map(move |name| place.join(name)));
        files.into_iter().find(|file| file.is_file()).ok_or_else(|| {
            let name = self.names.first().copied().unwrap_or_default();
            OpenError::new(format!("the file '{name}' was not found"))
                .hint(format!("install it ({})", self.install))
        })
    }

    fn in_folders(&self, folders: &[PathBuf]) -> Option<PathBuf> {
        let candidates = folders.iter().flat_map(|f| self.names.iter().map(|name| f.join(name)));
        candidates.into_iter().find(|p| is_program(p)).and_then(|p| p.canonicalize().ok())
    }
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// `/usr/lib/postgresql/*/bin` as the folders that are there, the greatest version first.
fn expand(place: &str) -> Vec<PathBuf> {
    let Some((before, after)) = place.split_once("/*/") else { return vec![PathBuf::from(place)] };
    let entries = fs::read_dir(before).into_iter().flatten().flatten();
    let mut versions: Vec<(u64, PathBuf)> = entries
        .map(|e| {
            let name = e.file_name().to_string_lossy().into_owned();
            // "15", "9.6": the digits before a point decide.
            let major = name.split('.').next().and_then(|n| n.parse().ok()).unwrap_or(0);
            (major, e.path().join(after))
        })
        .collect();
    versions.sort();
    versions.into_iter().rev().map(|(_, path)| path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHELL: Program = Program { names: &["sh"], places: &[], install: "apt-get install dash" };

    #[test]
    fn a_program_is_found_or_the_user_is_told_how_to_get_it() {
        assert!(SHELL.find(None).is_ok());
        let none = Program { names: &["no-such-server"], places: &["/usr/*/bin"], ..SHELL };
        let error = none.find(None).unwrap_err();
        assert!(error.to_string().contains("apt-get install dash"), "{error}");
        let error = SHELL.find(Some(Path::new("/no/such/folder"))).unwrap_err();
        assert!(error.to_string().contains("/no/such/folder"), "{error}");
    }
}
