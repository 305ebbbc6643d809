//! Built-in files, damaged at random: profiles or an error with a place, and never a panic.

use proptest::prelude::{Strategy, any, prop_assert, proptest};
use proptest::{collection, sample};

use super::super::Profile;
use super::super::builtin::FILES;

/// What is put in: pieces of TOML, of which some change what follows, and characters of several bytes.
const PIECES: [&str; 20] = [
    "\"",
    "'",
    "\"\"\"",
    "[",
    "]",
    "[[level]]\n",
    "[[",
    "{",
    "}",
    "=",
    ",",
    "\n",
    "#",
    ".",
    "none",
    "server = \"X\"\n",
    "-1.5e3",
    "1979-05-27",
    "\u{1F642}",
    "\\u001b",
];

/// One damage: where (as a share of the file), how many bytes go, and what comes instead.
fn damage() -> impl Strategy<Value = (f64, usize, &'static str)> {
    (0.0..1.0, 0..40_usize, sample::select(&PIECES[..]))
}

/// The place, or the next one at which a character begins.
fn boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

proptest! {
    #[test]
    fn damaged_files_are_refused_or_read_but_never_panic(
        file in sample::select(&FILES[..]),
        damages in collection::vec(damage(), 1..6),
        swapped in any::<(u8, u8)>(),
    ) {
        let mut lines: Vec<&str> = file.lines().collect();
        let count = lines.len();
        lines.swap(usize::from(swapped.0) % count, usize::from(swapped.1) % count);
        let mut text = lines.join("\n");
        for (share, gone, piece) in damages {
            let from = boundary(&text, (share * text.len() as f64) as usize);
            let to = boundary(&text, (from + gone).min(text.len()));
            text.replace_range(from..to, piece);
        }
        match Profile::parse(&text) {
            Ok(profiles) => prop_assert!(!profiles.is_empty()),
            Err(error) => {
                let lines: Vec<&str> = text.split('\n').collect();
                prop_assert!((1..=lines.len()).contains(&error.line), "{error}\n{text}");
                let width = lines[error.line - 1].len();
                prop_assert!((1..=width + 1).contains(&error.column), "{error}\n{text}");
            }
        }
    }
}
