//! Which source is meant.

use std::path::PathBuf;
use std::str::FromStr;

/// A source that may never end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WatchSource {
    /// Standard input: lines.
    Stdin,
    /// A file that grows: lines, or Isolde's native format.
    File(PathBuf),
    /// A port, `HOST:PORT`: each connection sends lines.
    Tcp(String),
    /// A socket in the file system: each connection sends lines.
    Unix(PathBuf),
    /// A port, `HOST:PORT`: each request brings lines, or TimeKiller's array.
    Http(String),
}

impl FromStr for WatchSource {
    type Err = String;

    fn from_str(text: &str) -> Result<WatchSource, String> {
        if text == "-" {
            return Ok(WatchSource::Stdin);
        }
        if let Some(address) = text.strip_prefix("tcp:") {
            return host_and_port(address).map(WatchSource::Tcp);
        }
        if let Some(address) = text.strip_prefix("http:") {
            return host_and_port(address.trim_start_matches('/')).map(WatchSource::Http);
        }
        if let Some(path) = text.strip_prefix("unix:") {
            let path = Some(path).filter(|path| !path.is_empty());
            let path = path.ok_or("expected unix:PATH, such as unix:/run/isolde.sock")?;
            return Ok(WatchSource::Unix(PathBuf::from(path)));
        }
        Ok(WatchSource::File(PathBuf::from(text)))
    }
}

/// An address that has both parts; whether there is such a host is seen when it is opened.
fn host_and_port(text: &str) -> Result<String, String> {
    let text = text.trim_end_matches('/').trim_end_matches("/check");
    let parts = text.rsplit_once(':').filter(|(host, _)| !host.is_empty());
    match parts.map(|(_, port)| port.parse::<u16>()) {
        Some(Ok(_)) => Ok(text.to_owned()),
        _ => Err(format!("expected HOST:PORT, such as 127.0.0.1:9000, found '{text}'")),
    }
}
