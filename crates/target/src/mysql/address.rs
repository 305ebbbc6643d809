//! How to reach a server, and why one cannot be reached.

use std::time::Duration;

use mysql::consts::CapabilityFlags;
use mysql::{Conn, Error, OptsBuilder};

use crate::open::OpenOptions;
use crate::secret;
use crate::target::OpenError;
use crate::url::Url;

/// The usual ports.
const PORT: u16 = 3306;
const TIDB_PORT: u16 = 4000;

/// How to reach a server.
#[derive(Clone, Debug)]
pub(super) struct MySqlAddress {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) user: String,
    pub(super) password: String,
    pub(super) database: String,
    pub(super) timeout: Duration,
}

impl MySqlAddress {
    pub(super) fn connect(&self) -> Result<Conn, Error> {
        // A row that is set to what it already is counts as found.
        let found = CapabilityFlags::CLIENT_FOUND_ROWS;
        Conn::new(self.options().additional_capabilities(found))
    }

    pub(super) fn options(&self) -> OptsBuilder {
        OptsBuilder::new()
            .ip_or_hostname(Some(&self.host))
            .tcp_port(self.port)
            .user(Some(&self.user))
            .pass(Some(&self.password))
            .db_name(Some(&self.database))
            .prefer_socket(false)
            .tcp_connect_timeout(Some(self.timeout))
            .read_timeout(Some(self.timeout))
            .write_timeout(Some(self.timeout))
            // Sessions keep their statements themselves; a cache would close what it drops.
            .stmt_cache_size(0)
    }
}

/// What a URL says, and what it leaves out as the clients of these servers find it: in variables.
pub(super) fn address(
    url: &str,
    options: &OpenOptions,
    variables: &dyn Fn(&str) -> Option<String>,
) -> Result<MySqlAddress, OpenError> {
    let variable = |name: &str| variables(name).filter(|value| !value.is_empty());
    let host = variable("MYSQL_HOST").unwrap_or_else(|| "127.0.0.1".to_owned());
    let url = Url::parse_at(url, Some(&host))?;
    url.only_parameters(&[])?;
    let usual = if url.scheme == "tidb" { TIDB_PORT } else { PORT };
    let Some(database) = url.database else {
        return Err(OpenError::new("the URL names no database")
            .hint("name one in which tables may be made: mysql://user:password@host/database"));
    };
    let port = match (url.port, variable("MYSQL_TCP_PORT")) {
        (Some(port), _) => port,
        (None, None) => usual,
        (None, Some(text)) => {
            text.parse().map_err(|_| OpenError::new("MYSQL_TCP_PORT is no port"))?
        }
    };
    let password = url.password.or(secret::from_file(options)?).or_else(|| variable("MYSQL_PWD"));
    Ok(MySqlAddress {
        host: url.host,
        port,
        user: url.user.unwrap_or_else(|| "root".to_owned()),
        password: password.unwrap_or_default(),
        database,
        timeout: options.timeout,
    })
}

/// Why a server cannot be reached, in words that help.
pub(super) fn explain(error: &Error, address: &MySqlAddress) -> OpenError {
    let place = format!("{}:{}", address.host, address.port);
    let Error::MySqlError(said) = error else {
        let said = match error {
            Error::DriverError(error) => error.to_string(),
            Error::IoError(error) => error.to_string(),
            other => other.to_string(),
        };
        return OpenError::new(format!("cannot connect to {place}: {said}"))
            .hint("check host and port; does the server listen there?");
    };
    let problem = OpenError::new(format!("{place}: {} ({})", said.message, said.code));
    match said.code {
        1045 | 1698 => {
            problem.hint("check user and password: of the URL, --password-file, or MYSQL_PWD")
        }
        1044 => problem.hint("the user may not use this database"),
        1049 => problem.hint(format!("create it: CREATE DATABASE {}", address.database)),
        1040 => problem.hint("the server has no connection left"),
        3159 | 4151 => problem.hint("the server wants TLS, which is not supported"),
        _ => problem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_url_leaves_out_is_taken_from_variables() {
        let set = |name: &str| {
            let value = match name {
                "MYSQL_HOST" => "db",
                "MYSQL_TCP_PORT" => "6000",
                "MYSQL_PWD" => "secret",
                _ => return None,
            };
            Some(value.to_owned())
        };
        let options = OpenOptions::default();
        let all = address("mysql:///shop", &options, &set).unwrap();
        assert_eq!((all.host.as_str(), all.port, all.password.as_str()), ("db", 6000, "secret"));
        let own = address("mysql://u:own@other:7000/shop", &options, &set).unwrap();
        assert_eq!((own.host.as_str(), own.port, own.password.as_str()), ("other", 7000, "own"));
    }
}
