//! Running: concurrent sessions against a database, every outcome exact, everything recorded.
