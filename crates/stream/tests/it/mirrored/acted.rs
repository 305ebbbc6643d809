//! Sessions against a server that is acted out: traces that can certainly be explained.

use isolde_history::LockMode;
use isolde_spec::Profile;

use super::explained::is_lawful;
use super::script::{Act, End, Event, Held, LIST, Made, MadeOp, MadeStmt, Script};
use super::world::{Acting, Choices, Refused, World};
use crate::made::Random;

/// How large a run is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) sessions: usize,
    pub(crate) txns: usize,
    pub(crate) stmts: u64,
}

/// What a session is about to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    Idle,
    /// BEGIN alone is sent, and answered.
    Begin,
    Send(usize),
    /// The next event of a statement.
    Inside(usize, usize),
    Answer(usize),
    SendEnd,
    Ending,
    AnswerEnd,
}

struct Session {
    next: Next,
    txn: usize,
    /// How often it waited in vain.
    waited: u32,
    /// Whether the server has been told of BEGIN.
    is_begun: bool,
}

/// A run.
pub(crate) struct Acted<'s> {
    acting: Acting<'s>,
    random: Random,
    world: World,
    script: Script,
    sessions: Vec<Session>,
    clock: i64,
    size: Size,
    fresh: i64,
}

/// What a profile leaves open, in one of the ways.
pub(crate) fn any_choices(random: &mut Random, profile: &Profile) -> Choices {
    Choices {
        idle_vanish: profile.idle_updates_vanish && random.chance(50),
        resets: random.chance(50),
        finds_by_snapshot: profile.server == "PostgreSQL" && random.chance(50),
    }
}

/// Acts out a run of a server by its profile.
pub(crate) fn acted(profile: &Profile, seed: u64, size: Size) -> Script {
    let mut random = Random::new(seed);
    let by_column = random.chance(40);
    let first = |random: &mut Random| match random.below(3) {
        0 => Held::Absent,
        _ => Held::Row([0, 0]),
    };
    let initial = [first(&mut random), first(&mut random), Held::Absent];
    let script = Script { by_column, initial, txns: Vec::new() };
    let choices = any_choices(&mut random, profile);
    let acting = Acting { profile, choices, by_column };
    let idle = || Session { next: Next::Idle, txn: 0, waited: 0, is_begun: false };
    let mut act = Acted {
        world: World::new(&script),
        acting,
        random,
        script,
        sessions: (0..size.sessions).map(|_| idle()).collect(),
        clock: 0,
        size,
        fresh: 10,
    };
    for _ in 0..size.txns * 400 {
        if !act.go_on() {
            break;
        }
    }
    act.give_up();
    act.script
}

