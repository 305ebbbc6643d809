//! HTTP, as far as it is needed to be fed and to be asked for metrics.

mod body;
mod request;
mod serve;

pub(crate) use request::{Answer, read_head};
pub(crate) use serve::{Bodies, run};
#[cfg(test)]
pub(crate) use {body::read_body, request::RequestHead};
