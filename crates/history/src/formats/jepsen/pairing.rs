//! Which completion belongs to which invocation.

use crate::error::Fault;
use crate::formats::jepsen::event::{Function, LogEvent, Phase, Process};
use crate::pool::Pool;
use crate::value::Value;

/// An event and its position in the log, which is its time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed {
    pub(crate) event: LogEvent,
    pub(crate) position: i64,
}

/// Whose transaction it is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Owner {
    Process(i64),
    /// The log does not say: the transaction is alone in its session. The number makes its name.
    Nobody(u64),
}

impl Owner {
    pub(crate) fn session_name(self, pool: &mut Pool) -> Value {
        match self {
            Owner::Process(p) => pool.int(p),
            Owner::Nobody(n) => pool.symbol(&format!("none-{n}")),
        }
    }
}

/// A transaction: how it began and how it ended, as far as the log tells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paired {
    pub(crate) owner: Owner,
    pub(crate) invoke: Option<Placed>,
    pub(crate) completion: Option<Placed>,
}

impl Paired {
    /// The event to blame if something is wrong with the transaction as a whole.
    pub(crate) fn offset(&self) -> usize {
        self.completion.or(self.invoke).map_or(0, |placed| placed.event.at)
    }
}

/// What an event of the log leads to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// The event waits for another one.
    Wait,
    Transaction(Paired),
    /// Something that no client did.
    Other(Placed),
    /// The state before the first transaction.
    Initial(LogEvent),
}

/// Pairs invocations with completions.
#[derive(Default)]
pub(crate) struct Pairing {
    /// The open invocation of each process, by the number of its session.
    pending: Vec<Option<Placed>>,
    /// The open invocation without a process.
    nobody: Option<Placed>,
    nobodies: u64,
    position: i64,
    last_index: Option<i64>,
    /// The first event whose index is not larger than that of the one before.
    pub(crate) disorder: Option<usize>,
    /// The first event without a process.
    pub(crate) unowned: Option<usize>,
    /// The first event that looks like a client's, of a process that is no number.
    pub(crate) unnumbered: Option<usize>,
}

impl Pairing {
    /// Takes the next event of the log.
    #[inline]
    pub(crate) fn next(&mut self, event: LogEvent, pool: &mut Pool) -> Result<Step, Fault> {
        let placed = Placed { event, position: self.position };
        self.position += 1;
        if let Some(index) = event.index {
            if self.last_index.is_some_and(|last| last >= index) {
                self.disorder.get_or_insert(event.at);
            }
            self.last_index = Some(index);
        }
        match event.process {
            Process::Other => {
                // What the nemesis does has names of its own.
                if !matches!(event.function, Function::Other | Function::Init) {
                    self.unnumbered.get_or_insert(event.at);
                }
                Ok(Step::Other(placed))
            }
            Process::Client(process) => {
                let name = pool.int(process);
                let slot = pool.session(name).index();
                if self.pending.len() <= slot {
                    self.pending.resize(slot + 1, None);
                }
                let open = self.pending[slot].take();
                match step(placed, open, Owner::Process(process))? {
                    Some(step) => Ok(step),
                    None => {
                        self.pending[slot] = Some(placed);
                        Ok(Step::Wait)
                    }
                }
            }
            Process::None => self.without_process(placed),
        }
    }

    fn without_process(&mut self, placed: Placed) -> Result<Step, Fault> {
        if placed.event.function != Function::Init {
            self.unowned.get_or_insert(placed.event.at);
        }
        let open = self.nobody.take();
        let Some(step) = step(placed, open, Owner::Nobody(self.nobodies))? else {
            self.nobody = Some(placed);
            return Ok(Step::Wait);
        };
        self.nobodies += 1;
        Ok(step)
    }

    /// What never completed, in the order of invocation.
    pub(crate) fn finish(&mut self, pool: &Pool) -> Vec<Paired> {
        let names = pool.session_names();
        let owned = self.pending.iter().zip(names).filter_map(|(open, name)| {
            let invoke = Some((*open)?);
            let owner = Owner::Process(int_name(pool, *name)?);
            Some(Paired { owner, invoke, completion: None })
        });
        let nobody = self.nobody.map(|placed| Paired {
            owner: Owner::Nobody(self.nobodies),
            invoke: Some(placed),
            completion: None,
        });
        let mut open: Vec<Paired> = owned.chain(nobody).collect();
        open.sort_by_key(|paired| paired.invoke.map(|placed| placed.position));
        open
    }
}

fn int_name(pool: &Pool, name: Value) -> Option<i64> {
    pool.as_wide_int(name).and_then(|i| i64::try_from(i).ok())
}

/// What an event makes of its process's open invocation; `None` if it is an invocation itself.
#[inline]
fn step(placed: Placed, open: Option<Placed>, owner: Owner) -> Result<Option<Step>, Fault> {
    let event = placed.event;
    if event.phase == Phase::Invoke {
        return match open {
            None => Ok(None),
            Some(open) => Err(still_open(event, open.event, owner)),
        };
    }
    if event.function == Function::Init {
        return match event.phase {
            Phase::Ok => Ok(Some(Step::Initial(event))),
            _ => {
                Err(Fault::wrong(event.at, "it is not known whether the initial state was written"))
            }
        };
    }
    Ok(Some(Step::Transaction(Paired { owner, invoke: open, completion: Some(placed) })))
}

#[cold]
fn still_open(event: LogEvent, open: LogEvent, owner: Owner) -> Fault {
    let complaint = match owner {
        Owner::Process(p) => {
            format!("process {p} invokes an operation while its previous one is still open")
        }
        Owner::Nobody(_) => {
            "an operation without a process is invoked while the one before is still open"
                .to_owned()
        }
    };
    let index = open.index.map_or(String::new(), |index| format!(" (index {index})"));
    Fault::wrong(event.at, complaint).hint(format!(
        "the open one stands at byte {}{index}; a completion is the next event of the same process",
        open.at
    ))
}
