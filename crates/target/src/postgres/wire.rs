//! The protocol, on a blocking socket.
//!
//! A session is one thread that waits for each answer, so there is nothing for an asynchronous
//! library to do; and such libraries hide what matters here: the tag of the answer to COMMIT
//! (`ROLLBACK` is one) and the state of the transaction that comes with every answer.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use bytes::{BufMut, BytesMut};
use fallible_iterator::FallibleIterator;
use postgres_protocol::IsNull;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::{
    DataRowBody, ErrorResponseBody, Message, ReadyForQueryBody,
};
use postgres_protocol::message::frontend;

/// The number of the type `bigint`, which never changes.
const BIGINT: u32 = 20;

/// How to reach a server.
#[derive(Clone, Debug)]
pub(super) struct PostgresAddress {
    /// Name or number.
    pub(super) host: String,
    /// The port.
    pub(super) port: u16,
    /// The user that connects.
    pub(super) user: String,
    /// The password, empty if there is none.
    pub(super) password: String,
    /// The database.
    pub(super) database: String,
    /// How long to wait for any answer.
    pub(super) timeout: Duration,
    /// How long to wait for a connection.
    pub(super) connecting: Duration,
}

/// What can go wrong with a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Trouble {
    /// The server said so.
    Error(ServerError),
    /// No answer came, or none that can be understood: the connection is of no more use.
    Gone(String),
}

/// An error message of the server.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct ServerError {
    /// `ERROR`, `FATAL` or `PANIC`.
    pub(super) severity: String,
    /// SQLSTATE.
    pub(super) code: String,
    /// What it says.
    pub(super) message: String,
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Trouble {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                Trouble::Gone("no answer in time".to_owned())
            }
            io::ErrorKind::UnexpectedEof => Trouble::Gone("the connection was closed".to_owned()),
            _ => Trouble::Gone(error.to_string()),
        }
    }
}

/// What a statement brought.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Reply {
    /// The first row; empty if none came.
    pub(super) columns: Vec<Option<Vec<u8>>>,
    /// Its tag, such as `UPDATE 1`.
    pub(super) tag: String,
}

impl Reply {
    /// The first column of the first row, as a text; empty if there is none.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(self.column(0).unwrap_or_default()).into_owned()
    }

    /// A column of the first row, if it is there and not NULL.
    pub(super) fn column(&self, number: usize) -> Option<&[u8]> {
        self.columns.get(number)?.as_deref()
    }

    /// How many rows the statement touched, from its tag.
    pub(super) fn rows(&self) -> u64 {
        self.tag.rsplit(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0)
    }
}

/// A connection.
pub(super) struct Wire {
    stream: TcpStream,
    out: BytesMut,
    received: BytesMut,
    /// What the server said last of the transaction: `I` none, `T` open, `E` failed.
    pub(super) status: u8,
}

impl Wire {
    /// Connects and authenticates.
    pub(super) fn connect(address: &PostgresAddress) -> Result<Wire, Trouble> {
        let places = (address.host.as_str(), address.port).to_socket_addrs()?;
        let mut last = Trouble::Gone("the host has no address".to_owned());
        for place in places {
            match TcpStream::connect_timeout(&place, address.connecting) {
                Ok(stream) => return Wire::start(stream, address),
                Err(error) => last = Trouble::from(error),
            }
        }
        Err(last)
    }

