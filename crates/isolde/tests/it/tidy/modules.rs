//! Which module of a crate uses which: no two may need each other, and none what stands above it.
//!
//! A module is a file. It uses the module that defines what it names, wherever that is exported
//! again: `use super::X` is a use of the sibling that has `X`. Neither `mod child;` nor a `pub use`
//! is a use, unless the rest of the file names what was exported.

use std::collections::{BTreeMap, BTreeSet};

use super::tokens::{Token, code};

/// A path as it is written, and its line.
type Written<'a> = (Vec<&'a str>, usize);
/// For each module the modules that it uses, with a place where it does.
pub(crate) type Uses = BTreeMap<String, BTreeMap<String, String>>;

/// What a file says: its children, what it imports under which name, and all paths in its code.
#[derive(Default)]
struct Module<'a> {
    file: &'a str,
    children: BTreeSet<&'a str>,
    imports: BTreeMap<&'a str, Vec<&'a str>>,
    paths: Vec<Written<'a>>,
}

/// The modules of a crate by their paths; that of `lib.rs` or `main.rs` is empty.
struct Modules<'a>(BTreeMap<String, Module<'a>>);

/// The uses among the modules of a crate, whose files are given by their paths below `src`.
pub(crate) fn uses(files: &BTreeMap<String, String>) -> Uses {
    let modules = Modules::new(files);
    let mut uses = Uses::new();
    for (name, module) in &modules.0 {
        let of_module = uses.entry(shown(name)).or_default();
        for (path, line) in &module.paths {
            let Some(used) = modules.home(name, path) else { continue };
            if used != *name {
                let place = format!("{}:{line}: {}", module.file, path.join("::"));
                of_module.entry(shown(&used)).or_insert(place);
            }
        }
    }
    uses
}

/// Where each type of a crate is defined, by its name; associated types are no types of their own.
pub(crate) fn types(files: &BTreeMap<String, String>) -> BTreeMap<&str, Vec<String>> {
    let mut types: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for module in Modules::new(files).0.values() {
        let mut depth = 0;
        for pair in code(&files[module.file]).windows(2) {
            match pair[0].text {
                "{" => depth += 1,
                "}" => depth -= 1,
                // Deeper than the file itself there are only associated ones.
                "type" if depth > 0 => (),
                "struct" | "enum" | "trait" | "type" if pair[1].is_word() => {
                    let place = format!("{}:{}", module.file, pair[1].line);
                    types.entry(pair[1].text).or_default().push(place);
                }
                _ => (),
            }
        }
    }
    types
}

/// Each set of modules of which every one needs every other, and the uses that make it so.
pub(crate) fn cycles(uses: &Uses) -> Vec<String> {
    let reached: BTreeMap<&str, _> =
        uses.keys().map(|name| (name.as_str(), reachable(uses, name))).collect();
    let mut told = BTreeSet::new();
    let mut complaints = Vec::new();
    for (name, others) in &reached {
        let back = others.iter().copied().filter(|other| reached[other].contains(name));
        let together: BTreeSet<&str> = back.collect();
        if together.len() < 2 || !told.insert(together.clone()) {
            continue;
        }
        complaints.push(format!("{} modules need each other: {together:?}", together.len()));
        for user in &together {
            let inside = uses[*user].iter().filter(|(used, _)| together.contains(used.as_str()));
            complaints.extend(inside.map(|(used, place)| format!("  {user} -> {used}: {place}")));
        }
    }
    complaints
}

/// The modules to which uses lead from one, itself among them if it is in a cycle.
fn reachable<'a>(uses: &'a Uses, from: &'a str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut open = vec![from];
    while let Some(name) = open.pop() {
        open.extend(uses[name].keys().map(String::as_str).filter(|used| found.insert(*used)));
    }
    found
}

/// Uses of a floor by a lower one. Floors are modules below the root, the lowest first.
pub(crate) fn upward(uses: &Uses, floors: &[&str]) -> Vec<String> {
    let floor = |name: &str| {
        let top = name.split("::").next().unwrap_or_default();
        floors.iter().position(|floor| *floor == top)
    };
    let mut complaints = Vec::new();
    for (user, used_by_it) in uses {
        for (used, place) in used_by_it {
            if floor(user).is_some() && floor(user) < floor(used) {
                complaints.push(format!("{user} stands below {used}: {place}"));
            }
        }
    }
    complaints
}

