//! Throwaway servers: started in a fresh folder on a free port of 127.0.0.1, stopped and removed
//! whatever happens. For Unix only.
//!
//! A port is never trusted: a server that is not ours may answer there. So each server gets a random
//! password that only it knows, and says which folder it serves before its first write.

mod apart;
#[cfg(feature = "etcd")]
pub(crate) mod etcd;
mod find;
#[cfg(feature = "mysql")]
pub(crate) mod mariadb;
mod member;
mod place;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
mod running;
mod supervise;

pub(crate) use apart::Apart;
pub(crate) use member::Member;
