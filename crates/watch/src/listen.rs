//! Connections that send lines, several at a time.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::acks::Acks;
use crate::agreed::Agreed;
use crate::feed::{Feed, Message, Over};
use crate::gather::{Gather, LINGER, Of};
use crate::inbox::{WAIT, is_nothing_yet, read_to_end};
use crate::room::Room;

/// How many connections may be open at a time: each has a thread.
const MOST_CONNECTIONS: usize = 256;
/// How long a client may leave what is written back to it unread.
const UNREAD: Duration = Duration::from_secs(10);

/// A connection, whatever it runs over.
pub(crate) trait Connection: Read + Send + Sized + 'static {
    /// Lets reads wait for no longer than [`WAIT`].
    fn prepare(&self) -> std::io::Result<()>;
    /// What is written back goes here.
    fn back(&self) -> std::io::Result<Box<dyn Write>>;
}

impl Connection for TcpStream {
    fn prepare(&self) -> std::io::Result<()> {
        self.set_nonblocking(false)?;
        self.set_nodelay(true)?;
        self.set_read_timeout(Some(WAIT))
    }

    fn back(&self) -> std::io::Result<Box<dyn Write>> {
        self.set_write_timeout(Some(UNREAD))?;
        Ok(Box::new(self.try_clone()?))
    }
}

impl Connection for UnixStream {
    fn prepare(&self) -> std::io::Result<()> {
        self.set_nonblocking(false)?;
        self.set_read_timeout(Some(WAIT))
    }

    fn back(&self) -> std::io::Result<Box<dyn Write>> {
        self.set_write_timeout(Some(UNREAD))?;
        Ok(Box::new(self.try_clone()?))
    }
}

/// Where connections come from.
pub(crate) trait Listener: Send + 'static {
    /// What comes.
    type Connection: Connection;
    /// The next one, if one is there.
    fn next(&self) -> std::io::Result<Self::Connection>;
}

impl Listener for TcpListener {
    type Connection = TcpStream;
    fn next(&self) -> std::io::Result<TcpStream> {
        self.accept().map(|(stream, _)| stream)
    }
}

impl Listener for UnixSocket {
    type Connection = UnixStream;
    fn next(&self) -> std::io::Result<UnixStream> {
        self.0.accept().map(|(stream, _)| stream)
    }
}

/// A socket in the file system.
pub(crate) struct UnixSocket(UnixListener);

/// The name of a socket in the file system, which goes away with this. The thread that accepts connections cannot hold it:
/// the process may end before that thread does.
pub(crate) struct SocketFile(PathBuf);

impl UnixSocket {
    /// Listens there. A socket that a killed process left is replaced; anything else that has the name is not.
    pub(crate) fn listen(path: &Path) -> Result<(UnixSocket, SocketFile), String> {
        let name = path.display();
        let cannot = |error: std::io::Error| format!("cannot listen at {name}: {error}");
        if let Ok(there) = fs::symlink_metadata(path) {
            let refused = |e: std::io::Error| e.kind() == ErrorKind::ConnectionRefused;
            let is_left = there.file_type().is_socket()
                && UnixStream::connect(path).err().is_some_and(refused);
            if !is_left {
                return Err(format!(
                    "{name} is taken: another program listens there, or it is a file"
                ));
            }
            fs::remove_file(path).map_err(cannot)?;
        }
        let listener = UnixListener::bind(path).map_err(cannot)?;
        let file = SocketFile(path.to_owned());
        // Other users of the machine shall not send anything.
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(cannot)?;
        listener.set_nonblocking(true).map_err(cannot)?;
        Ok((UnixSocket(listener), file))
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // It may have been removed by someone else.
        let _ = fs::remove_file(&self.0);
    }
}

/// Calls a function for each connection, on a thread of its own, until the watch is over.
pub(crate) fn each_connection<L: Listener>(
    listener: &L,
    feed: &Feed,
    act: impl Fn(u64, L::Connection, &Feed) + Clone + Send + 'static,
) -> Result<(), Over> {
    let open = Arc::new(AtomicUsize::new(0));
    let mut number = 0;
    while !feed.is_over() {
        let connection = match listener.next() {
            Ok(connection) => connection,
            // None is there, or one went away before it was accepted, or there are too many open files.
            Err(error) => {
                if !is_nothing_yet(error.kind()) {
                    feed.send(Message::Notice(format!("a connection was not accepted: {error}")))?;
                    thread::sleep(LINGER * 10);
                }
                thread::sleep(LINGER);
                continue;
            }
        };
        if open.load(Ordering::SeqCst) >= MOST_CONNECTIONS {
            let text = format!("a connection was refused: {MOST_CONNECTIONS} are open");
            feed.send(Message::Notice(text))?;
            continue;
        }
        number += 1;
        open.fetch_add(1, Ordering::SeqCst);
        let (count, feed, act) = (Arc::clone(&open), feed.clone(), act.clone());
        let serve = move || {
            if connection.prepare().is_ok() {
                act(number, connection, &feed);
            }
            count.fetch_sub(1, Ordering::SeqCst);
        };
        let started = thread::Builder::new().name("watch-connection".to_owned()).spawn(serve);
        if started.is_err() {
            open.fetch_sub(1, Ordering::SeqCst);
        }
    }
    Err(Over)
}

/// Each connection sends lines, with a header of its own if it likes. Where state is kept, it is told which lines are
/// safe.
pub(crate) fn run<L: Listener>(
    listener: &L,
    name: &str,
    agreed: &Arc<Agreed>,
    keeps: bool,
    feed: &Feed,
) -> Result<(), Over> {
    let (name, agreed, room) = (name.to_owned(), Arc::clone(agreed), Room::default());
    let of = if keeps { Of::Acknowledged } else { Of::Stream };
    each_connection(listener, feed, move |number, mut connection, feed| {
        let gather = Gather::new(&format!("{name} connection {number}"), &agreed, None);
        let mut gather = gather.of(of).sharing(room.share());
        let mut acks = match keeps.then(|| connection.back()).transpose() {
            Ok(back) => back.map_or_else(Acks::none, Acks::to),
            // The connection is gone.
            Err(_) => return,
        };
        // If the watch is over, the connection is closed.
        if read_to_end(&mut connection, &mut gather, &mut acks, feed).is_ok() {
            acks.last();
        }
    })
}