fn shown(name: &str) -> String {
    if name.is_empty() { "the root".to_owned() } else { name.to_owned() }
}

fn joined(parent: &str, child: &str) -> String {
    if parent.is_empty() { child.to_owned() } else { format!("{parent}::{child}") }
}

impl<'a> Modules<'a> {
    /// Reads the root and, from one `mod` to the next, all that belongs to it.
    fn new(files: &'a BTreeMap<String, String>) -> Modules<'a> {
        let mut modules = BTreeMap::new();
        let mut open = vec![(String::new(), vec!["lib.rs".to_owned(), "main.rs".to_owned()])];
        while let Some((name, places)) = open.pop() {
            let Some((file, text)) = places.iter().find_map(|file| files.get_key_value(file))
            else {
                continue;
            };
            let module = Module::new(file, text);
            for child in &module.children {
                let name = joined(&name, child);
                let place = name.replace("::", "/");
                open.push((name, vec![format!("{place}.rs"), format!("{place}/mod.rs")]));
            }
            modules.insert(name, module);
        }
        Modules(modules)
    }

    /// The module that defines what a path names, if the path is one of this crate and does not
    /// end at a module: what is used of that is said where it is used.
    fn home(&self, from: &str, path: &[&'a str]) -> Option<String> {
        let mut path = path.to_vec();
        let mut at = from.to_owned();
        let mut begins = true;
        // An import that leads to itself would go on for ever.
        for _ in 0..100 {
            let first = *path.first()?;
            let module = self.0.get(&at)?;
            let rest = path.split_off(1);
            match first {
                "crate" => at = String::new(),
                "super" => at = at.rsplit_once("::").map_or("", |(parent, _)| parent).to_owned(),
                "self" => (),
                name => {
                    let child = module.children.contains(name);
                    match module.imports.get(name) {
                        // A function may have the name of its module.
                        Some(import) if (rest.is_empty() || !child) && import[..] != [name] => {
                            path = [import.as_slice(), &rest].concat();
                            begins = true;
                            continue;
                        }
                        _ if child => at = joined(&at, name),
                        _ if begins => return None,
                        _ => return Some(at),
                    }
                }
            }
            begins = false;
            path = rest;
        }
        None
    }
}

impl<'a> Module<'a> {
    fn new(file: &'a str, text: &'a str) -> Module<'a> {
        let mut module = Module { file, ..Module::default() };
        let code = code(text);
        let mut exported = Vec::new();
        let mut words = BTreeSet::new();
        let mut at = 0;
        while at < code.len() {
            let word = code[at].text;
            let begins = at;
            if word == "use" && code[at + 1].text != "<" {
                let length = code[at..].iter().position(|t| t.text == ";").unwrap_or(code.len());
                let public = at > 0 && matches!(code[at - 1].text, "pub" | ")");
                for (path, name) in leaves(&code[at + 1..at + length]) {
                    module.imports.insert(name, path.clone());
                    let written = (path, code[begins].line);
                    if public { exported.push((name, written)) } else { module.paths.push(written) }
                }
                at += length;
            } else if word == "mod" && code.get(at + 2).is_some_and(|t| t.text == ";") {
                module.children.insert(code[at + 1].text);
                at += 2;
            } else if code[at].is_word() {
                if at == 0 || code[at - 1].text != "." {
                    words.insert(word);
                }
                let mut path = vec![word];
                while code.get(at + 1).is_some_and(|t| t.text == "::") && code[at + 2].is_word() {
                    path.push(code[at + 2].text);
                    at += 2;
                }
                if path.len() > 1 {
                    module.paths.push((path, code[begins].line));
                }
            }
            at += 1;
        }
        let named = exported.into_iter().filter(|(name, _)| words.contains(name));
        module.paths.extend(named.map(|(_, written)| written));
        module
    }
}

/// What a `use` imports, from `a::{b, c as d}` each path and the name that it gets here.
fn leaves<'a>(tree: &[Token<'a>]) -> Vec<(Vec<&'a str>, &'a str)> {
    let mut found = Vec::new();
    let mut path: Vec<&str> = Vec::new();
    let mut prefixes = Vec::new();
    let mut name = None;
    let mut tokens = tree.iter().map(|token| token.text).chain([","]);
    while let Some(token) = tokens.next() {
        match token {
            "{" => prefixes.push(path.len()),
            "," | "}" => {
                if path.len() > prefixes.last().copied().unwrap_or(0) {
                    if path.last() == Some(&"self") {
                        path.pop();
                    }
                    found.extend(path.last().map(|last| (path.clone(), name.unwrap_or(*last))));
                }
                if token == "}" {
                    prefixes.pop();
                }
                path.truncate(prefixes.last().copied().unwrap_or(0));
                name = None;
            }
            "as" => name = tokens.next(),
            "::" => (),
            word => path.push(word),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Uses, cycles, types, upward, uses};

    fn sources(files: &[(&str, &str)]) -> BTreeMap<String, String> {
        files.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect()
    }

    fn of(files: &[(&str, &str)]) -> Uses {
        uses(&sources(files))
    }

    #[test]
    fn a_tree_is_no_cycle() {
        let tree = of(&[
            ("lib.rs", "mod a; mod b; mod c; pub use a::A; pub use b::B;"),
            ("a/mod.rs", "mod one; mod two; pub(crate) use two::Two; use one::One; struct A(One);"),
            ("a/one.rs", "use super::Two; use crate::c::{self, C as D}; struct One(Two, D);"),
            ("a/two.rs", "struct Two; #[cfg(test)] mod tests { use super::super::A; }"),
            ("b.rs", "use crate::A; // crate::b::B\nstruct B(A, crate::c::C);"),
            ("c.rs", "use std::fmt; struct C; const TEXT: &str = \"crate::b::B\";"),
        ]);
        assert_eq!(cycles(&tree), [""; 0]);
        let edges = |name: &str| tree[name].keys().cloned().collect::<Vec<_>>().join(" ");
        assert_eq!(edges("the root"), "");
        assert_eq!(edges("a"), "a::one");
        assert_eq!(edges("a::one"), "a::two c");
        assert_eq!(edges("b"), "a c");
    }

    #[test]
    fn modules_that_need_each_other_are_reported() {
        let knot = of(&[
            ("main.rs", "mod a; mod b; mod c; use a::A; pub struct Main(A);"),
            ("a.rs", "use crate::b; struct A(b::B);"),
            ("b.rs", "struct B; fn f() { crate::c::c(); }"),
            ("c.rs", "use super::a::A; fn c() {}"),
        ]);
        let expected = [
            "3 modules need each other: {\"a\", \"b\", \"c\"}",
            "  a -> b: a.rs:1: b::B",
            "  b -> c: b.rs:1: crate::c::c",
            "  c -> a: c.rs:1: super::a::A",
        ];
        assert_eq!(cycles(&knot), expected);
    }

    #[test]
    fn a_parent_and_a_child_that_need_each_other_are_reported() {
        let files = |parent| {
            of(&[
                ("lib.rs", "mod a;"),
                ("a.rs", parent),
                ("a/child.rs", "use super::Thing; pub struct Child(Thing);"),
            ])
        };
        assert_eq!(cycles(&files("mod child; pub use child::Child; struct Thing;")), [""; 0]);
        let used = "mod child; pub use child::Child; struct Thing; fn f(_: Child) {}";
        assert_eq!(cycles(&files(used)).len(), 3);
    }

    #[test]
    fn a_lower_floor_that_names_an_upper_one_is_reported() {
        let house = of(&[
            ("lib.rs", "mod low; mod high; mod aside;"),
            ("low.rs", "mod room; use crate::aside::A;"),
            ("low/room.rs", "use crate::high::H;"),
            ("high.rs", "use crate::low::L; struct H;"),
            ("aside.rs", "struct A;"),
        ]);
        let expected = "low::room stands below high: low/room.rs:1: crate::high::H";
        assert_eq!(upward(&house, &["low", "high"]), [expected]);
        assert_eq!(upward(&house, &[]), [""; 0]);
    }

    #[test]
    fn types_are_found_wherever_they_are() {
        let files = sources(&[
            ("lib.rs", "mod a; #[cfg(test)] mod only_a_test; type A = u8; fn f() { enum B {} }"),
            ("a.rs", "struct A;\nimpl T for A { type B = u8; }\ntrait T { type B; }"),
            ("only_a_test.rs", "struct A;"),
        ]);
        let found = types(&files);
        assert_eq!(found["A"], ["lib.rs:1", "a.rs:1"]);
        assert_eq!(found["B"], ["lib.rs:1"]);
        assert_eq!(found.len(), 3);
    }
}