    fn start(stream: TcpStream, address: &PostgresAddress) -> Result<Wire, Trouble> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(address.timeout))?;
        stream.set_write_timeout(Some(address.timeout))?;
        let (out, received) = (BytesMut::with_capacity(1024), BytesMut::with_capacity(4096));
        let mut wire = Wire { stream, out, received, status: b'I' };
        let facts = [
            ("user", address.user.as_str()),
            ("database", &address.database),
            ("client_encoding", "UTF8"),
            ("application_name", "isolde"),
        ];
        frontend::startup_message(facts, &mut wire.out)?;
        wire.send()?;
        wire.authenticate(address)?;
        wire.finish()?;
        Ok(wire)
    }

    fn authenticate(&mut self, address: &PostgresAddress) -> Result<(), Trouble> {
        let password = address.password.as_bytes();
        let mut scram = None;
        loop {
            match self.next()? {
                Message::AuthenticationOk => return Ok(()),
                Message::AuthenticationCleartextPassword => {
                    frontend::password_message(password, &mut self.out)?;
                }
                Message::AuthenticationMd5Password(body) => {
                    let hash = md5_hash(address.user.as_bytes(), password, body.salt());
                    frontend::password_message(hash.as_bytes(), &mut self.out)?;
                }
                Message::AuthenticationSasl(_) => {
                    let new = ScramSha256::new(password, ChannelBinding::unsupported());
                    frontend::sasl_initial_response(SCRAM_SHA_256, new.message(), &mut self.out)?;
                    scram = Some(new);
                }
                Message::AuthenticationSaslContinue(body) => {
                    let scram = scram.as_mut().ok_or_else(|| odd("SASL"))?;
                    scram.update(body.data())?;
                    frontend::sasl_response(scram.message(), &mut self.out)?;
                }
                Message::AuthenticationSaslFinal(body) => {
                    scram.as_mut().ok_or_else(|| odd("SASL"))?.finish(body.data())?;
                    continue;
                }
                Message::ErrorResponse(body) => return Err(Trouble::Error(server_error(&body)?)),
                _ => return Err(odd("a way to authenticate that is not supported")),
            }
            self.send()?;
        }
    }

    /// Sends a text of one or more statements and waits for the end of the last.
    pub(super) fn simple(&mut self, sql: &str) -> Result<Reply, Trouble> {
        frontend::query(sql, &mut self.out)?;
        self.send()?;
        self.finish()
    }

    /// What the server says of a setting.
    pub(super) fn show(&mut self, setting: &str) -> Result<String, Trouble> {
        Ok(self.simple(&format!("SHOW {setting}"))?.text())
    }

    /// Prepares a statement; all its parameters are of type `bigint`.
    pub(super) fn prepare(
        &mut self,
        name: &str,
        sql: &str,
        parameters: usize,
    ) -> Result<(), Trouble> {
        frontend::parse(name, sql, vec![BIGINT; parameters], &mut self.out)?;
        frontend::sync(&mut self.out);
        self.send()?;
        self.finish().map(|_| ())
    }

    /// Adds to what is sent next that a prepared statement is not needed any more.
    pub(super) fn forget(&mut self, name: &str) -> Result<(), Trouble> {
        Ok(frontend::close(b'S', name, &mut self.out)?)
    }

    /// Adds a prepared statement to what is sent next. If one fails, the server skips all that
    /// follow up to [`run`](Wire::run): nothing behind a failed BEGIN is ever executed.
    pub(super) fn add(&mut self, name: &str, parameters: &[i64]) -> Result<(), Trouble> {
        let write = |value: &i64, buffer: &mut BytesMut| {
            buffer.put_i64(*value);
            Ok(IsNull::No)
        };
        frontend::bind("", name, [1], parameters, write, [1], &mut self.out)
            .map_err(|_| odd("a statement that cannot be sent"))?;
        frontend::execute("", 0, &mut self.out)?;
        Ok(())
    }

    /// Sends what was added and waits for the end of the last. What each statement brought is added to
    /// `replies`, also of those before one that fails.
    pub(super) fn run(&mut self, replies: &mut Vec<Reply>) -> Result<(), Trouble> {
        frontend::sync(&mut self.out);
        self.send()?;
        self.collect(replies)
    }

    fn send(&mut self) -> Result<(), Trouble> {
        let sent = self.stream.write_all(&self.out);
        self.out.clear();
        Ok(sent?)
    }

    /// Sends a text of statements and shows all that comes back to `each`.
    pub(super) fn watch(
        &mut self,
        sql: &str,
        each: &mut dyn FnMut(Message) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        frontend::query(sql, &mut self.out)?;
        self.send()?;
        self.finish_with(each)
    }

    /// What the last statement brought.
    fn finish(&mut self) -> Result<Reply, Trouble> {
        let mut replies = Vec::new();
        self.collect(&mut replies)?;
        Ok(replies.pop().unwrap_or_default())
    }

    /// What each statement brought, one after another.
    fn collect(&mut self, replies: &mut Vec<Reply>) -> Result<(), Trouble> {
        let mut columns = Vec::new();
        self.finish_with(&mut |message| {
            match message {
                Message::DataRow(body) if columns.is_empty() => columns = row(&body)?,
                Message::CommandComplete(body) => {
                    let (columns, tag) = (std::mem::take(&mut columns), body.tag()?.to_owned());
                    replies.push(Reply { columns, tag });
                }
                _ => {}
            }
            Ok(())
        })
    }

    /// Reads until the server is ready for more. The first error is the one that counts.
    fn finish_with(
        &mut self,
        each: &mut dyn FnMut(Message) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        let mut error = None;
        loop {
            match self.next() {
                Ok(Message::ReadyForQuery(body)) => {
                    self.status = ReadyForQueryBody::status(&body);
                    return match error {
                        None => Ok(()),
                        Some(error) => Err(Trouble::Error(error)),
                    };
                }
                Ok(Message::ErrorResponse(body)) => {
                    let said = server_error(&body)?;
                    error = error.or(Some(said));
                }
                Ok(message) => each(message)?,
                // Before a server hangs up it may say why: that is worth more than the silence.
                Err(gone) => return Err(error.map_or(gone, Trouble::Error)),
            }
        }
    }

    fn next(&mut self) -> Result<Message, Trouble> {
        loop {
            if let Some(message) = Message::parse(&mut self.received)? {
                return Ok(message);
            }
            let mut chunk = [0; 4096];
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                Ok(count) => self.received.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        // No caller waits for an answer; a server that is gone does not mind.
        self.out.clear();
        frontend::terminate(&mut self.out);
        let _ = self.send();
    }
}

pub(super) fn odd(what: &str) -> Trouble {
    Trouble::Gone(format!("the server sent something unexpected: {what}"))
}

/// The columns of a row.
pub(super) fn row(row: &DataRowBody) -> Result<Vec<Option<Vec<u8>>>, Trouble> {
    let bytes = |range| row.buffer().get(range).map(<[u8]>::to_vec);
    Ok(row.ranges().map(|range| Ok(range.and_then(bytes))).collect()?)
}

fn server_error(body: &ErrorResponseBody) -> Result<ServerError, Trouble> {
    let mut error = ServerError::default();
    let mut fields = body.fields();
    while let Some(field) = fields.next()? {
        let text = String::from_utf8_lossy(field.value_bytes()).into_owned();
        match field.type_() {
            // The severity that is never translated; the other one where it is missing.
            b'V' => error.severity = text,
            b'S' if error.severity.is_empty() => error.severity = text,
            b'C' => error.code = text,
            b'M' => error.message = text,
            _ => {}
        }
    }
    Ok(error)
}
