//! What the tests of the small text formats share.

use crate::builder::HistoryBuilder;
use crate::format::Format;
use crate::history::History;
use crate::notation::to_text;
use crate::source::{Input, Source};

pub(crate) fn source(text: &[u8]) -> Source {
    Source::File(Input::new("file", text))
}

/// The history and the warnings, or the error.
pub(crate) fn shown(format: &Format, text: &str) -> String {
    match format.load(&source(text.as_bytes())) {
        Ok(builder) => shown_builder(builder),
        Err(error) => format!("{error}\n"),
    }
}

pub(crate) fn shown_builder(builder: HistoryBuilder) -> String {
    let (history, warnings) = builder.finish_with_warnings();
    let mut shown = to_text(&history);
    for warning in &warnings.kept {
        shown.push_str(&format!("warning: {warning}\n"));
    }
    shown
}

pub(crate) fn loaded(format: &Format, text: &str) -> History {
    format.load(&source(text.as_bytes())).unwrap().finish()
}

/// Damaged files are read or refused; they never make a reader panic.
pub(crate) fn survives_damage(format: &Format, text: &str) {
    let try_it = |bytes: &[u8]| {
        let source = source(bytes);
        let _ = (format.looks_like)(&source);
        let _ = format.load(&source);
    };
    for end in 0..text.len() {
        try_it(&text.as_bytes()[..end]);
    }
    let mut random = Random(7);
    for _ in 0..3000 {
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len());
            bytes[at] = match random.below(3) {
                0 => random.below(256) as u8,
                1 => b"09(),- \n\r[]RWCA"[random.below(15)],
                _ => bytes[random.below(text.len())],
            };
        }
        try_it(&bytes);
    }
}

/// Neither do files that end early or have one of these bytes in a wrong place.
pub(crate) fn survives_bytes(format: &Format, text: &str, wrong: &[u8]) {
    for end in 0..text.len() {
        for &byte in wrong {
            let mut changed = text.as_bytes().to_vec();
            changed[end] = byte;
            let _ = format.load(&source(&changed));
        }
        let _ = format.load(&source(&text.as_bytes()[..end]));
    }
}

/// No other format's example may be taken for this one.
pub(crate) fn recognises(format: &Format, ours: &[&str]) {
    let others = [
        "r(1,2,3,4)\n",
        "w 0 1\n",
        "R0a C0",
        "WRITE KEY[x] Txn(1, 0)\n",
        "// Session 1\n[x:=1 y:=2] [y==2 x:=3]\n---\n[x==1 y:=4]\n",
        "---\n[x==1]\n",
        "{:process 0, :type :invoke, :f :get, :key \"0\", :value nil}\n",
        "INFO  jepsen.util - 0\t:invoke\t:write\t3\n",
        "[{\"events\":[],\"committed\":true}]",
        "{\"format\":\"isolde\"}\n",
        "a: r(x,0) w(x,1)\n",
        "CREATE TABLE t(a INT)\n",
        "",
        "\n\n",
    ];
    for text in ours {
        assert!((format.looks_like)(&source(text.as_bytes())), "{text:?}");
    }
    for text in others.iter().filter(|text| !ours.contains(text)) {
        assert!(!(format.looks_like)(&source(text.as_bytes())), "{text:?}");
    }
}

/// Numbers that look random and are always the same.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}
