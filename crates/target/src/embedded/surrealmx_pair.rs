//! SurrealMX: an engine in memory with optimistic transactions. Two of its versions are targets,
//! one of which is known to lose updates; this is what they share.

/// Makes an engine of a version of the crate, `locks` being whether it has `get_for_update`.
macro_rules! surrealmx_engine {
    ($version:ident, $about:expr, locks: $locks:tt) => {
        /// The database.
        struct SurrealMx($version::Database);

        /// Opens a database in memory.
        pub(crate) fn open(
            _url: Option<&str>,
            _options: &crate::open::OpenOptions,
        ) -> Result<Box<dyn crate::target::Target>, crate::target::OpenError> {
            let engine = SurrealMx($version::Database::new());
            Ok(Box::new(crate::embedded::adapter::Embedded::new(engine)))
        }

        fn fault(error: $version::Error) -> Fault {
            use $version::Error;
            match error {
                Error::KeyReadConflict | Error::KeyWriteConflict => Fault::conflict(error),
                other => Fault::other(other),
            }
        }

        impl Engine for SurrealMx {
            const ABOUT: EngineAbout = $about;

            type Txn = $version::Transaction;

            fn begin(&self, offer: &str) -> Result<Self::Txn, Fault> {
                let txn = self.0.transaction(true);
                Ok(match offer {
                    "snapshot" => txn.with_snapshot_isolation(),
                    _ => txn.with_serializable_snapshot_isolation(),
                })
            }

            fn get(&self, txn: &mut Self::Txn, key: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
                txn.get(key).map(|v| v.map(|v| v.to_vec())).map_err(fault)
            }

            surrealmx_engine!(@locks $locks);

            fn scan(&self, txn: &mut Self::Txn, from: &[u8], to: &[u8]) -> Result<Vec<Pair>, Fault> {
                let pairs = txn.scan(from..to, None, None).map_err(fault)?;
                Ok(pairs.into_iter().map(|(k, v)| (k.to_vec(), v.to_vec())).collect())
            }

            fn put(&self, txn: &mut Self::Txn, key: &[u8], value: &[u8]) -> Result<(), Fault> {
                txn.set(key, value).map_err(fault)
            }

            fn delete(&self, txn: &mut Self::Txn, key: &[u8]) -> Result<(), Fault> {
                txn.del(key).map_err(fault)
            }

            fn commit(&self, mut txn: Self::Txn) -> Result<(), Fault> {
                txn.commit().map_err(fault)
            }

            fn rollback(&self, mut txn: Self::Txn) -> Result<(), Fault> {
                txn.cancel().map_err(fault)
            }
        }
    };
    (@locks true) => {
        fn get_for_update(&self, txn: &mut Self::Txn, key: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
            txn.get_for_update(key).map(|v| v.map(|v| v.to_vec())).map_err(fault)
        }
    };
    (@locks false) => {};
}

pub(super) use surrealmx_engine;
