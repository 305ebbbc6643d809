//! How to reach a server, and why one cannot be reached.

use std::time::Duration;

use mysql::consts::CapabilityFlags;
use mysql::{Conn, Error, OptsBuilder};

use crate::open::OpenOptions;
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

pub(super) fn address(url: &str, options: &OpenOptions) -> Result<MySqlAddress, OpenError> {
    let url = Url::parse(url)?;
    url.only_parameters(&[])?;
    let usual = if url.scheme == "tidb" { TIDB_PORT } else { PORT };
    let Some(database) = url.database else {
        return Err(OpenError::new("the URL names no database")
            .hint("name one in which tables may be made: mysql://user:password@host/database"));
    };
    Ok(MySqlAddress {
        host: url.host,
        port: url.port.unwrap_or(usual),
        user: url.user.unwrap_or_else(|| "root".to_owned()),
        password: url.password.unwrap_or_default(),
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
        1045 | 1698 => problem.hint("check user and password in the URL"),
        1044 => problem.hint("the user may not use this database"),
        1049 => problem.hint(format!("create it: CREATE DATABASE {}", address.database)),
        1040 => problem.hint("the server has no connection left"),
        3159 | 4151 => problem.hint("the server wants TLS, which is not supported"),
        _ => problem,
    }
}
