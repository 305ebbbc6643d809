//! From a promise to a verdict by the graph of dependencies.

use isolde_history::Key;
use isolde_spec::{Answer, Level, Procedure, Verdict};

use crate::explain::violations::Violations;
use crate::explain::{hunt, local};
use crate::graph::cursor_stability;
use crate::graph::edges::no_edges;
use crate::graph::evidence::NoGraph;
use crate::graph::visibility::Visibility;
use crate::keys::findings::Doubt;
use crate::limits::{Ended, Limit, Limits};
use crate::options::Method;
use crate::order::known::Known;
use crate::question::Question;
use crate::unordered::force;
use crate::unordered::question_graph::QuestionGraph;
use crate::unordered::unordered_key::UnorderedKey;
use crate::unordered::unread::InsideComponents;
use crate::unordered::{choose, cursor_order, serial_try};

/// Decides a level by its graph: of what is known, or with what every explanation must have.
pub(crate) fn decide(
    question: &Question<'_, '_>,
    method: Method,
    why: &str,
) -> Result<Verdict, Ended> {
    let infer = question.options().procedure != Some(Method::Graph);
    let case = ByGraph { question: *question, infer };
    case.decide(method, why).map_err(|limit| {
        let doing = "building the graph of dependencies".to_owned();
        let walked = question.walk().is_ok();
        if walked { Ended { limit, doing } } else { question.evidence.ended_walk(limit) }
    })
}

/// Whether versions of some keys may come in more than one order.
pub(crate) fn order_is_open(question: &Question<'_, '_>) -> Result<bool, Limit> {
    Ok(!question.orders()?.unordered.is_empty() || !divergent(question)?.is_empty())
}

/// Keys of which several transactions read the same version and overwrote it, where that is allowed:
/// which of the new versions comes first is not known. (What was not read may come in any order.)
fn divergent(question: &Question<'_, '_>) -> Result<Vec<Key>, Limit> {
    if question.visibility != Visibility::Prefix {
        return Ok(Vec::new());
    }
    let is_in = |keys: &[Key], key: &Key| keys.binary_search(key).is_ok();
    let (walk, orders) = (question.walk()?, question.orders()?);
    let mut keys: Vec<Key> = walk.divergences.iter().map(|(key, _)| *key).collect();
    keys.retain(|key| !is_in(&orders.unread, key));
    keys.extend(&walk.abridged);
    keys.sort_unstable();
    keys.dedup();
    keys.retain(|key| !is_in(&orders.unordered, key));
    Ok(keys)
}

/// One question, and whether edges that no operation shows may be looked for.
struct ByGraph<'c, 'h> {
    question: Question<'c, 'h>,
    infer: bool,
}

/// Whether a version order explains everything.
enum OrderFound {
    Yes,
    No,
    /// A limit was reached before that was known.
    Ended(Ended),
}

impl<'c, 'h> ByGraph<'c, 'h> {
    fn decide(&self, method: Method, why: &str) -> Result<Verdict, Limit> {
        let question = &self.question;
        let findings = &question.walk()?.findings;
        let mut found = local::violations(question, findings);
        let mut procedure = self.procedure(method, why)?;
        let answer = match self.with_graph(&mut found, &mut procedure) {
            Ok(answer) => answer,
            Err(NoGraph::Limit(limit)) if found.witnesses.is_empty() => return Err(limit),
            Err(why) => {
                procedure.name = "local";
                procedure.why = match why {
                    NoGraph::TooLarge => "the history is too large for one graph".to_owned(),
                    // What is wrong inside transactions is wrong, however far the rest came.
                    NoGraph::Limit(_) => {
                        "a limit was reached before the graph was built".to_owned()
                    }
                };
                Answer::Unknown(procedure.why.clone())
            }
        };
        let violated = !found.witnesses.is_empty();
        let witnesses = std::mem::take(&mut found.witnesses);
        let answer = if violated { Answer::Violated(witnesses) } else { answer };
        let mut notes = local::notes(question, findings);
        notes.extend(question.notes_on_time());
        Ok(Verdict { promise: question.promise, answer, counts: found.counts, notes, procedure })
    }

