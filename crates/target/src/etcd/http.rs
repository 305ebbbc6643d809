//! As much of HTTP/1.1 as etcd's JSON gateway needs: POST on a connection that is kept.
//!
//! Whether a request was answered must be exact, so nothing is ever sent a second time: a connection that
//! fails is of no more use.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// The longest answer that is read.
const MAX_ANSWER: usize = 16 << 20;
/// The longest head of an answer.
const MAX_HEAD: usize = 64 << 10;

/// How the end of a body is found.
enum Length {
    Exactly(usize),
    Chunks,
}

/// A connection.
pub(super) struct Http {
    stream: TcpStream,
    address: String,
    timeout: Duration,
    /// What was read and belongs to no answer yet.
    buffer: Vec<u8>,
}

impl Http {
    /// Connects to `host:port`.
    pub(super) fn connect(address: &str, timeout: Duration) -> io::Result<Http> {
        let mut last = io::Error::other("the name has no address");
        for place in address.to_socket_addrs()? {
            match TcpStream::connect_timeout(&place, timeout) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    stream.set_write_timeout(Some(timeout))?;
                    let (address, buffer) = (address.to_owned(), Vec::new());
                    return Ok(Http { stream, address, timeout, buffer });
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Sends a request and waits for its answer: the status, and the body.
    pub(super) fn post(&mut self, path: &str, body: &str) -> io::Result<(u16, Vec<u8>)> {
        let deadline = Instant::now() + self.timeout;
        let (status, length) = self.ask(path, body, deadline)?;
        let body = match length {
            Length::Chunks => self.chunks(deadline)?,
            Length::Exactly(length) => self.exactly(length, deadline)?,
        };
        Ok((status, body))
    }

    /// Sends a request and hands on each line of its answer as it comes, with the status, until that is enough or the
    /// answer ends. The next line may take as long as a whole answer may. The connection is of no more use.
    pub(super) fn lines(
        &mut self,
        path: &str,
        body: &str,
        each: &mut dyn FnMut(u16, &[u8]) -> bool,
    ) -> io::Result<()> {
        let mut deadline = Instant::now() + self.timeout;
        let (status, length) = self.ask(path, body, deadline)?;
        if let Length::Exactly(length) = length {
            let line = self.exactly(length, deadline)?;
            each(status, &line);
            return Ok(());
        }
        let mut line = Vec::new();
        while let Some(chunk) = self.chunk(deadline)? {
            let mut parts = chunk.split(|byte| *byte == b'\n').peekable();
            while let Some(part) = parts.next() {
                if part.len() > MAX_ANSWER - line.len() {
                    return Err(wrong("a line of an answer is too long"));
                }
                line.extend_from_slice(part);
                // Behind the last part, the line goes on in the next chunk.
                if parts.peek().is_some() {
                    if !line.is_empty() && !each(status, &line) {
                        return Ok(());
                    }
                    line.clear();
                    deadline = Instant::now() + self.timeout;
                }
            }
        }
        Err(wrong("an answer ended too early"))
    }

    /// Sends a request, and reads the head of its answer: the status, and how long the body is.
    fn ask(&mut self, path: &str, body: &str, deadline: Instant) -> io::Result<(u16, Length)> {
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        self.stream.write_all(request.as_bytes())?;
        let end = loop {
            if let Some(at) = find(&self.buffer, b"\r\n\r\n") {
                break at + 4;
            }
            if self.buffer.len() > MAX_HEAD {
                return Err(wrong("the head of an answer is too long"));
            }
            self.fill(deadline)?;
        };
        let head = String::from_utf8_lossy(&self.take(end)).to_ascii_lowercase();
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
        let status = status.ok_or_else(|| wrong("an answer has no status"))?;
        let field = |name: &str| {
            head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
        };
        let length = match (field("transfer-encoding"), field("content-length")) {
            (Some("chunked"), _) => Length::Chunks,
            (_, Some(length)) => {
                Length::Exactly(length.parse().map_err(|_| wrong("an answer has no length"))?)
            }
            _ => return Err(wrong("an answer does not say how long it is")),
        };
        Ok((status, length))
    }

    fn chunks(&mut self, deadline: Instant) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        while let Some(chunk) = self.chunk(deadline)? {
            if chunk.len() > MAX_ANSWER - body.len() {
                return Err(wrong("an answer is too long"));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// A piece of an answer; nothing behind the last one.
    fn chunk(&mut self, deadline: Instant) -> io::Result<Option<Vec<u8>>> {
        let line = self.line(deadline)?;
        let length = line.split(';').next().unwrap_or_default().trim();
        let length = usize::from_str_radix(length, 16)
            .map_err(|_| wrong("a piece of an answer has no length"))?;
        if length == 0 {
            // Fields may follow, up to an empty line; etcd sends one after errors.
            while !self.line(deadline)?.is_empty() {}
            return Ok(None);
        }
        let chunk = self.exactly(length, deadline)?;
        self.exactly(2, deadline)?;
        Ok(Some(chunk))
    }

    /// A line, without its end.
    fn line(&mut self, deadline: Instant) -> io::Result<String> {
        loop {
            if let Some(at) = find(&self.buffer, b"\r\n") {
                let line = self.take(at + 2);
                return Ok(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
            if self.buffer.len() > MAX_HEAD {
                return Err(wrong("a line of an answer is too long"));
            }
            self.fill(deadline)?;
        }
    }

    fn exactly(&mut self, length: usize, deadline: Instant) -> io::Result<Vec<u8>> {
        if length > MAX_ANSWER {
            return Err(wrong("an answer is too long"));
        }
        while self.buffer.len() < length {
            self.fill(deadline)?;
        }
        Ok(self.take(length))
    }

    fn take(&mut self, count: usize) -> Vec<u8> {
        let rest = self.buffer.split_off(count.min(self.buffer.len()));
        std::mem::replace(&mut self.buffer, rest)
    }

    fn fill(&mut self, deadline: Instant) -> io::Result<()> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        let mut chunk = [0; 8192];
        match self.stream.read(&mut chunk) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                self.buffer.extend_from_slice(chunk.get(..count).unwrap_or_default());
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                Err(io::ErrorKind::TimedOut.into())
            }
            Err(error) => Err(error),
        }
    }
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// What a server says to two requests on one connection, and what is understood.
    fn asked(answers: &'static [&'static str]) -> Vec<io::Result<(u16, Vec<u8>)>> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            for answer in answers {
                let mut request = [0; 4096];
                assert!(stream.read(&mut request).unwrap() > 0);
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        let mut http = Http::connect(&address, Duration::from_millis(500)).unwrap();
        let got = answers.iter().map(|_| http.post("/x", "{}")).collect();
        server.join().unwrap();
        got
    }

    /// The lines of an answer that are read before one says `enough`, and how that ended.
    fn lines(answer: &'static str) -> (Vec<String>, bool) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            assert!(stream.read(&mut [0; 4096]).unwrap() > 0);
            stream.write_all(answer.as_bytes()).unwrap();
        });
        let mut http = Http::connect(&address, Duration::from_millis(500)).unwrap();
        let mut got = Vec::new();
        let read = http.lines("/x", "{}", &mut |status, line| {
            got.push(format!("{status} {}", String::from_utf8_lossy(line)));
            line != b"enough"
        });
        server.join().unwrap();
        (got, read.is_ok())
    }

