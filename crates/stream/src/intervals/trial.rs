use super::breach::Broken;
use isolde_history::LockMode;
use isolde_spec::*;
fn prof(name: &str) -> Profile {
    let pg = Profile {
        server: "PostgreSQL".into(),
        level: "rc".into(),
        promises: Level::ReadCommitted,
        known_by: KnownBy::Runs,
        reads: PlainReads::StatementSnapshot,
        locking_reads: LockingReads::Newest,
        snapshot_at: SnapshotAt::FirstStatement,
        locks: LockScope::Rows,
        modes: LockModes {
            read: LockMode::None,
            update: LockMode::NoKeyUpdate,
            insert: LockMode::Exclusive,
            delete: LockMode::Exclusive,
        },
        savepoints_release_locks: true,
        first_updater_wins: false,
        idle_updates_vanish: false,
        certifier: Certifier::None,
        ending_errors: vec!["*".into()],
    };
    let my = Profile {
        server: "MariaDB".into(),
        modes: LockModes {
            read: LockMode::None,
            update: LockMode::Exclusive,
            insert: LockMode::Exclusive,
            delete: LockMode::Exclusive,
        },
        savepoints_release_locks: false,
        snapshot_at: SnapshotAt::FirstRead,
        idle_updates_vanish: true,
        ending_errors: vec!["1213".into(), "1020".into()],
        ..pg.clone()
    };
    match name {
        "pg-rc" => pg,
        "pg-rr" => Profile {
            reads: PlainReads::TransactionSnapshot,
            locking_reads: LockingReads::Snapshot,
            first_updater_wins: true,
            ..pg
        },
        "pg-ser" => Profile {
            reads: PlainReads::TransactionSnapshot,
            locking_reads: LockingReads::Snapshot,
            first_updater_wins: true,
            certifier: Certifier::Ssi,
            ..pg
        },
        "my-ru" => Profile { reads: PlainReads::Uncommitted, ..my },
        "my-rc" => my,
        "my-rr" => Profile { reads: PlainReads::TransactionSnapshot, ..my },
        "my-rrs" => {
            Profile { reads: PlainReads::TransactionSnapshot, first_updater_wins: true, ..my }
        }
        "my-ser" => Profile {
            reads: PlainReads::Locked,
            modes: LockModes { read: LockMode::Share, ..my.modes },
            certifier: Certifier::Acyclic,
            ..my
        },
        "sq-d" => Profile {
            reads: PlainReads::TransactionSnapshot,
            locks: LockScope::Database,
            snapshot_at: SnapshotAt::FirstStatement,
            first_updater_wins: true,
            certifier: Certifier::Acyclic,
            ending_errors: vec![],
            ..my
        },
        "sq-i" => Profile {
            reads: PlainReads::TransactionSnapshot,
            locks: LockScope::WholeTransactions,
            snapshot_at: SnapshotAt::FirstStatement,
            certifier: Certifier::Acyclic,
            ending_errors: vec![],
            ..my
        },
        _ => panic!(),
    }
}
#[test]
fn trial() {
    let Ok(files) = std::env::var("TRIAL") else { return };
    for entry in files.split(',') {
        let (name, file) = entry.split_once('=').unwrap();
        let input = isolde_history::Input::new(file, std::fs::read(file).unwrap());
        let source = isolde_history::Source::File(input);
        let history =
            isolde_history::Format::named("jsonl").unwrap().load(&source).unwrap().finish();
        let start = std::time::Instant::now();
        let (found, tally) = super::offline::breaches(&history, &prof(name));
        let mut counts = std::collections::BTreeMap::new();
        for b in &found {
            let k = match &b.what {
                Broken::Read { .. } => "read",
                Broken::Own { .. } => "own",
                Broken::Torn { .. } => "torn",
                Broken::Locks { .. } => "locks",
                Broken::BothWrote { .. } => "fuw",
                Broken::Cycle(_) => "cycle",
                Broken::Dangerous { .. } => "ssi",
            };
            *counts.entry(k).or_insert(0) += 1;
        }
        println!(
            "{entry}: {counts:?} all {:?} overlapped {} {:?}",
            tally.all(),
            tally.overlapped,
            start.elapsed()
        );
        for b in found.iter().take(3) {
            println!("    {} {:?}", b.txn.txn().0, b.what);
        }
    }
}
