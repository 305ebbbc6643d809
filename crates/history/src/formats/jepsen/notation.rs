//! What EDN and JSON have in common, as far as Jepsen's histories go.

use std::borrow::Cow;

use crate::draft::TxnDraft;
use crate::error::Fault;
use crate::formats::jepsen::event::LogEvent;
use crate::formats::jepsen::fast;
use crate::pool::Pool;
use crate::text::{Edn, Json, edn, json};
use crate::value::Value;

/// What kind of value comes next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    Nil,
    /// A keyword of EDN, a string of JSON.
    Name,
    Sequence,
    Map,
    /// Only EDN has them.
    Set,
    Other,
}

/// A pull scanner of one of the two notations. Names are keywords in EDN and strings in JSON.
pub(crate) trait Notation<'a>: Sized + Clone {
    /// What stands before and after a name in messages.
    const QUOTES: [&'static str; 2];

    fn at(bytes: &'a [u8], pos: usize) -> Self;
    /// The operation map that comes next, if it has the shape that almost all have.
    #[inline]
    fn plain_event(&mut self) -> Option<LogEvent> {
        None
    }
    /// Adds the micro-operations that come next, if they have the shape that almost all have.
    /// Otherwise the draft may be in any state.
    #[inline]
    fn plain_micro_operations(
        &self,
        _lists: bool,
        _pool: &mut Pool,
        _draft: &mut TxnDraft,
        _elements: &mut Vec<Value>,
    ) -> Option<()> {
        None
    }
    /// The byte of the next value.
    fn offset(&mut self) -> Result<usize, Fault>;
    fn shape(&mut self) -> Result<Shape, Fault>;
    fn begin_sequence(&mut self) -> Result<(), Fault>;
    fn next_item(&mut self) -> Result<bool, Fault>;
    fn begin_map(&mut self) -> Result<(), Fault>;
    /// The next key of the map we are in, as the name of an attribute.
    fn next_key(&mut self) -> Result<Option<Cow<'a, str>>, Fault>;
    /// The same for scanning, where speed matters more than a proper name.
    fn next_raw_key(&mut self) -> Result<Option<Cow<'a, [u8]>>, Fault>;
    /// The next key of the map we are in, as a value that also occurs outside of maps.
    fn next_key_value(&mut self, pool: &mut Pool) -> Result<Option<Value>, Fault>;
    /// A name without colon or quotes.
    fn name(&mut self, what: &str) -> Result<&'a [u8], Fault>;
    fn value(&mut self, pool: &mut Pool) -> Result<Value, Fault>;
    /// All items of the sequence we are in, to its end.
    #[inline]
    fn values(&mut self, pool: &mut Pool, out: &mut Vec<Value>) -> Result<(), Fault> {
        while self.next_item()? {
            out.push(self.value(pool)?);
        }
        Ok(())
    }
    fn eat_nil(&mut self) -> Result<bool, Fault>;
    fn skip_value(&mut self) -> Result<(), Fault>;
    /// An integer of up to 64 bits, or `None` and the value is skipped.
    fn integer_or_skip(&mut self) -> Result<Option<i64>, Fault>;

    /// A name as the user knows it.
    fn quoted(name: &[u8]) -> String {
        let [before, after] = Self::QUOTES;
        format!("{before}{}{after}", name.escape_ascii())
    }
}

impl<'a> Notation<'a> for Edn<'a> {
    const QUOTES: [&'static str; 2] = [":", ""];

    fn at(bytes: &'a [u8], pos: usize) -> Edn<'a> {
        Edn::at(bytes, pos)
    }

    #[inline]
    fn plain_event(&mut self) -> Option<LogEvent> {
        let (event, end) = fast::event(self.cursor.bytes, self.cursor.pos)?;
        self.cursor.pos = end;
        Some(event)
    }

    #[inline]
    fn plain_micro_operations(
        &self,
        lists: bool,
        pool: &mut Pool,
        draft: &mut TxnDraft,
        elements: &mut Vec<Value>,
    ) -> Option<()> {
        let cursor = &self.cursor;
        fast::micro_operations(cursor.bytes, cursor.pos, lists, pool, draft, elements)
    }

    fn offset(&mut self) -> Result<usize, Fault> {
        Edn::offset(self)
    }

    fn shape(&mut self) -> Result<Shape, Fault> {
        let mut ahead = self.clone();
        ahead.eat_tag()?;
        Ok(match ahead.peek()? {
            edn::EdnKind::Nil => Shape::Nil,
            edn::EdnKind::Word => Shape::Name,
            edn::EdnKind::Sequence => Shape::Sequence,
            edn::EdnKind::Map => Shape::Map,
            edn::EdnKind::Set => Shape::Set,
            _ => Shape::Other,
        })
    }

    #[inline]
    fn begin_sequence(&mut self) -> Result<(), Fault> {
        self.skip_space()?;
        if self.cursor.peek() == Some(b'#') {
            // Clojure may print a tuple as `#clojure.lang.MapEntry[k v]`.
            self.eat_tag()?;
        }
        Edn::begin_sequence(self)
    }

    #[inline]
    fn next_item(&mut self) -> Result<bool, Fault> {
        Edn::next_item(self)
    }

    fn begin_map(&mut self) -> Result<(), Fault> {
        self.eat_tag()?;
        Edn::begin_map(self)
    }

    fn next_key(&mut self) -> Result<Option<Cow<'a, str>>, Fault> {
        if !Edn::next_item(self)? {
            return Ok(None);
        }
        let source = self.verbatim()?;
        Ok(Some(Cow::Borrowed(source.strip_prefix(':').unwrap_or(source))))
    }

    #[inline]
    fn next_raw_key(&mut self) -> Result<Option<Cow<'a, [u8]>>, Fault> {
        if !Edn::next_item(self)? {
            return Ok(None);
        }
        if self.cursor.peek() == Some(b':') {
            return self.word("a key").map(|key| Some(Cow::Borrowed(key)));
        }
        // No key but a keyword is a common one, whatever it says.
        self.skip_value()?;
        Ok(Some(Cow::Borrowed(b"")))
    }

    fn next_key_value(&mut self, pool: &mut Pool) -> Result<Option<Value>, Fault> {
        if Edn::next_item(self)? { self.value(pool).map(Some) } else { Ok(None) }
    }

    #[inline]
    fn name(&mut self, what: &str) -> Result<&'a [u8], Fault> {
        self.word(what)
    }

    #[inline]
    fn value(&mut self, pool: &mut Pool) -> Result<Value, Fault> {
        Edn::value(self, pool)
    }

    #[inline]
    fn values(&mut self, pool: &mut Pool, out: &mut Vec<Value>) -> Result<(), Fault> {
        self.small_ints(out);
        while Edn::next_item(self)? {
            out.push(Edn::value(self, pool)?);
        }
        Ok(())
    }

    #[inline]
    fn eat_nil(&mut self) -> Result<bool, Fault> {
        Edn::eat_nil(self)
    }

    fn skip_value(&mut self) -> Result<(), Fault> {
        Edn::skip_value(self)
    }

    #[inline]
    fn integer_or_skip(&mut self) -> Result<Option<i64>, Fault> {
        self.skip_space()?;
        if let Some(i) = self.small_int() {
            return Ok(Some(i));
        }
        let start = self.clone();
        match self.integer("") {
            Ok(i) => Ok(Some(i)),
            Err(_) => {
                *self = start;
                Edn::skip_value(self).map(|()| None)
            }
        }
    }
}

