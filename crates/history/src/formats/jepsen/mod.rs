//! Stub.

use crate::formats::Format;

pub(crate) static JEPSEN_EDN: Format = Format {
    name: "jepsen-edn",
    title: "",
    example: "",
    looks_like: |_| false,
    read: |source, _| Err(crate::source::whole(source.name(), "not yet".to_owned())),
    load: None,
    write: None,
};

pub(crate) static JEPSEN_JSON: Format = Format {
    name: "jepsen-json",
    title: "",
    example: "",
    looks_like: |_| false,
    read: |source, _| Err(crate::source::whole(source.name(), "not yet".to_owned())),
    load: None,
    write: None,
};
