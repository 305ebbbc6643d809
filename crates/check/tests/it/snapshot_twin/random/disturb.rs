//! Makes a history wrong: what a server says, or when, is changed here and there.

use super::{Kind, Server, Snap, State};

impl Server {
    /// Changes the evidence, or what was seen.
    pub(super) fn disturb(&mut self) {
        self.runs.retain(|run| !run.stmts.is_empty());
        if self.runs.is_empty() {
            return;
        }
        for _ in 0..self.shape.mutations {
            let (a, b) = (self.pick(self.runs.len()), self.pick(self.runs.len()));
            match self.random.below(16) {
                0..3 => self.swap_snaps(a, b, false),
                3..5 => self.swap_snaps(a, b, true),
                5..8 => self.change_value(a),
                8 => self.change_snap(a),
                9 => {
                    let state = self.runs[a].state;
                    self.runs[a].state = self.runs[b].state;
                    self.runs[b].state = state;
                }
                10 => {
                    let states = [State::Committed, State::Aborted, State::Unknown];
                    self.runs[a].state = states[self.pick(3)];
                }
                11..13 => self.change_time(a),
                13 => {
                    let restart = self.runs[a].restart;
                    self.runs[a].restart = self.runs[b].restart;
                    self.runs[b].restart = restart;
                }
                14 => {
                    let xid = self.runs[a].xid;
                    self.runs[a].xid = self.runs[b].xid.or(xid);
                    self.runs[b].xid = xid.or(self.runs[b].xid);
                }
                _ => {
                    let session = self.runs[a].session;
                    self.runs[a].session = self.runs[b].session;
                    self.runs[b].session = session;
                }
            }
        }
        if self.shape.missing > 0 {
            self.forget();
        }
    }

    fn forget(&mut self) {
        for t in 0..self.runs.len() {
            let missing = self.shape.missing;
            let percent =
                if self.runs[t].state == State::Unknown { 5 * missing } else { missing / 4 };
            if self.often(percent) {
                self.runs[t].xid = None;
            }
            if self.often(missing / 4) {
                self.runs[t].snap = None;
            }
            for s in 0..self.runs[t].stmts.len() {
                let writes = self.runs[t].stmts[s].locks
                    || !matches!(self.runs[t].stmts[s].acts[0].kind, Kind::Read | Kind::List);
                if self.often(if writes { 2 * missing } else { missing / 4 }) {
                    self.runs[t].stmts[s].snap = None;
                }
                if self.often(missing) {
                    self.runs[t].stmts[s].begin = None;
                }
                if self.often(missing) {
                    self.runs[t].stmts[s].end = None;
                }
            }
            if self.often(missing) {
                self.runs[t].begin = None;
            }
            if self.often(missing) {
                self.runs[t].sent = None;
            }
        }
    }

    fn snap_of(&mut self, t: usize) -> &mut Option<Snap> {
        if self.shape.by_statement {
            let at = self.pick(self.runs[t].stmts.len());
            &mut self.runs[t].stmts[at].snap
        } else {
            &mut self.runs[t].snap
        }
    }

    fn swap_snaps(&mut self, a: usize, b: usize, copy: bool) {
        let first = self.snap_of(a).clone();
        let second = self.snap_of(b).clone();
        *self.snap_of(a) = second;
        if !copy {
            *self.snap_of(b) = first;
        }
    }

    fn change_snap(&mut self, t: usize) {
        let other = self.pick(self.runs.len());
        let xid = self.runs[other].xid.unwrap_or(self.next_xid);
        let (what, by) = (self.random.below(3), self.random.below(5) as i64 - 2);
        let Some(snap) = self.snap_of(t) else { return };
        match what {
            0 => snap.xmin += by,
            1 => snap.xmax += by,
            _ if snap.xip.contains(&xid) => snap.xip.retain(|x| *x != xid),
            _ => snap.xip.push(xid),
        }
    }

    fn change_value(&mut self, t: usize) {
        let any = self.random.below(self.next_value as u64 + 3) as i64;
        let any = (any > 0).then_some(any - 1);
        let list = self.random.below(4);
        let at = self.pick(self.runs[t].stmts.len());
        let acts = &mut self.runs[t].stmts[at].acts;
        for act in acts {
            act.seen = any;
            match list {
                0 => _ = act.list.pop(),
                1 => act.list.reverse(),
                2 => act.list.extend(any.filter(|a| *a > 0)),
                _ if !act.list.is_empty() => _ = act.list.remove(0),
                _ => {}
            }
        }
    }

    fn change_time(&mut self, t: usize) {
        let by = self.random.below(21) as i64 - 10;
        let at = self.pick(self.runs[t].stmts.len());
        let what = self.random.below(5);
        let run = &mut self.runs[t];
        let time = match what {
            0 => &mut run.begin,
            1 => &mut run.end,
            2 => &mut run.sent,
            3 => &mut run.stmts[at].begin,
            _ => &mut run.stmts[at].end,
        };
        *time = time.map(|at| (at + by).max(0));
    }
}
