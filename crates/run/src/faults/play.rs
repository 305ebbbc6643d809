//! Does what the plan says, while the sessions run, and undoes it.

use std::sync::mpsc::SyncSender;
use std::time::Duration;

use isolde_target::{After, Failure, Node, Target};

use super::fault::{Fault, What};
use super::happened::Happened;
use super::plan::Plan;
use crate::clock::RunClock;
use crate::note::Note;
use crate::tally::Tally;

/// How often we look whether the run is over.
const NAP: Duration = Duration::from_millis(5);

/// Whether a target can have these faults; if not, why.
pub(crate) fn check(target: &dyn Target, faults: &[Fault]) -> Result<(), String> {
    for fault in faults {
        let name = fault.what.name();
        match fault.what {
            What::Node(mishap) => {
                let nodes = target.nodes();
                if nodes.is_empty() {
                    return Err(format!(
                        "'{name}' can only happen to a throwaway server, and {} is none",
                        target.name()
                    ));
                }
                for node in chosen(&nodes, fault)? {
                    let why = |why| format!("'{name}' cannot happen to {}: {why}", node.name());
                    node.can(mishap).map_err(why)?;
                }
            }
            What::Drop | What::Latency if target.relay().is_none() => {
                return Err(format!("'{name}' needs connections, and {} has none", target.name()));
            }
            What::Drop | What::Latency => {}
        }
    }
    Ok(())
}

/// The nodes to which a fault may happen.
fn chosen<'n>(nodes: &[&'n dyn Node], fault: &Fault) -> Result<Vec<&'n dyn Node>, String> {
    let Some(name) = &fault.node else { return Ok(nodes.to_vec()) };
    match nodes.iter().find(|node| node.name() == name) {
        Some(node) => Ok(vec![*node]),
        None => {
            let names: Vec<&str> = nodes.iter().map(|node| node.name()).collect();
            Err(format!("there is no node '{name}'; there are {}", names.join(", ")))
        }
    }
}

/// What makes faults happen.
pub(crate) struct Mischief<'r> {
    pub(crate) target: &'r dyn Target,
    pub(crate) faults: &'r [Fault],
    pub(crate) seed: u64,
    pub(crate) sessions: u32,
    pub(crate) clock: RunClock,
    pub(crate) tally: &'r Tally,
    pub(crate) record: SyncSender<Note>,
}

impl Mischief<'_> {
    /// Goes on until the run is over; then everything is mended.
    pub(crate) fn play(self) -> Vec<Happened> {
        let mut plan = Plan::new(self.faults, self.seed);
        let mut all = Vec::new();
        while let Some((number, time)) = plan.next() {
            if !self.wait_until(time) {
                break;
            }
            let Some(fault) = self.faults.get(number) else { break };
            let happened = match fault.what {
                What::Node(_) => self.harm(fault, number, &mut plan),
                What::Drop => self.cut(number, &mut plan),
                What::Latency => self.slow(fault, number, &mut plan),
            };
            plan.happened(number, self.clock.elapsed());
            if let Some(event) = happened {
                // The recorder is gone only if it failed, which ends the run anyway.
                let _ = self.record.send(Note::Happened(event.clone()));
                all.push(event);
            }
        }
        all
    }

    /// Whether the time came before the end of the run.
    fn wait_until(&self, time: Duration) -> bool {
        loop {
            if self.tally.is_over() {
                return false;
            }
            match time.checked_sub(self.clock.elapsed()) {
                None | Some(Duration::ZERO) => return true,
                Some(left) => std::thread::sleep(left.min(NAP)),
            }
        }
    }

    /// Something happens to a server, and is mended after a while, or when the run is over.
    fn harm(&self, fault: &Fault, number: usize, plan: &mut Plan) -> Option<Happened> {
        let What::Node(mishap) = fault.what else { return None };
        let nodes = chosen(&self.target.nodes(), fault).unwrap_or_default();
        let node = *nodes.get(plan.below(number, nodes.len()))?;
        let begin = self.clock.now();
        let done = node.harm(mishap);
        if done.is_ok() {
            self.wait_until(self.clock.elapsed().saturating_add(fault.lasts));
        }
        let mended = node.mend();
        for error in done.err().into_iter().chain(mended.err()) {
            let message = format!("{} of {}: {error}", mishap.name(), node.name());
            self.tally.trouble(&Failure::new(After::Lost, Happened::CODE, message));
        }
        let end = Some(self.clock.now());
        Some(Happened { name: mishap.name(), to: node.name().to_owned(), begin, end })
    }

    /// The connection of one session breaks.
    fn cut(&self, number: usize, plan: &mut Plan) -> Option<Happened> {
        let client = plan.below(number, self.sessions as usize) as u32;
        let begin = self.clock.now();
        // One that is just connecting has none.
        let count = self.target.relay()?.cut(client);
        let to = format!("session {client}");
        (count > 0).then_some(Happened { name: What::Drop.name(), to, begin, end: None })
    }

    /// Connections are slow, each by a time of its own, for a while or until the end.
    fn slow(&self, fault: &Fault, number: usize, plan: &mut Plan) -> Option<Happened> {
        let relay = self.target.relay()?;
        let begin = self.clock.now();
        for client in 0..self.sessions {
            let by = fault.by.mul_f64(plan.below(number, 1001) as f64 / 1000.0);
            relay.delay(client, by);
        }
        let (name, to) = (What::Latency.name(), format!("all sessions, up to {:?}", fault.by));
        if fault.lasts == Duration::MAX {
            return Some(Happened { name, to, begin, end: None });
        }
        self.wait_until(self.clock.elapsed().saturating_add(fault.lasts));
        (0..self.sessions).for_each(|client| relay.delay(client, Duration::ZERO));
        Some(Happened { name, to, begin, end: Some(self.clock.now()) })
    }
}