impl Acted<'_> {
    /// Lets one session do one thing; false if all is done.
    fn go_on(&mut self) -> bool {
        self.clock += self.random.below(3) as i64;
        let session = self.random.below(self.sessions.len() as u64) as usize;
        let txn = self.sessions[session].txn;
        match self.sessions[session].next {
            Next::Idle => {
                if self.script.txns.len() >= self.size.txns {
                    return self.sessions.iter().any(|session| session.next != Next::Idle);
                }
                self.begin(session);
            }
            Next::Begin => {
                if self.event(session, Event::Begin).is_some() {
                    self.script.txns[txn].begun = Some(self.clock);
                    self.sessions[session].is_begun = true;
                    self.sessions[session].next = Next::Send(0);
                }
            }
            Next::Send(stmt) => {
                self.send(session, stmt);
            }
            Next::Inside(stmt, at) => self.inside(session, stmt, at),
            Next::Answer(stmt) => {
                self.script.txns[txn].stmts[stmt].answered = self.clock;
                if self.script.txns[txn].is_alone {
                    self.script.txns[txn].ended = self.clock;
                    self.sessions[session].next = Next::Idle;
                    return true;
                }
                let failed = self.script.txns[txn].fails_at.is_some();
                let last = stmt + 1 >= self.size.stmts as usize || self.random.chance(35);
                let next = if failed || last { Next::SendEnd } else { Next::Send(stmt + 1) };
                self.sessions[session].next = next;
            }
            Next::SendEnd => {
                self.script.txns[txn].end_sent = self.clock;
                self.sessions[session].next = Next::Ending;
            }
            Next::Ending => self.ending(session),
            Next::AnswerEnd => {
                self.script.txns[txn].ended = self.clock;
                self.sessions[session].next = Next::Idle;
            }
        }
        true
    }

    fn begin(&mut self, session: usize) {
        let at = self.script.txns.len();
        self.script.txns.push(Made {
            session,
            began: self.clock,
            begun: None,
            stmts: Vec::new(),
            fails_at: None,
            is_alone: self.random.chance(15),
            end_sent: i64::MAX,
            ended: i64::MAX,
            end: if self.random.chance(12) { End::Aborted } else { End::Committed },
        });
        let txn = &mut self.script.txns[at];
        if txn.is_alone {
            txn.end = End::Committed;
        }
        let begins = !txn.is_alone && self.random.chance(40);
        let next = if begins { Next::Begin } else { Next::Send(0) };
        self.sessions[session] = Session { next, txn: at, waited: 0, is_begun: false };
    }

    fn send(&mut self, session: usize, stmt: usize) {
        let txn = self.sessions[session].txn;
        let made = self.statement(txn);
        self.script.txns[txn].stmts.push(made);
        self.sessions[session].next = Next::Inside(stmt, 0);
    }

    /// A statement that may be refused.
    fn statement(&mut self, txn: usize) -> MadeStmt {
        let random = &mut self.random;
        let modes =
            [LockMode::KeyShare, LockMode::Share, LockMode::NoKeyUpdate, LockMode::Exclusive];
        let lock = match random.below(10) {
            0 => modes[random.below(4) as usize],
            1 => LockMode::Exclusive,
            _ => LockMode::None,
        };
        let count = if random.chance(20) { 2 } else { 1 };
        let mut ops: Vec<MadeOp> = (0..count).map(|_| self.operation(txn)).collect();
        if lock != LockMode::None || count > 1 {
            ops.retain(|op| matches!(op.act, Act::Read(_) | Act::Look));
        }
        if ops.is_empty() {
            let row = self.random.below(3) as usize;
            ops.push(MadeOp { act: Act::Read(row), saw: None, asked: [true; 2] });
        }
        MadeStmt { ops, lock, sent: self.clock, answered: i64::MAX }
    }

    fn operation(&mut self, txn: usize) -> MadeOp {
        let by_column = self.script.by_column;
        let savepoint = self.savepoint(txn);
        let random = &mut self.random;
        let row = random.below(3) as usize;
        self.fresh += 1;
        // A few values come again and again.
        let value = if random.chance(40) { random.below(3) as i64 } else { self.fresh };
        let cells = match random.below(3) {
            0 if by_column => [Some(value), None],
            1 if by_column => [None, Some(value)],
            _ if by_column => [Some(value), Some(value)],
            _ => [Some(value), None],
        };
        let act = match random.below(20) {
            9..=14 if row == LIST => Act::Append(self.fresh),
            9..=14 => Act::Write(row, cells),
            15 if row != LIST => Act::Insert(row, [value, if by_column { value } else { 0 }]),
            16 if row != LIST => Act::Delete(row),
            17 if row != LIST && !by_column => Act::Cas(row, random.below(3) as i64, value),
            8 if !by_column => Act::Look,
            18 => Act::Savepoint(random.below(2) as u8),
            19 if savepoint.is_some() => Act::RollbackTo(savepoint.unwrap_or_default()),
            // 0 to 7, and what does not fit.
            _ => Act::Read(row),
        };
        let asked = match random.below(4) {
            0 => [true, false],
            1 => [false, true],
            _ => [true; 2],
        };
        MadeOp { act, saw: None, asked }
    }

    /// A savepoint that the transaction has, if it has any.
    fn savepoint(&mut self, txn: usize) -> Option<u8> {
        let mut names: Vec<u8> = Vec::new();
        for op in self.script.txns[txn].stmts.iter().flat_map(|stmt| &stmt.ops) {
            match op.act {
                Act::Savepoint(name) => names.push(name),
                Act::RollbackTo(name) => {
                    let at = names.iter().rposition(|own| *own == name).unwrap_or(0);
                    names.truncate(at + 1);
                }
                _ => {}
            }
        }
        let at = self.random.below(names.len() as u64) as usize;
        names.get(at).copied()
    }

    /// Something happens to the transaction of a session; nothing if it has to wait or failed.
    fn event(&mut self, session: usize, event: Event) -> Option<Option<Held>> {
        let no = self.sessions[session].txn;
        let txn = &self.script.txns[no];
        match self.acting.step(&mut self.world, no as u8, txn, event) {
            Ok(seen) => {
                self.sessions[session].waited = 0;
                Some(seen)
            }
            Err(Refused::Blocked) => {
                self.sessions[session].waited += 1;
                None
            }
            Err(Refused::Error) => {
                self.sessions[session].waited = u32::MAX;
                None
            }
        }
    }

    fn inside(&mut self, session: usize, stmt: usize, at: usize) {
        let no = self.sessions[session].txn;
        if !self.sessions[session].is_begun {
            // BEGIN travels with the first statement.
            if self.event(session, Event::Begin).is_some() {
                self.sessions[session].is_begun = true;
            } else if self.sessions[session].waited > 60 {
                self.fail(session, stmt);
            }
            return;
        }
        let event = if at == 0 { Event::Snapshot(stmt) } else { Event::Op(stmt, at - 1) };
        let before = self.world.clone();
        match self.event(session, event) {
            Some(seen) => {
                if at > 0 {
                    let op = &mut self.script.txns[no].stmts[stmt].ops[at - 1];
                    if matches!(op.act, Act::Read(_) | Act::Look) {
                        op.saw = seen;
                    }
                }
                let over = at >= self.script.txns[no].stmts[stmt].ops.len();
                self.sessions[session].next = match over {
                    true if self.script.txns[no].is_alone => Next::Ending,
                    true => Next::Answer(stmt),
                    false => Next::Inside(stmt, at + 1),
                };
            }
            None if self.sessions[session].waited == u32::MAX => {
                self.world = before;
                self.fail(session, stmt);
            }
            None if self.sessions[session].waited > 40 => self.fail(session, stmt),
            None => {}
        }
    }

    /// The server ends the transaction in the middle of a statement.
    fn fail(&mut self, session: usize, stmt: usize) {
        let no = self.sessions[session].txn;
        let txn = &mut self.script.txns[no];
        txn.end = End::Aborted;
        if txn.is_alone {
            (txn.is_alone, txn.end_sent) = (false, self.clock);
        }
        txn.fails_at = Some(stmt);
        txn.stmts[stmt].ops.iter_mut().for_each(|op| op.saw = None);
        super::world::rollback(&mut self.world, no as u8);
        self.sessions[session].next = Next::Answer(stmt);
        self.sessions[session].waited = 0;
    }

    fn ending(&mut self, session: usize) {
        let no = self.sessions[session].txn;
        let failed = self.script.txns[no].fails_at.is_some();
        if self.script.txns[no].is_alone {
            match self.is_refused(no) || self.event(session, Event::End).is_none() {
                true => self.fail(session, 0),
                false => self.sessions[session].next = Next::Answer(0),
            }
            return;
        }
        if self.script.txns[no].end == End::Committed {
            if self.is_refused(no) || self.event(session, Event::End).is_none() {
                // It is refused at COMMIT.
                super::world::rollback(&mut self.world, no as u8);
                self.script.txns[no].end = End::Aborted;
            } else if self.random.chance(8) {
                self.lose_answer(session);
                return;
            }
        } else if !failed {
            super::world::rollback(&mut self.world, no as u8);
        }
        self.sessions[session].next = Next::AnswerEnd;
    }

    /// Whether the certifier does not let it commit.
    fn is_refused(&self, no: usize) -> bool {
        let mut world = self.world.clone();
        let txn = &self.script.txns[no];
        let committed = self.acting.step(&mut world, no as u8, txn, Event::End).is_ok();
        committed && !is_lawful(self.acting.profile, &self.script, &world)
    }

    /// The client never hears of it. From then on the session is another one.
    fn lose_answer(&mut self, session: usize) {
        let no = self.sessions[session].txn;
        self.script.txns[no].end = End::Unknown;
        self.script.txns[no].session += 100 * (no + 1);
        self.sessions[session].next = Next::Idle;
    }

    /// What is under way when the run is over has never been: it did nothing yet that others saw.
    fn give_up(&mut self) {
        let open: Vec<usize> = self
            .sessions
            .iter()
            .filter(|session| session.next != Next::Idle)
            .map(|session| session.txn)
            .collect();
        let mut number = 0;
        self.script.txns.retain(|_| {
            number += 1;
            !open.contains(&(number - 1))
        });
    }
}
