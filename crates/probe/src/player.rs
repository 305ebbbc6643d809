//! Runs one schedule, step by step.
//!
//! The next step is sent when the one before it was answered, or is known to wait for another session.
//! After each answer the sessions that waited are looked at: one that was let go is waited for, and does
//! at once what it had to put off meanwhile. So the same server brings the same events in the same
//! order.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use isolde_target::{After, Console, Failure, Waiting, Waits};

use crate::actor::{Actor, Answer};
use crate::schedule::{Event, Happened, Played, Schedule, StepTimes};

/// How long to wait for an answer before the first look at which sessions wait.
const FIRST_LOOK: Duration = Duration::from_millis(4);
/// Between two looks. A deadlock is a wait for a moment: one look alone is not believed.
const BETWEEN_LOOKS: Duration = Duration::from_millis(8);
/// So many looks in a row have to agree.
const LOOKS: u32 = 2;
/// After this time a step counts as waiting if the server cannot tell.
const PATIENCE: Duration = Duration::from_millis(400);
/// How long a server may take to end a deadlock before both are left to wait.
const DEADLOCK: Duration = Duration::from_secs(4);

/// What runs schedules.
pub struct Player<'w> {
    /// What tells which sessions wait; without it, [`patience`](Player::patience) does.
    pub waits: Option<&'w mut dyn Waits>,
    /// How long a statement may take before a server that cannot say counts as waiting.
    pub patience: Duration,
    /// How long a statement may take that does not wait. Consoles give up by themselves; this is for
    /// those that do not.
    pub limit: Duration,
    /// How long a session has to wait at least before that is believed; longer gives work in the
    /// background of the server time to let it go.
    pub calm: Duration,
}

impl<'w> Player<'w> {
    /// A player with the usual patience.
    pub fn new(waits: Option<&'w mut dyn Waits>, limit: Duration) -> Player<'w> {
        Player { waits, patience: PATIENCE, limit, calm: Duration::ZERO }
    }

    /// Runs the steps on consoles, one for each of the schedule's sessions in their order.
    pub fn play(
        &mut self,
        schedule: &Schedule,
        consoles: Vec<Box<dyn Console>>,
    ) -> Result<Played, Failure> {
        let mut cast = Cast::new(consoles);
        let played = self.play_by(schedule, &mut cast);
        cast.end(self.limit);
        played
    }

    /// The same by sessions that stay, at least as many as the schedule has.
    pub fn play_by(&mut self, schedule: &Schedule, cast: &mut Cast) -> Result<Played, Failure> {
        let names = schedule.sessions();
        if names.len() > cast.len() {
            let (needed, there) = (names.len(), cast.len());
            let message = format!("{needed} sessions are needed, and there are {there}");
            return Err(Failure::new(After::Lost, "sessions", message));
        }
        let mut stage =
            Stage { player: self, cast, began: Instant::now(), played: Played::default() };
        for (at, step) in schedule.steps.iter().enumerate() {
            let role = names.iter().position(|name| *name == step.session).unwrap_or(0);
            stage.act(role, (at, &step.statement))?;
        }
        Ok(stage.played)
    }
}

/// Sessions that play schedules, one after another.
pub struct Cast {
    actors: Vec<Actor>,
    roles: Vec<Role>,
    answers: Receiver<Answer>,
}

impl Cast {
    /// Each console becomes a session.
    pub fn new(consoles: Vec<Box<dyn Console>>) -> Cast {
        let (tell, answers) = channel();
        let start = |(at, console)| Actor::start(at, console, tell.clone());
        let actors: Vec<Actor> = consoles.into_iter().enumerate().map(start).collect();
        let roles = actors.iter().map(|actor| Role::new(actor.number)).collect();
        Cast { actors, roles, answers }
    }

    /// How many sessions there are.
    pub fn len(&self) -> usize {
        self.actors.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.actors.is_empty()
    }

    /// Whether every session has answered what it was sent. One that has not is of no more use.
    pub fn is_free(&self) -> bool {
        self.roles.iter().all(|role| role.doing.is_none() && !role.silent)
    }