    /// What the graph says: what is wrong goes to what was found, else the answer comes back.
    fn with_graph(
        &self,
        found: &mut Violations,
        procedure: &mut Procedure,
    ) -> Result<Answer, NoGraph> {
        let question = &self.question;
        // A serial execution that explains everything makes it needless to look for more edges.
        if found.witnesses.is_empty() && self.may_be_serial()? {
            let graph = question.known_graph()?;
            let open = UnorderedKey::all(question.context(), question.limits(), &self.open()?)?;
            let (context, limits) = (question.context(), question.limits());
            if graph.components.acyclic()
                && let Some(why) = serial_try::found(context, &graph.graph, &open, limits)?
            {
                procedure.why = why.to_owned();
                describe(procedure, &QuestionGraph::known(graph), &Violations::default());
                return Ok(Answer::Holds);
            }
        }
        let graph = self.graph()?;
        let cycles = hunt::cycles(question, &graph)?;
        describe(procedure, &graph, &cycles);
        if graph.inferences.is_some() && question.options().procedure.is_none() {
            procedure.name = Method::Saturation.name();
            procedure.why =
                format!("version order could not be inferred for {}", keys(self.open_count()?));
        }
        found.append(cycles);
        if found.witnesses.is_empty() { self.without_witness(&graph) } else { Ok(Answer::Holds) }
    }

    /// Whether a serial execution of the graph of what is known would prove the level.
    fn may_be_serial(&self) -> Result<bool, NoGraph> {
        let question = &self.question;
        let ambiguous = |doubt: &Doubt| matches!(doubt, Doubt::AmbiguousRead(_));
        let cursor = question.level() == Level::CursorStability;
        let in_time = question.real_time_is_incomplete().is_none();
        let doubts = &question.walk()?.findings.doubts;
        Ok(self.infer
            && in_time
            && !cursor
            && self.beyond_objects().is_none()
            && doubts.iter().all(ambiguous)
            && order_is_open(question)?)
    }

    // ---- the graph ----

