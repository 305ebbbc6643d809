//! One kind of fault, and how it is written: `kill`, `kill:every=2s`, `isolate:node=n2:at=5s:for=3s`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use isolde_target::Mishap;

/// What goes wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// Something happens to a server, and is mended after a while.
    Node(Mishap),
    /// The connection of one session breaks.
    Drop,
    /// Connections are slow, each by a time of its own.
    Latency,
}

impl What {
    /// Everything that can go wrong.
    pub const ALL: [What; 6] = [
        What::Node(Mishap::Pause),
        What::Node(Mishap::Kill),
        What::Node(Mishap::Stop),
        What::Node(Mishap::Isolate),
        What::Drop,
        What::Latency,
    ];

    /// The name on the command line and in histories.
    pub const fn name(self) -> &'static str {
        match self {
            What::Node(mishap) => mishap.name(),
            What::Drop => "drop",
            What::Latency => "latency",
        }
    }

    /// What has that name. To freeze is to pause.
    pub fn named(name: &str) -> Option<What> {
        let name = if name == "freeze" { "pause" } else { name };
        What::ALL.into_iter().find(|what| what.name() == name)
    }
}

/// When it happens, counted from the beginning of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// Once.
    At(Duration),
    /// Again and again, at fixed times.
    Every(Duration),
    /// Again and again, at random times: so far apart on average.
    About(Duration),
}

/// A fault that the user asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// What goes wrong.
    pub what: What,
    /// When.
    pub when: When,
    /// How long it lasts; of no meaning for a connection that breaks.
    pub lasts: Duration,
    /// The node to which it happens; one at random, each time, if not given.
    pub node: Option<String>,
    /// By how much connections are slower, at most.
    pub by: Duration,
}

impl Fault {
    /// The fault as it is if nothing else is said of it.
    pub fn new(what: What) -> Fault {
        let ms = Duration::from_millis;
        let (when, lasts) = match what {
            What::Node(Mishap::Pause) => (When::About(ms(3000)), ms(1000)),
            What::Node(Mishap::Kill) => (When::About(ms(3000)), ms(300)),
            What::Node(Mishap::Stop) => (When::About(ms(5000)), ms(2000)),
            What::Node(Mishap::Isolate) => (When::About(ms(8000)), ms(5000)),
            What::Drop => (When::About(ms(300)), Duration::ZERO),
            What::Latency => (When::At(Duration::ZERO), Duration::MAX),
        };
        Fault { what, when, lasts, node: None, by: ms(5) }
    }

    /// Whether it kills a server, so that what is not on disk is gone.
    pub fn kills(&self) -> bool {
        matches!(self.what, What::Node(Mishap::Kill | Mishap::Stop))
    }

    /// Whether connections have to go through a relay.
    pub fn needs_relay(&self) -> bool {
        matches!(self.what, What::Drop | What::Latency)
    }

    /// Whether nodes have to be apart.
    pub fn needs_networks(&self) -> bool {
        self.what == What::Node(Mishap::Isolate)
    }
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Fault, String> {
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let what = What::named(name).ok_or_else(|| {
            let names: Vec<&str> = What::ALL.iter().map(|what| what.name()).collect();
            format!("there is no fault '{name}'; there are {}", names.join(", "))
        })?;
        let mut fault = Fault::new(what);
        let mut said: Vec<&str> = Vec::new();
        for part in parts {
            let unknown =
                || format!("expected at=, every=, about=, for=, node= or by=, found '{part}'");
            let (name, value) = part.split_once('=').ok_or_else(unknown)?;
            // What would be ignored in silence is refused.
            let of_nodes = matches!(what, What::Node(_));
            let means_nothing = match name {
                "node" => !of_nodes,
                "for" => what == What::Drop,
                "by" => what != What::Latency,
                _ => false,
            };
            if means_nothing {
                return Err(format!("{name}= means nothing for {}", what.name()));
            }
            let kind = if matches!(name, "at" | "every" | "about") { "when" } else { name };
            if said.contains(&kind) {
                return Err(format!("'{part}': that was said before"));
            }
            said.push(kind);
            match name {
                "at" => fault.when = When::At(time(value)?),
                "every" => fault.when = When::Every(often(value)?),
                "about" => fault.when = When::About(often(value)?),
                "for" => fault.lasts = time(value)?,
                "by" => fault.by = time(value)?,
                "node" => fault.node = Some(value.to_owned()),
                _ => return Err(unknown()),
            }
        }
        Ok(fault)
    }
}

/// A time as people type it: a number and `ms`, `s`, `m` or `h`; seconds if there is no unit.
pub fn time(text: &str) -> Result<Duration, String> {
    let wrong = || format!("expected a time such as 500ms or 2s, found '{text}'");
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(wrong()),
    };
    let seconds = digits.parse::<f64>().ok().map(|number| number * unit);
    let seconds = seconds.filter(|s| (0.0..1e9).contains(s)).ok_or_else(wrong)?;
    Ok(Duration::from_secs_f64(seconds))
}

/// A time between two faults: not so short that there is nothing between them.
fn often(text: &str) -> Result<Duration, String> {
    let time = time(text)?;
    if time < Duration::from_millis(1) {
        return Err(format!("expected at least 1ms, found '{text}'"));
    }
    Ok(time)
}

/// A time as it is written.
fn spoken(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds >= 1.0 { format!("{seconds}s") } else { format!("{}ms", seconds * 1000.0) }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.what.name())?;
        match self.when {
            When::At(time) => write!(f, ":at={}", spoken(time))?,
            When::Every(time) => write!(f, ":every={}", spoken(time))?,
            When::About(time) => write!(f, ":about={}", spoken(time))?,
        }
        if !matches!(self.what, What::Drop) && self.lasts < Duration::MAX {
            write!(f, ":for={}", spoken(self.lasts))?;
        }
        if let Some(node) = &self.node {
            write!(f, ":node={node}")?;
        }
        if self.what == What::Latency {
            write!(f, ":by={}", spoken(self.by))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let fault: Fault = text.parse().unwrap();
        assert_eq!(fault.to_string(), expect);
        assert_eq!(expect.parse(), Ok(fault), "what is printed is accepted back");
    }

    #[test]
    fn faults_are_written_with_what_is_said_of_them() {
        check("kill", "kill:about=3s:for=300ms");
        check("kill:every=2s", "kill:every=2s:for=300ms");
        check("freeze:at=1.5s:for=4s:node=n2", "pause:at=1.5s:for=4s:node=n2");
        check("isolate:node=n3", "isolate:about=8s:for=5s:node=n3");
        check("drop:every=50ms", "drop:every=50ms");
        check("latency:by=20ms", "latency:at=0ms:by=20ms");
    }

    #[test]
    fn what_is_no_fault_is_refused() {
        for wrong in [
            "",
            "explode",
            "kill:",
            "kill:now",
            "kill:every",
            "kill:every=",
            "kill:every=0s",
            "kill:every=-1s",
            "kill:for=1y",
            "kill:at=1e99s",
            "kill:when=1s",
            "kill:for=é",
            "kill:for=NaN",
        ] {
            assert!(wrong.parse::<Fault>().is_err(), "{wrong}");
        }
    }
}
