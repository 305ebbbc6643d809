//! Where to listen: on this machine only, unless the user says otherwise.

use std::io::ErrorKind;
use std::net::{TcpListener, ToSocketAddrs as _};

/// Listens at `HOST:PORT`. What can be reached from elsewhere is refused unless that is wanted, with what anyone could do
/// there.
pub(crate) fn listen(address: &str, anywhere: bool, could: &str) -> Result<TcpListener, String> {
    let found = address.to_socket_addrs().map_err(|error| format!("{address}: {error}"))?;
    let found: Vec<_> = found.collect();
    if !anywhere && let Some(outside) = found.iter().find(|a| !a.ip().is_loopback()) {
        return Err(format!(
            "{} can be reached from other machines, and anyone there could {could}\n  \
             hint: use 127.0.0.1, or --listen-anywhere if that is what you want",
            outside.ip()
        ));
    }
    let listener = TcpListener::bind(&found[..]).map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => format!("{address} is taken: another program listens there"),
        _ => format!("cannot listen at {address}: {error}"),
    })?;
    // Who accepts asks now and then whether the watch is over.
    listener.set_nonblocking(true).map_err(|error| format!("{address}: {error}"))?;
    Ok(listener)
}
