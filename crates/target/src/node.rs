//! What can be done to the servers behind a target, other than asking them.

/// What can happen to a server, or to its place in a cluster.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Mishap {
    /// Its processes stop where they are (SIGSTOP), and go on when it is mended.
    Pause,
    /// Its processes are killed (SIGKILL); it is started again when it is mended.
    Kill,
    /// It is asked to stop, and does; it is started again when it is mended.
    Stop,
    /// The other nodes cannot reach it, nor it them; clients can.
    Isolate,
}

impl Mishap {
    /// Every mishap.
    pub const ALL: [Mishap; 4] = [Mishap::Pause, Mishap::Kill, Mishap::Stop, Mishap::Isolate];

    /// The name on the command line and in histories.
    pub const fn name(self) -> &'static str {
        match self {
            Mishap::Pause => "pause",
            Mishap::Kill => "kill",
            Mishap::Stop => "stop",
            Mishap::Isolate => "isolate",
        }
    }
}

/// One server of a target: the only one, or a node of a cluster.
///
/// Every mishap is undone by [`mend`](Node::mend), which returns when the server answers again. Only
/// throwaway servers have nodes: a server that is not ours is never killed.
pub trait Node: Send + Sync {
    /// What it is called, such as `n1`.
    fn name(&self) -> &str;

    /// Whether this can be done to it; if not, why.
    fn can(&self, mishap: Mishap) -> Result<(), String>;

    /// Does it.
    fn harm(&self, mishap: Mishap) -> Result<(), String>;

    /// Undoes whatever was done; waits until the server answers again.
    fn mend(&self) -> Result<(), String>;

    /// From now on it is started again when it ends by itself: a search for crashes goes on after one.
    fn revive(&self) -> Result<(), String> {
        Err(format!("{} is not started again when it ends by itself", self.name()))
    }
}
