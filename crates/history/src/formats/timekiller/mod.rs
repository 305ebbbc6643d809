//! Stub.

use crate::formats::Format;

pub(crate) static FORMAT: Format = Format {
    name: "timekiller",
    title: "",
    example: "",
    looks_like: |_| false,
    read: |source, _| Err(crate::source::whole(source.name(), "not yet".to_owned())),
    load: None,
    write: None,
};
