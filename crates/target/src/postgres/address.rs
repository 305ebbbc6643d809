//! Where a server is, and why it cannot be reached.

use std::time::Duration;

use super::environment::{self, Login, Variables};
use super::wire::{PostgresAddress, Trouble};
use crate::open::OpenOptions;
use crate::secret;
use crate::server;
use crate::target::OpenError;
use crate::url::Url;

/// The usual port.
const PORT: u16 = 5432;

/// What a URL says, and what it leaves out as libpq finds it: in its variables and its file of passwords.
pub(super) fn address(
    url: &str,
    options: &OpenOptions,
    variables: Variables<'_>,
) -> Result<PostgresAddress, OpenError> {
    let usual = variables("PGHOST").unwrap_or_else(|| "localhost".to_owned());
    let url = Url::parse_at(url, Some(&usual))?;
    if url.host.starts_with('/') {
        return Err(OpenError::new(format!("{} is a socket, which is not supported", url.host))
            .hint("name a host: postgres://localhost, or PGHOST"));
    }
    url.only_parameters(&["sslmode"])?;
    let mode = url.parameter("sslmode").map(str::to_owned).or_else(|| variables("PGSSLMODE"));
    if let Some(mode @ ("require" | "verify-ca" | "verify-full")) = mode.as_deref() {
        return Err(OpenError::new(format!("TLS is not supported (sslmode={mode})"))
            .hint("use a server that accepts plain connections, or a tunnel to it"));
    }
    let port = match (url.port, variables("PGPORT")) {
        (Some(port), _) => port,
        (None, None) => PORT,
        (None, Some(text)) => text.parse().map_err(|_| OpenError::new("PGPORT is no port"))?,
    };
    let fallback = || variables("USER").unwrap_or_else(|| server::postgres::USER.to_owned());
    let user = url.user.or_else(|| variables("PGUSER")).unwrap_or_else(fallback);
    let database = url.database.or_else(|| variables("PGDATABASE")).unwrap_or_else(|| user.clone());
    let login = Login { host: &url.host, port, database: &database, user: &user };
    let password = match (url.password, secret::from_file(options)?) {
        (Some(password), _) | (None, Some(password)) => password,
        (None, None) => environment::password(&login, variables).unwrap_or_default(),
    };
    let seconds = variables("PGCONNECT_TIMEOUT").and_then(|text| text.parse::<u64>().ok());
    let connecting = seconds.filter(|seconds| *seconds > 0).map(Duration::from_secs);
    Ok(PostgresAddress {
        host: url.host,
        port,
        database,
        user,
        password,
        timeout: options.timeout,
        connecting: connecting.unwrap_or(options.timeout),
    })
}

/// Why a server cannot be reached, in words that help.
pub(super) fn explain(trouble: Trouble, address: &PostgresAddress) -> OpenError {
    let place = format!("{}:{}", address.host, address.port);
    match trouble {
        Trouble::Gone(message) => {
            OpenError::new(format!("cannot connect to PostgreSQL at {place}: {message}"))
                .hint("check host and port; does the server listen there?")
        }
        Trouble::Error(error) => {
            let hint = match error.code.as_str() {
                "28P01" => "check user and password: of the URL, --password-file, PGPASSWORD, or \
                            .pgpass (which only its owner may be able to read)"
                    .to_owned(),
                "28000" if error.message.contains("no encryption") => {
                    "the server wants TLS, which is not supported; use a plain connection"
                        .to_owned()
                }
                "28000" => "the server does not let this user in; see its pg_hba.conf".to_owned(),
                "3D000" => format!("create it: createdb {}", address.database),
                "53300" => "the server has no connection left".to_owned(),
                _ => return OpenError::new(format!("PostgreSQL at {place}: {}", error.message)),
            };
            OpenError::new(format!("PostgreSQL at {place}: {}", error.message)).hint(hint)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_url_leaves_out_is_taken_from_the_variables_of_libpq() {
        let set = |name: &str| {
            let value = match name {
                "PGHOST" => "db",
                "PGPORT" => "6000",
                "PGUSER" => "ann",
                "PGDATABASE" => "shop",
                "PGPASSWORD" => "secret",
                "PGCONNECT_TIMEOUT" => "3",
                _ => return None,
            };
            Some(value.to_owned())
        };
        let options = OpenOptions::default();
        let all = address("postgres://", &options, &set).unwrap();
        let login = (all.host.as_str(), all.port, all.user.as_str(), all.database.as_str());
        assert_eq!(login, ("db", 6000, "ann", "shop"));
        assert_eq!((all.password.as_str(), all.connecting), ("secret", Duration::from_secs(3)));
        // What the URL says counts.
        let url = "postgres://bob:own@other:7000/mine";
        let own = address(url, &options, &set).unwrap();
        let login = (own.host.as_str(), own.port, own.user.as_str(), own.database.as_str());
        assert_eq!(login, ("other", 7000, "bob", "mine"));
        assert_eq!(own.password, "own");
        let tls = |name: &str| (name == "PGSSLMODE").then(|| "require".to_owned());
        assert!(address("postgres://", &options, &tls).is_err());
        let socket = |name: &str| (name == "PGHOST").then(|| "/run/postgresql".to_owned());
        assert!(address("postgres://", &options, &socket).is_err());
    }
}
