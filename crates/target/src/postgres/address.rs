//! Where a server is, and why it cannot be reached.

use super::wire::{PostgresAddress, Trouble};
use crate::open::OpenOptions;
use crate::server;
use crate::target::OpenError;
use crate::url::Url;

/// The usual port.
const PORT: u16 = 5432;

pub(super) fn address(url: &str, options: &OpenOptions) -> Result<PostgresAddress, OpenError> {
    let url = Url::parse(url)?;
    url.only_parameters(&["sslmode"])?;
    if let Some(mode @ ("require" | "verify-ca" | "verify-full")) = url.parameter("sslmode") {
        return Err(OpenError::new(format!("TLS is not supported (sslmode={mode})"))
            .hint("use a server that accepts plain connections, or a tunnel to it"));
    }
    let fallback = || std::env::var("USER").unwrap_or_else(|_| server::postgres::USER.to_owned());
    let user = url.user.unwrap_or_else(fallback);
    Ok(PostgresAddress {
        host: url.host,
        port: url.port.unwrap_or(PORT),
        database: url.database.unwrap_or_else(|| user.clone()),
        user,
        password: url.password.unwrap_or_default(),
        timeout: options.timeout,
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
                "28P01" => "check user and password in the URL".to_owned(),
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
