//! Addresses of databases: `scheme://user:password@host:port/database?name=value`.

use crate::target::OpenError;

/// A URL, taken apart and decoded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Url {
    /// What comes before `://`.
    pub(crate) scheme: String,
    /// The user that connects, if it says.
    pub(crate) user: Option<String>,
    /// The password, if there is one.
    pub(crate) password: Option<String>,
    /// Name or number of the host; brackets of IPv6 taken off.
    pub(crate) host: String,
    /// The port, if not the usual one.
    pub(crate) port: Option<u16>,
    /// The database, if it says.
    pub(crate) database: Option<String>,
    /// What comes after `?`.
    pub(crate) parameters: Vec<(String, String)>,
}

impl Url {
    /// Takes a URL apart. Where it names no host, that is the one.
    pub(crate) fn parse_at(text: &str, usual: Option<&str>) -> Result<Url, OpenError> {
        let wrong = |what: &str| {
            let hint = "a URL looks like postgres://user:password@host:5432/database";
            OpenError::new(format!("the URL {what}")).hint(hint)
        };
        let (scheme, rest) = text.split_once("://").ok_or_else(|| wrong("has no '://'"))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (place, database) = rest.split_once('/').unwrap_or((rest, ""));
        // A password may hold an '@' that was not escaped; a host cannot.
        let (who, at) = place.rsplit_once('@').unwrap_or(("", place));
        let (user, password) = match who.split_once(':') {
            Some((user, password)) => (user, Some(decode(password))),
            None => (who, None),
        };
        let (host, port) = host_and_port(at).ok_or_else(|| wrong("has no valid port"))?;
        let host = match (host, usual) {
            ("", None) => return Err(wrong("names no host")),
            ("", Some(usual)) => usual.to_owned(),
            (host, _) => decode(host),
        };
        let parameters = query.split('&').filter(|p| !p.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(name), decode(value))
        });
        Ok(Url {
            scheme: scheme.to_ascii_lowercase(),
            user: Some(decode(user)).filter(|u| !u.is_empty()),
            password,
            host,
            port,
            database: Some(decode(database)).filter(|d| !d.is_empty()),
            parameters: parameters.collect(),
        })
    }

    /// The value of a parameter.
    #[cfg(feature = "postgres")]
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// Refuses parameters that mean something which is not there: in silence they would be ignored.
    pub(crate) fn only_parameters(&self, known: &[&str]) -> Result<(), OpenError> {
        match self.parameters.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            None => Ok(()),
            Some((name, _)) => {
                let hint = match known {
                    [] => "no parameters are known".to_owned(),
                    _ => format!("known are {}", known.join(", ")),
                };
                Err(OpenError::new(format!("the URL has an unknown parameter '{name}'")).hint(hint))
            }
        }
    }
}

/// `host`, `host:port`, `[::1]:port`; nothing if the port is not a number.
fn host_and_port(text: &str) -> Option<(&str, Option<u16>)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, after) = rest.split_once(']')?;
        return match after.strip_prefix(':') {
            Some(port) => Some((host, Some(port.parse().ok()?))),
            None => Some((host, None)),
        };
    }
    match text.split_once(':') {
        Some((host, port)) => Some((host, Some(port.parse().ok()?))),
        None => Some((text, None)),
    }
}

/// Percent-decoding; what is not an escape stays as it is.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let escaped = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match escaped.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) if first == b'%' => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Url, OpenError> {
        Url::parse_at(text, None)
    }

    #[test]
    fn a_full_address_is_taken_apart() {
        let url = parse("postgres://ann:a%40b@db.example:5433/shop?sslmode=disable").unwrap();
        assert_eq!(url.user.as_deref(), Some("ann"));
        assert_eq!(url.password.as_deref(), Some("a@b"));
        assert_eq!((url.host.as_str(), url.port), ("db.example", Some(5433)));
        assert_eq!(url.database.as_deref(), Some("shop"));
        assert_eq!(url.parameters, [("sslmode".to_owned(), "disable".to_owned())]);
        assert!(url.only_parameters(&[]).is_err() && url.only_parameters(&["sslmode"]).is_ok());
    }

    #[test]
    fn what_is_missing_is_missing() {
        let at = Url::parse_at("POSTGRES:///shop", Some("db")).unwrap();
        assert_eq!((at.scheme.as_str(), at.host.as_str()), ("postgres", "db"));
        let url = parse("mysql://[::1]").unwrap();
        assert_eq!((url.host.as_str(), url.port, url.user), ("::1", None, None));
        assert_eq!((url.password, url.database), (None, None));
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for wrong in ["postgres:", "postgres://", "postgres://h:x/d", "postgres://h:70000/d"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        // Any text at all is either taken or refused.
        for odd in ["a://%", "a://%zz@h", "a://é%é/ü?%=&=", "://@"] {
            let _ = parse(odd);
        }
    }
}