    /// Ends all sessions, the free ones first: that lets go of those that wait for them. A session that
    /// still does not answer is left alone.
    pub fn end(mut self, limit: Duration) {
        let begun = Instant::now();
        let mut actors: Vec<Option<Actor>> =
            std::mem::take(&mut self.actors).into_iter().map(Some).collect();
        loop {
            for (actor, role) in actors.iter_mut().zip(&self.roles) {
                if role.doing.is_none() || role.answered.is_some() {
                    let left = limit.saturating_sub(begun.elapsed());
                    actor.take().into_iter().for_each(|actor| actor.end(left));
                }
            }
            if actors.iter().all(Option::is_none) || begun.elapsed() > limit {
                return;
            }
            self.listen(Duration::from_millis(20));
        }
    }

    /// Takes in the answers of the next while, and returns as soon as there is one.
    fn listen(&mut self, pause: Duration) {
        let mut pause = pause;
        loop {
            match self.answers.recv_timeout(pause) {
                Ok(answer) => {
                    let role = answer.actor;
                    self.roles[role].answered = Some(answer);
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
            }
            pause = Duration::ZERO;
        }
    }
}

/// What is known of a session.
struct Role {
    number: u64,
    /// The step that was sent and is not answered.
    doing: Option<usize>,
    /// The answer to it, if it came while another session was waited for.
    answered: Option<Answer>,
    /// Whether it was said that it waits.
    told: bool,
    /// It never answers.
    silent: bool,
    /// Steps that came up while it waited.
    put_off: VecDeque<(usize, String)>,
}

impl Role {
    fn new(number: u64) -> Role {
        let put_off = VecDeque::new();
        Role { number, doing: None, answered: None, told: false, silent: false, put_off }
    }
}

/// A schedule that is running.
struct Stage<'p, 'w> {
    player: &'p mut Player<'w>,
    cast: &'p mut Cast,
    began: Instant,
    played: Played,
}

impl Stage<'_, '_> {
    /// Does a step now, or later if its session waits.
    fn act(&mut self, role: usize, (step, statement): (usize, &str)) -> Result<(), Failure> {
        if self.cast.roles[role].doing.is_some() {
            self.cast.roles[role].put_off.push_back((step, statement.to_owned()));
            return Ok(());
        }
        self.start(role, (step, statement))?;
        self.go_on()
    }

    /// Sends a step and waits until it is answered or known to wait.
    fn start(&mut self, role: usize, (step, statement): (usize, &str)) -> Result<(), Failure> {
        if self.cast.roles[role].silent || !self.cast.actors[role].send(statement) {
            self.played.events.push(Event { step, happened: Happened::Silent });
            return Ok(());
        }
        self.cast.roles[role].doing = Some(step);
        self.settle(&[role])?;
        if self.cast.roles[role].answered.is_some() {
            self.tell(role);
        } else if !self.cast.roles[role].silent {
            self.cast.roles[role].told = true;
            self.played.events.push(Event { step, happened: Happened::Blocked });
        }
        Ok(())
    }

    /// Lets the sessions go on that wait no longer, the one that waited for the earliest step first.
    fn go_on(&mut self) -> Result<(), Failure> {
        loop {
            let waiting: Vec<usize> = self.those(|role| role.doing.is_some() && !role.silent);
            if waiting.is_empty() {
                return Ok(());
            }
            self.settle(&waiting)?;
            let free = self.those(|role| role.answered.is_some());
            let Some(role) = free.into_iter().min_by_key(|role| self.cast.roles[*role].doing)
            else {
                return Ok(());
            };
            self.tell(role);
            while self.cast.roles[role].doing.is_none()
                && let Some((step, statement)) = self.cast.roles[role].put_off.pop_front()
            {
                self.start(role, (step, &statement))?;
            }
        }
    }

    fn those(&self, which: impl Fn(&Role) -> bool) -> Vec<usize> {
        (0..self.cast.roles.len()).filter(|at| which(&self.cast.roles[*at])).collect()
    }

