//! Where a stream goes to.

use std::path::PathBuf;
use std::str::FromStr;

/// Where the lines go.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum To {
    /// A host and its port.
    Tcp(String),
    /// A socket of this machine.
    Unix(PathBuf),
}

impl FromStr for To {
    type Err = String;

    fn from_str(text: &str) -> Result<To, String> {
        if let Some(path) = text.strip_prefix("unix:").filter(|path| !path.is_empty()) {
            return Ok(To::Unix(PathBuf::from(path)));
        }
        let port = text.rsplit_once(':').filter(|(host, _)| !host.is_empty());
        let known = port.is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let expected = "expected HOST:PORT such as localhost:4000, or unix:PATH";
        if known { Ok(To::Tcp(text.to_owned())) } else { Err(expected.to_owned()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_as_people_type_them() {
        let read = |text: &str| text.parse::<To>().ok();
        assert_eq!(read("localhost:4000"), Some(To::Tcp("localhost:4000".to_owned())));
        assert_eq!(read("[::1]:4000"), Some(To::Tcp("[::1]:4000".to_owned())));
        assert_eq!(read("unix:/tmp/a"), Some(To::Unix(PathBuf::from("/tmp/a"))));
        for wrong in ["", "localhost", ":4000", "unix:", "host:99999", "host:"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
