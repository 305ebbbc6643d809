//! What an address leaves out: the variables of libpq, and its file of passwords.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

/// The variables of a process. A function, so that tests have their own.
pub(super) type Variables<'v> = &'v dyn Fn(&str) -> Option<String>;

/// Those of this process. An empty one is as good as none, as in libpq.
pub(super) fn of_process(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// Whose password is looked for.
pub(super) struct Login<'l> {
    pub(super) host: &'l str,
    pub(super) port: u16,
    pub(super) database: &'l str,
    pub(super) user: &'l str,
}

/// The password for a login: `PGPASSWORD`, or a line of the password file.
pub(super) fn password(login: &Login<'_>, variables: Variables<'_>) -> Option<String> {
    variables("PGPASSWORD").or_else(|| in_file(&file_text(variables)?, login))
}

/// The password file, if only its owner can read it. Others are ignored, as libpq does.
fn file_text(variables: Variables<'_>) -> Option<String> {
    let named = variables("PGPASSFILE").map(PathBuf::from);
    let file = named.or_else(|| Some(PathBuf::from(variables("HOME")?).join(".pgpass")))?;
    let about = fs::metadata(&file).ok()?;
    let private = about.is_file() && about.permissions().mode() & 0o077 == 0;
    fs::read_to_string(file).ok().filter(|_| private)
}

/// The first line that fits: `host:port:database:user:password`, each of the first four may be `*`.
fn in_file(text: &str, login: &Login<'_>) -> Option<String> {
    let port = login.port.to_string();
    let wanted = [login.host, &port, login.database, login.user];
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let fields = fields(line);
        let [parts @ .., password] = fields.as_slice() else { return None };
        let fits = |(part, wanted): (&String, &&str)| part == "*" || part == wanted;
        let all = parts.len() == wanted.len() && parts.iter().zip(&wanted).all(fits);
        all.then(|| password.clone())
    })
}

/// A line taken apart at its colons; a backslash takes the meaning from what follows.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match c {
            ':' if fields.len() < 5 => fields.push(String::new()),
            c => {
                let c = if c == '\\' { rest.next().unwrap_or(c) } else { c };
                fields.last_mut().into_iter().for_each(|field| field.push(c));
            }
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_file_is_read_as_libpq_does() {
        let text = "# comment\nother:*:*:*:no\nh:5432:d:me:se\\:c\\\\ret\n*:*:*:*:last:one\n";
        let login = |host, user| Login { host, port: 5432, database: "d", user };
        assert_eq!(in_file(text, &login("h", "me")).as_deref(), Some("se:c\\ret"));
        assert_eq!(in_file(text, &login("h", "you")).as_deref(), Some("last:one"));
        assert_eq!(in_file("h:1:d:me:x\nshort:line", &login("h", "me")), None);
    }
}
