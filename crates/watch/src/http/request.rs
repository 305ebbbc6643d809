//! The head of a request, and answers.

use std::io::{BufRead, Read as _, Write};

/// The most bytes of a head.
const MOST_HEAD: u64 = 16 << 10;

/// What a request asks for.
#[derive(Default, Debug, PartialEq, Eq)]
pub(crate) struct RequestHead {
    pub(crate) method: String,
    pub(crate) path: String,
    /// The length of the body, if it is said.
    pub(crate) length: Option<u64>,
    pub(crate) chunked: bool,
    /// Whether the client waits for a word before it sends the body.
    pub(crate) expects: bool,
    /// Whether the connection ends with this request.
    pub(crate) close: bool,
    /// Whether a page in a browser sends it.
    pub(crate) from_page: bool,
}

/// An answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) kind: &'static str,
    pub(crate) body: String,
    /// Whether what follows on the connection cannot be trusted any more.
    pub(crate) close: bool,
}

impl Answer {
    /// Some JSON.
    pub(crate) fn json(status: u16, body: &serde_json::Value) -> Answer {
        let body = format!("{body}\n");
        Answer { status, kind: "application/json", body, close: false }
    }

    /// A sentence that says why not.
    pub(crate) fn refusal(status: u16, why: &str) -> Answer {
        Answer::json(status, &serde_json::json!({ "error": why }))
    }

    /// The same, and the connection ends.
    pub(crate) fn last(mut self) -> Answer {
        self.close = true;
        self
    }

    /// Sends it.
    pub(crate) fn write(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let words = match self.status {
            200 => "OK",
            400 => "Bad Request",
            403 => "Forbidden",
            404 => "Not Found",
            405 => "Method Not Allowed",
            408 => "Request Timeout",
            413 => "Content Too Large",
            503 => "Service Unavailable",
            _ => "Error",
        };
        let close = if self.close { "Connection: close\r\n" } else { "" };
        let Answer { status, kind, body, .. } = self;
        let len = body.len();
        let text = format!(
            "HTTP/1.1 {status} {words}\r\nContent-Type: {kind}\r\nContent-Length: {len}\r\n{close}\r\n{body}"
        );
        out.write_all(text.as_bytes())?;
        out.flush()
    }
}

/// Reads up to the empty line behind the head; `None` if the other side is through, or silent for too long.
pub(crate) fn read_head(stream: &mut dyn BufRead) -> Result<Option<RequestHead>, Answer> {
    let mut left = stream.take(MOST_HEAD);
    let mut lines = Vec::new();
    loop {
        let mut line = Vec::new();
        match left.read_until(b'\n', &mut line) {
            Ok(0) if left.limit() == 0 => {
                return Err(wrong("the head of the request is longer than 16 KiB"));
            }
            Ok(0) | Err(_) if lines.is_empty() => return Ok(None),
            Ok(0) | Err(_) => return Err(wrong("the request ends within its head")),
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned();
        match (text.is_empty(), lines.is_empty()) {
            // Some clients send an empty line between requests.
            (true, true) => {}
            (true, false) => return head(&lines).map(Some),
            (false, _) => lines.push(text),
        }
    }
}

fn wrong(why: &str) -> Answer {
    Answer::refusal(400, why).last()
}

fn head(lines: &[String]) -> Result<RequestHead, Answer> {
    let mut words = lines.first().map_or("", String::as_str).split(' ');
    let (Some(method), Some(path), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(wrong("expected a request such as POST /check HTTP/1.1"));
    };
    if !version.starts_with("HTTP/1.") {
        return Err(wrong("expected HTTP/1.1"));
    }
    let path = path.split('?').next().unwrap_or_default();
    let mut head = RequestHead {
        method: method.to_owned(),
        path: path.to_owned(),
        close: version == "HTTP/1.0",
        ..RequestHead::default()
    };
    for line in &lines[1..] {
        let field = line.split_once(':').filter(|(name, _)| !name.is_empty());
        let (name, value) = field.ok_or_else(|| wrong("expected NAME: VALUE in the head"))?;
        head.field(&name.to_ascii_lowercase(), value.trim())?;
    }
    // Two ways to say where the body ends would be two requests to different readers.
    if head.chunked && head.length.is_some() {
        return Err(wrong("a request has Content-Length or Transfer-Encoding, not both"));
    }
    Ok(head)
}

impl RequestHead {
    fn field(&mut self, name: &str, value: &str) -> Result<(), Answer> {
        match name {
            "content-length" => {
                let digits = !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit());
                let length = value.parse().ok().filter(|_| digits);
                let length = length.ok_or_else(|| wrong("Content-Length is not a number"))?;
                if self.length.replace(length).is_some_and(|before| before != length) {
                    return Err(wrong("Content-Length is given twice"));
                }
            }
            "transfer-encoding" if value.eq_ignore_ascii_case("chunked") => self.chunked = true,
            "transfer-encoding" => return Err(wrong("the only Transfer-Encoding is chunked")),
            "content-encoding" if !value.eq_ignore_ascii_case("identity") => {
                return Err(wrong("send the body as it is, without Content-Encoding"));
            }
            "expect" => self.expects = value.eq_ignore_ascii_case("100-continue"),
            "connection" => {
                let mut words = value.split(',');
                self.close |= words.any(|word| word.trim().eq_ignore_ascii_case("close"));
            }
            "origin" => self.from_page = true,
            _ => {}
        }
        Ok(())
    }
}