    /// Notes the answer to what a session does.
    fn tell(&mut self, role: usize) {
        let role = &mut self.cast.roles[role];
        role.told = false;
        if let (Some(step), Some(answer)) = (role.doing.take(), role.answered.take()) {
            let happened = match answer.said {
                Ok(said) => Happened::Answered(said),
                Err(failure) => Happened::Failed(failure),
            };
            self.played.events.push(Event { step, happened });
            let [sent, answered] = [answer.span.0, answer.span.1].map(|time| {
                i64::try_from(time.saturating_duration_since(self.began).as_nanos())
                    .unwrap_or(i64::MAX)
            });
            self.played.times.push(StepTimes { step, sent, answered });
        }
    }

    /// Waits until each of these has an answer or is known to wait. A session of which neither is true
    /// for too long is given up.
    fn settle(&mut self, which: &[usize]) -> Result<(), Failure> {
        let begun = Instant::now();
        let (mut looks, mut pause) = (0, FIRST_LOOK);
        loop {
            self.cast.listen(pause);
            let open = |stage: &Self| -> Vec<usize> {
                let is_open = |at: &&usize| {
                    let role = &stage.cast.roles[**at];
                    role.answered.is_none() && !role.silent
                };
                which.iter().filter(is_open).copied().collect()
            };
            let still = open(self);
            if still.is_empty() {
                return Ok(());
            }
            match self.look()? {
                Some(waiting) if self.all_wait(&still, &waiting) => {
                    let stuck = self.in_circle(&waiting) && begun.elapsed() < DEADLOCK;
                    // The first session that closes a cycle is said to wait; then the cycle has to end.
                    let first = still.iter().any(|at| !self.cast.roles[*at].told);
                    looks = if stuck && !first { 0 } else { looks + 1 };
                }
                Some(_) => looks = 0,
                None if begun.elapsed() >= self.patience(&still) => looks = LOOKS,
                None => {}
            }
            pause = BETWEEN_LOOKS;
            if looks >= LOOKS && begun.elapsed() >= self.player.calm {
                // What was answered between the look and now did not wait.
                self.cast.listen(Duration::ZERO);
                if open(self).len() == still.len() {
                    return Ok(());
                }
                looks = 0;
            }
            if begun.elapsed() > self.player.limit {
                self.give_up(&still);
                return Ok(());
            }
        }
    }

    /// How long to wait where the server cannot say which sessions wait: shorter for those that are
    /// known to.
    fn patience(&self, which: &[usize]) -> Duration {
        let told = which.iter().all(|at| self.cast.roles[*at].told);
        if told { self.player.patience / 3 } else { self.player.patience }
    }

    fn all_wait(&self, which: &[usize], waiting: &[Waiting]) -> bool {
        which.iter().all(|at| waiting.iter().any(|w| w.client == self.cast.roles[*at].number))
    }

    /// Whether some of the sessions that wait do so for each other: the server will end that.
    fn in_circle(&self, waiting: &[Waiting]) -> bool {
        waiting.iter().any(|one| {
            let mut todo = one.behind.clone();
            let mut seen = Vec::new();
            while let Some(client) = todo.pop() {
                if client == one.client {
                    return true;
                }
                if !seen.contains(&client) {
                    seen.push(client);
                    let more = waiting.iter().filter(|w| w.client == client);
                    todo.extend(more.flat_map(|w| w.behind.iter().copied()));
                }
            }
            false
        })
    }

    fn look(&mut self) -> Result<Option<Vec<Waiting>>, Failure> {
        let doing = |role: &&Role| role.doing.is_some() && role.answered.is_none();
        let clients: Vec<u64> =
            self.cast.roles.iter().filter(doing).map(|role| role.number).collect();
        match &mut self.player.waits {
            Some(waits) => waits.waiting(&clients).map(Some),
            None => Ok(None),
        }
    }

    fn give_up(&mut self, which: &[usize]) {
        for at in which {
            let role = &mut self.cast.roles[*at];
            role.silent = true;
            let steps = role.doing.into_iter().chain(role.put_off.drain(..).map(|(step, _)| step));
            let silent = steps.map(|step| Event { step, happened: Happened::Silent });
            self.played.events.extend(silent);
        }
    }
}