    /// The graph of everything that is known, or that every explanation must have.
    fn graph(&self) -> Result<QuestionGraph<'c>, NoGraph> {
        let question = &self.question;
        if question.level() == Level::CursorStability {
            let context = question.context();
            let updates = cursor_stability::edges(context);
            let edges: Vec<_> = updates.iter().collect();
            let parts = question.evidence.graph(context.txn_count(), &edges)?;
            let keys = &question.orders()?.unordered;
            let open = UnorderedKey::all(context, question.limits(), keys)?;
            return Ok(QuestionGraph { open, ..QuestionGraph::own(parts) });
        }
        let known = question.known_graph()?;
        if !self.infer {
            return Ok(QuestionGraph::known(known));
        }
        if order_is_open(question)? {
            return self.saturated();
        }
        let unread = &question.orders()?.unread;
        if question.visibility == Visibility::Snapshot
            && !unread.is_empty()
            && !known.components.acyclic()
        {
            let (context, limits) = (question.context(), question.limits());
            let inside = InsideComponents::new(context, limits, known, unread)?;
            return match inside {
                Some(inside) => self.with_unread(inside),
                None => Ok(QuestionGraph::known(known)),
            };
        }
        Ok(QuestionGraph::known(known))
    }

    /// With the edges that follow from reads of keys whose order is not known.
    fn saturated(&self) -> Result<QuestionGraph<'c>, NoGraph> {
        let question = &self.question;
        let (context, limits) = (question.context(), question.limits());
        let open = UnorderedKey::all(context, limits, &self.open()?)?;
        let (nodes, known) = question.known_edges()?;
        let mut forced = no_edges(context);
        let (inferences, ended) =
            force::saturate(question.visibility, nodes, &known, &mut forced, &open, self.limits());
        let all: Vec<_> = known.iter().copied().chain([&forced]).collect();
        let parts = question.evidence.graph(nodes, &all)?;
        let inferences = Some(inferences);
        Ok(QuestionGraph { open, inferences, ended, ..QuestionGraph::own(parts) })
    }

    /// With the edges between writers of versions that were not read, inside components.
    fn with_unread(&self, mut inside: InsideComponents) -> Result<QuestionGraph<'c>, NoGraph> {
        let question = &self.question;
        let mut forced = no_edges(question.context());
        let (inferences, ended) = inside.force(&mut forced, self.limits());
        let (nodes, mut edges) = question.known_edges()?;
        edges.push(&forced);
        let parts = question.evidence.graph(nodes, &edges)?;
        let (inside, inferences) = (Some(inside), Some(inferences));
        Ok(QuestionGraph { inside, inferences, ended, ..QuestionGraph::own(parts) })
    }

    /// The limits of the check, and the memory of one search.
    fn limits(&self) -> (&'c Limits<'h>, usize) {
        (self.question.limits(), self.question.options().order_memory)
    }

    /// The keys that need an order.
    fn open(&self) -> Result<Vec<Key>, Limit> {
        let orders = self.question.orders()?;
        let mut keys = orders.unordered.clone();
        if self.question.visibility == Visibility::Snapshot {
            keys.extend(&orders.unread);
        }
        keys.extend(divergent(&self.question)?);
        Ok(keys)
    }

    // ---- when nothing is wrong ----

    fn without_witness(&self, graph: &QuestionGraph<'_>) -> Result<Answer, NoGraph> {
        let question = &self.question;
        let words = question.words();
        if let Some(reason) = self.beyond_objects() {
            return Ok(Answer::Unknown(reason));
        }
        let doubts = &question.walk()?.findings.doubts;
        if let Some(doubt) = doubts.first() {
            if self.replays(graph)? {
                return Ok(Answer::Holds);
            }
            return Ok(Answer::Unknown(words.doubts(doubt, doubts)));
        }
        if let Some(reason) = question.real_time_is_incomplete() {
            return Ok(Answer::Unknown(reason));
        }
        Ok(match self.explained(graph)? {
            OrderFound::Yes => Answer::Holds,
            OrderFound::No => Answer::Unknown(self.explain_order(graph)?),
            OrderFound::Ended(ended) => Answer::Unknown(ended.reason(question.limits().bytes())),
        })
    }

    /// Whether a serial execution explains everything, where only ambiguous reads leave a doubt.
    fn replays(&self, graph: &QuestionGraph<'_>) -> Result<bool, NoGraph> {
        let question = &self.question;
        let ambiguous = |doubt: &Doubt| matches!(doubt, Doubt::AmbiguousRead(_));
        let parts = graph.parts();
        Ok(self.infer
            && question.real_time_is_incomplete().is_none()
            && question.walk()?.findings.doubts.iter().all(ambiguous)
            && parts.components.acyclic()
            && serial_try::succeeds(
                question.context(),
                &parts.graph,
                &graph.open,
                question.limits(),
            )?)
    }

    /// Whether some order of the versions explains everything.
    fn explained(&self, graph: &QuestionGraph<'_>) -> Result<OrderFound, NoGraph> {
        let question = &self.question;
        let (parts, snapshots) = (graph.parts(), question.visibility.snapshots());
        let yes = |yes: bool| if yes { OrderFound::Yes } else { OrderFound::No };
        let found = if let Some(inside) = &graph.inside {
            yes(inside.choice_exists()?)
        } else if !order_is_open(question)? {
            // What was not read may come in the order of the graph, unless that has cycles.
            let unread = question.visibility == Visibility::Snapshot
                && !question.orders()?.unread.is_empty();
            yes(parts.components.acyclic() || !unread || self.infer)
        } else if !self.infer {
            OrderFound::No
        } else if question.level() == Level::CursorStability
            && cursor_order::exists(
                question.context(),
                parts,
                &question.orders()?.unordered,
                question.limits(),
            )?
        {
            OrderFound::Yes
        } else {
            // A serial execution keeps every promise that serializability implies. Without inferred edges
            // it was tried before.
            let inferred = graph.inferences.as_ref().is_some_and(|i| !i.of.is_empty());
            let serial = (inferred || !self.may_be_serial()?)
                && parts.components.acyclic()
                && serial_try::succeeds(
                    question.context(),
                    &parts.graph,
                    &graph.open,
                    question.limits(),
                )?;
            yes(serial || (snapshots && self.snapshots_exist(graph)?))
        };
        Ok(match (found, &graph.ended) {
            (OrderFound::No, Some(ended)) => OrderFound::Ended(ended.clone()),
            (found, _) => found,
        })
    }

    fn snapshots_exist(&self, graph: &QuestionGraph<'_>) -> Result<bool, NoGraph> {
        let question = &self.question;
        let none = no_edges(question.context());
        let visibility = question.visibility;
        let chosen = choose::choose(visibility, &graph.parts().graph, &graph.open, none)?;
        let Some(chosen) = chosen else { return Ok(false) };
        let (nodes, mut edges) = question.known_edges()?;
        edges.push(&chosen);
        let (parts, _held) = question.evidence.graph(nodes, &edges)?;
        Ok(visibility.cyclic(&parts)?.is_empty())
    }

    /// Why sequential consistency is more than a graph can decide, if it is: failed operations have seen
    /// something too.
    fn beyond_objects(&self) -> Option<String> {
        if self.question.level() != Level::Sequential {
            return None;
        }
        let failed = self.question.failed_operation()?;
        let words = self.question.words();
        Some(format!("{} failed, and what it saw is not used", words.place(failed)))
    }

    fn explain_order(&self, graph: &QuestionGraph<'_>) -> Result<String, Limit> {
        let words = self.question.words();
        let open = self.open()?;
        let names: Vec<String> = open.iter().take(3).map(|key| words.key(*key)).collect();
        let more = if open.len() > names.len() { ", ..." } else { "" };
        let cursor = self.question.level() == Level::CursorStability;
        let tried = match &graph.inferences {
            _ if cursor && self.infer => {
                "and neither an order of updates nor a serial execution decide it"
            }
            Some(_) => "and neither forced edges nor a serial execution decide it",
            None => "and the graph of what is known does not decide it",
        };
        Ok(format!(
            "version order could not be inferred for {} ({}{more}), {tried}",
            keys(open.len() as u64),
            names.join(", ")
        ))
    }

    // ---- what ran ----

    /// How many keys have versions that may come in more than one order.
    fn open_count(&self) -> Result<u64, Limit> {
        let orders = self.question.orders()?;
        let open = orders.unordered.len() + orders.unread.len();
        Ok((open + divergent(&self.question)?.len()) as u64)
    }

    fn procedure(&self, method: Method, why: &str) -> Result<Procedure, Limit> {
        let question = &self.question;
        let orders = question.orders()?;
        let ways = Known::WAYS.iter().filter(|(way, _)| orders.known[*way as usize] > 0);
        let ways: Vec<String> = ways
            .map(|(way, words)| format!("{words} ({})", keys(orders.known[*way as usize])))
            .collect();
        let mut evidence = vec!["values".to_owned()];
        if !ways.is_empty() {
            evidence.push(format!("version order: {}", ways.join(", ")));
        }
        if question.session_order {
            evidence.push("session order".to_owned());
        }
        let timed = question.context().history.txns().any(|txn| !txn.interval().is_empty());
        let real_time = question.real_time.filter(|_| timed);
        evidence.extend(real_time.map(|_| "client intervals".to_owned()));
        let why = why.replace("{keys}", &keys(self.open_count()?));
        Ok(question.procedure(method.name(), evidence, why))
    }
}

/// The figures of a graph and of what was looked for in it.
fn describe(procedure: &mut Procedure, graph: &QuestionGraph<'_>, cycles: &Violations) {
    let inferred = graph.inferences.as_ref().map_or(0, |i| i.of.len() as u64);
    procedure.figures.extend([
        ("nodes", graph.parts().graph.node_count() as u64),
        ("edges", graph.parts().graph.edge_count() as u64),
        ("inferred edges", inferred),
    ]);
    procedure.figures.extend(&cycles.figures);
    procedure.places.extend(cycles.places.iter().cloned());
}

fn keys(count: u64) -> String {
    if count == 1 { "1 key".to_owned() } else { format!("{count} keys") }
}
