//! One line of the log: an operation begins or ends.

/// What happened to an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// A client asked for it.
    Invoke,
    /// It took effect.
    Ok,
    /// It did not take effect.
    Fail,
    /// It is not known whether it took effect.
    Info,
}

impl Phase {
    pub(crate) const fn from_name(name: &[u8]) -> Option<Phase> {
        Some(match name {
            b"invoke" => Phase::Invoke,
            b"ok" => Phase::Ok,
            b"fail" => Phase::Fail,
            b"info" => Phase::Info,
            _ => return None,
        })
    }
}

/// The process that did it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Process {
    /// The log does not say.
    None,
    Client(i64),
    /// The nemesis, say.
    Other,
}

/// What the operation is, by its `:f`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Function {
    None,
    Txn,
    Read,
    Write,
    Cas,
    Acquire,
    Release,
    Init,
    /// Any other; its name stands at [`LogEvent::f_at`].
    Other,
}

impl Function {
    pub(crate) const fn from_name(name: &[u8]) -> Function {
        match name {
            b"txn" => Function::Txn,
            b"read" => Function::Read,
            b"write" => Function::Write,
            b"cas" => Function::Cas,
            b"acquire" => Function::Acquire,
            b"release" => Function::Release,
            b"init" => Function::Init,
            _ => Function::Other,
        }
    }

    pub(crate) const fn is_single(self) -> bool {
        matches!(self, Function::Read | Function::Write | Function::Cas) || self.is_lock()
    }

    /// Whether it is an operation on a mutex.
    pub(crate) const fn is_lock(self) -> bool {
        matches!(self, Function::Acquire | Function::Release)
    }
}

/// One operation map of the log. Its value and its unusual keys stay where they are until it is
/// clear whether they are needed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogEvent {
    /// Where the map stands.
    pub(crate) at: usize,
    pub(crate) phase: Phase,
    pub(crate) process: Process,
    pub(crate) function: Function,
    /// Where the name of the function stands.
    pub(crate) f_at: usize,
    /// Where the value stands, if there is one.
    pub(crate) value_at: Option<usize>,
    pub(crate) index: Option<i64>,
    pub(crate) time: Option<i64>,
    /// Whether the map has keys that are not in this struct.
    pub(crate) extras: bool,
}

impl LogEvent {
    pub(crate) const fn new(at: usize) -> LogEvent {
        LogEvent {
            at,
            phase: Phase::Info,
            process: Process::None,
            function: Function::None,
            f_at: at,
            value_at: None,
            index: None,
            time: None,
            extras: false,
        }
    }
}