    #[test]
    fn lines_are_handed_on_however_they_are_cut() {
        let (head, mut cut) =
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", String::new());
        for piece in ["a", "b\n\nc\nen", "ough\nmore\n"] {
            cut += &format!("{:x}\r\n{piece}\r\n", piece.len());
        }
        let whole: &'static str = format!("{head}{cut}").leak();
        let three = ["200 ab", "200 c", "200 enough"].map(str::to_owned).to_vec();
        assert_eq!(lines(whole), (three, true));
        // An end before it was enough is no end, and an error has a length.
        let early: &'static str = format!("{head}2\r\na\n\r\n0\r\n\r\n").leak();
        assert_eq!(lines(early), (vec!["200 a".to_owned()], false));
        let refused = "HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nno";
        assert_eq!(lines(refused), (vec!["404 no".to_owned()], true));
    }

    #[test]
    fn answers_of_both_kinds_are_read_to_their_end() {
        let got = asked(&[
            "HTTP/1.1 400 Bad\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\nT: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
        ]);
        assert_eq!(got[0].as_ref().unwrap(), &(400, b"abc".to_vec()));
        assert_eq!(got[1].as_ref().unwrap(), &(200, b"hi".to_vec()));
    }

    #[test]
    fn what_is_no_answer_is_an_error() {
        for answer in [
            &["HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi"] as &[&str],
            &["HTTP/1.1 200 OK\r\n\r\nhi"],
            &["nonsense\r\n\r\n"],
            &["HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"],
            &["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"],
            &["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n"],
            &[""],
        ] {
            assert!(asked(answer)[0].is_err(), "{answer:?}");
        }
    }
}