impl<'a> Notation<'a> for Json<'a> {
    const QUOTES: [&'static str; 2] = ["\"", "\""];

    fn at(bytes: &'a [u8], pos: usize) -> Json<'a> {
        let mut json = Json::new(bytes);
        json.cursor.pos = pos;
        json
    }

    fn offset(&mut self) -> Result<usize, Fault> {
        Ok(Json::offset(self))
    }

    fn shape(&mut self) -> Result<Shape, Fault> {
        Ok(match self.peek()? {
            json::JsonKind::Null => Shape::Nil,
            json::JsonKind::String => Shape::Name,
            json::JsonKind::Array => Shape::Sequence,
            json::JsonKind::Object => Shape::Map,
            _ => Shape::Other,
        })
    }

    fn begin_sequence(&mut self) -> Result<(), Fault> {
        self.begin_array()
    }

    #[inline]
    fn next_item(&mut self) -> Result<bool, Fault> {
        Json::next_item(self)
    }

    fn begin_map(&mut self) -> Result<(), Fault> {
        self.begin_object()
    }

    fn next_key(&mut self) -> Result<Option<Cow<'a, str>>, Fault> {
        self.next_member()
    }

    fn next_raw_key(&mut self) -> Result<Option<Cow<'a, [u8]>>, Fault> {
        Ok(self.next_member()?.map(|key| match key {
            Cow::Borrowed(key) => Cow::Borrowed(key.as_bytes()),
            Cow::Owned(key) => Cow::Owned(key.into_bytes()),
        }))
    }

    fn next_key_value(&mut self, pool: &mut Pool) -> Result<Option<Value>, Fault> {
        let at = Json::offset(self);
        let Some(name) = self.next_member()? else { return Ok(None) };
        if name.parse::<i128>().is_ok() {
            return Err(Fault::wrong(at, format!("is \"{name}\" the key \"{name}\" or {name}?"))
                .hint("JSON cannot tell; give the history as EDN"));
        }
        Ok(Some(pool.text(&name)))
    }

    fn name(&mut self, what: &str) -> Result<&'a [u8], Fault> {
        let at = Json::offset(self);
        match self.string(what)? {
            Cow::Borrowed(name) => Ok(name.as_bytes()),
            Cow::Owned(_) => Err(Fault::expected(at, format_args!("{what} without escapes"))),
        }
    }

    #[inline]
    fn value(&mut self, pool: &mut Pool) -> Result<Value, Fault> {
        Json::value(self, pool)
    }

    #[inline]
    fn eat_nil(&mut self) -> Result<bool, Fault> {
        Ok(self.eat_null())
    }

    fn skip_value(&mut self) -> Result<(), Fault> {
        Json::skip_value(self)
    }

    #[inline]
    fn integer_or_skip(&mut self) -> Result<Option<i64>, Fault> {
        if self.peek()? != json::JsonKind::Number {
            return Json::skip_value(self).map(|()| None);
        }
        match self.number()? {
            json::Number::Int(i) => Ok(i64::try_from(i).ok()),
            json::Number::Float(_) => Ok(None),
        }
    }
}
