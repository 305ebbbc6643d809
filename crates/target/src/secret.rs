//! Passwords: where they come from other than an address, and how an address is shown without one.

#[cfg(any(feature = "postgres", feature = "mysql"))]
use crate::open::OpenOptions;
#[cfg(any(feature = "postgres", feature = "mysql"))]
use crate::target::OpenError;

/// What an address looks like without its password, however it is misspelt: between the user and the last `@`,
/// and in parameters, there are stars. Other words stay as they are.
pub fn without_password(word: &str) -> String {
    let (start, at) = match (word.find("://"), word.rfind('@')) {
        (Some(scheme), at) => (scheme + 3, at),
        // A command of a driver is no address, whatever it holds.
        (None, Some(at)) if !word.starts_with("driver:") && !word.contains(char::is_whitespace) => {
            (0, Some(at))
        }
        _ => return word.to_owned(),
    };
    let mut shown = word.to_owned();
    if let Some(at) = at
        && let Some(colon) = word.get(start..at).and_then(|login| login.find(':'))
    {
        shown.replace_range(start + colon + 1..at, "***");
    }
    for name in ["password=", "passwd=", "pwd="] {
        if let Some(from) = shown.find(&format!("?{name}")).or(shown.find(&format!("&{name}"))) {
            let from = from + 1 + name.len();
            let to = shown.get(from..).and_then(|rest| rest.find('&'));
            shown.replace_range(from..to.map_or(shown.len(), |to| from + to), "***");
        }
    }
    shown
}

/// The password in a file that the user named: its first line.
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(crate) fn from_file(options: &OpenOptions) -> Result<Option<String>, OpenError> {
    let Some(file) = &options.password_file else { return Ok(None) };
    let text = std::fs::read_to_string(file).map_err(|error| {
        OpenError::new(format!("cannot read the password file {}: {error}", file.display()))
    })?;
    Ok(Some(text.lines().next().unwrap_or_default().to_owned()))
}

/// Refuses a password file where no server asks for one.
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(crate) fn none_wanted(options: &OpenOptions) -> Result<(), OpenError> {
    match options.password_file {
        None => Ok(()),
        Some(_) => Err(OpenError::new("--password-file is for a server of yours, named by a URL")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown_whatever_is_misspelt() {
        for (word, shown) in [
            ("postgres://me:SECRET@host/db", "postgres://me:***@host/db"),
            ("postgress://me:SECRET@host/db", "postgress://me:***@host/db"),
            ("POSTGRES://me:SE@C:R/ET@host/db", "POSTGRES://me:***@host/db"),
            ("postgres:me:SECRET@host/db", "postgres:***@host/db"),
            ("postgres:/me:SECRET@host/db", "postgres:***@host/db"),
            ("me:SECRET@host", "me:***@host"),
            ("mysql://h/d?password=SECRET&a=b", "mysql://h/d?password=***&a=b"),
            ("postgres://me@host:5432/db", "postgres://me@host:5432/db"),
            ("postgres://host:5432/db", "postgres://host:5432/db"),
            ("driver:ssh me@host:22 ./driver", "driver:ssh me@host:22 ./driver"),
            ("fjall", "fjall"),
        ] {
            assert_eq!(without_password(word), shown);
        }
    }
}
