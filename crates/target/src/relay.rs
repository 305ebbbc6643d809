//! A relay between clients and servers, which can cut connections and slow them: faults of a network,
//! for any server that is reached by TCP, also for one that is not ours.
//!
//! Every client has a port of its own here, so that one can be cut or slowed without the others.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// How many bytes go on at once.
const CHUNK: usize = 16 * 1024;
/// How long a server may take to accept.
const CONNECT: Duration = Duration::from_secs(5);

/// What is known of one client's connections.
#[derive(Default)]
struct Line {
    port: u16,
    /// Both ends of what is connected now.
    open: Mutex<Vec<[TcpStream; 2]>>,
    /// How long everything waits on its way, in nanoseconds, each way.
    delay: AtomicU64,
    /// Set when the relay ends.
    over: AtomicBool,
}

impl Line {
    fn open(&self) -> MutexGuard<'_, Vec<[TcpStream; 2]>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cuts what is connected now; how many connections that were.
    fn cut(&self) -> usize {
        let cut = std::mem::take(&mut *self.open());
        for end in cut.iter().flatten() {
            let _ = end.shutdown(Shutdown::Both);
        }
        cut.len()
    }
}

/// A relay in front of one or more servers.
#[derive(Default)]
pub struct Relay {
    lines: Mutex<HashMap<u32, Arc<Line>>>,
}

impl Relay {
    fn line(&self, client: u32) -> Option<Arc<Line>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).get(&client).cloned()
    }

    /// The port on 127.0.0.1 at which a client reaches its server, which is always the same one.
    pub(crate) fn port(&self, client: u32, host: &str, port: u16) -> io::Result<u16> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = lines.get(&client) {
            return Ok(line.port);
        }
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let line = Arc::new(Line { port: listener.local_addr()?.port(), ..Line::default() });
        let (ours, host) = (Arc::clone(&line), host.to_owned());
        thread::Builder::new().spawn(move || accept(&listener, &ours, &host, port))?;
        lines.insert(client, Arc::clone(&line));
        Ok(line.port)
    }

    /// Cuts the connections of a client; how many that were. It may connect again at once.
    pub fn cut(&self, client: u32) -> usize {
        self.line(client).map_or(0, |line| line.cut())
    }

    /// From now on everything that a client sends or gets takes so much longer, each way.
    pub fn delay(&self, client: u32, by: Duration) {
        if let Some(line) = self.line(client) {
            line.delay.store(by.as_nanos() as u64, Ordering::Relaxed);
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        let lines = self.lines.get_mut().unwrap_or_else(PoisonError::into_inner);
        for line in lines.values() {
            line.over.store(true, Ordering::Relaxed);
            line.cut();
            // Wakes the thread that accepts, so that it sees that it is over.
            let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, line.port));
        }
    }
}

/// Joins every connection of a client to one to its server.
fn accept(listener: &TcpListener, line: &Arc<Line>, host: &str, port: u16) {
    while let Ok((client, _)) = listener.accept() {
        if line.over.load(Ordering::Relaxed) {
            return;
        }
        // A client that the server does not want, the relay does not want: dropping it closes it.
        let _ = join(client, line, host, port);
    }
}

fn join(client: TcpStream, line: &Arc<Line>, host: &str, port: u16) -> io::Result<()> {
    let address = (host, port).to_socket_addrs()?.next().ok_or(io::ErrorKind::NotFound)?;
    let server = TcpStream::connect_timeout(&address, CONNECT)?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let ways =
        [(client.try_clone()?, server.try_clone()?), (server.try_clone()?, client.try_clone()?)];
    let mut open = line.open();
    // A connection that has ended is not kept; its peer's address can no longer be asked for.
    open.retain(|[client, _]| client.peer_addr().is_ok());
    open.push([client, server]);
    drop(open);
    for (from, to) in ways {
        let line = Arc::clone(line);
        thread::Builder::new().spawn(move || carry(from, to, &line))?;
    }
    Ok(())
}

/// Carries bytes one way until one end closes, and then closes both.
fn carry(mut from: TcpStream, mut to: TcpStream, line: &Line) {
    let mut chunk = vec![0; CHUNK];
    while let Ok(count @ 1..) = from.read(&mut chunk) {
        let delay = line.delay.load(Ordering::Relaxed);
        if delay > 0 {
            thread::sleep(Duration::from_nanos(delay));
        }
        if chunk.get(..count).is_none_or(|bytes| to.write_all(bytes).is_err()) {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    /// A server that says everything back.
    fn echo() -> u16 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                thread::spawn(move || io::copy(&mut stream.try_clone().unwrap(), &mut stream));
            }
        });
        port
    }

    fn ask(stream: &mut TcpStream) -> io::Result<u8> {
        stream.write_all(b"x")?;
        let mut answer = [0];
        stream.read_exact(&mut answer)?;
        Ok(answer[0])
    }

    #[test]
    fn one_client_is_cut_and_another_is_not() {
        let (relay, server) = (Relay::default(), echo());
        let connect = |client| {
            let port = relay.port(client, "127.0.0.1", server).unwrap();
            TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap()
        };
        let (mut first, mut second) = (connect(0), connect(1));
        assert!(ask(&mut first).is_ok() && ask(&mut second).is_ok());
        assert_eq!((relay.cut(0), relay.cut(0), relay.cut(7)), (1, 0, 0));
        assert!(ask(&mut first).is_err() && ask(&mut second).is_ok());
        assert_eq!(ask(&mut connect(0)).unwrap(), b'x');
    }

    #[test]
    fn a_delay_is_felt_both_ways() {
        let (relay, server) = (Relay::default(), echo());
        let port = relay.port(3, "127.0.0.1", server).unwrap();
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        ask(&mut stream).unwrap();
        relay.delay(3, Duration::from_millis(30));
        let began = Instant::now();
        ask(&mut stream).unwrap();
        assert!(began.elapsed() >= Duration::from_millis(60));
    }

    #[test]
    fn when_it_is_gone_nobody_listens() {
        let (relay, server) = (Relay::default(), echo());
        let port = relay.port(0, "127.0.0.1", server).unwrap();
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        ask(&mut stream).unwrap();
        drop(relay);
        assert!(ask(&mut stream).is_err());
        thread::sleep(Duration::from_millis(50));
        assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err());
    }
}
