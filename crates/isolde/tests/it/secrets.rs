//! A password is never printed, whatever is misspelt; and it need not be typed.

use std::os::unix::fs::PermissionsExt as _;

use crate::common::{Folder, Ran, has_mariadb, has_postgres};
use crate::throwaway::Kept;

#[test]
fn a_password_is_never_printed_whatever_is_misspelt() {
    let folder = Folder::new("secret");
    for args in [
        ["test", "postgress://u:SECRET@h/x"].as_slice(),
        &["test", "postgres:/u:SECRET@h/x"],
        &["test", "POSTGRES://u:SECRET@127.0.0.1:1/x"],
        &["test", "mysql://u:SECRET@127.0.0.1:1/x"],
        &["test", "postgres://u:SECRET@h:port/x"],
        &["record", "postgress://u:SECRET@h/x", "y.isolde"],
        &["explain", "postgres://u:SECRET@h/x"],
        &["probe", "postgress://u:SECRET@h/x"],
        &["targets", "postgress://u:SECRET@h/x"],
        &["clean", "postgress://u:SECRET@h/x"],
        &["check", "postgres://u:SECRET@h/x"],
        &["postgres://u:SECRET@h/x"],
        &["test", "fjall", "postgres://u:SECRET@h/x"],
        &["test", "fjall", "--seed=postgres://u:SECRET@h/x"],
    ] {
        let ran = folder.isolde(args);
        assert_eq!(ran.code, Some(2), "{args:?}: {ran:#?}");
        assert!(!ran.err.contains("SECRET") && !ran.out.contains("SECRET"), "{args:?}: {ran:#?}");
    }
    let ran = folder.isolde(&["test", "postgress://u:SECRET@h/x"]);
    assert!(ran.err.contains("did you mean postgres?"), "{ran:#?}");
}

/// Runs `isolde targets URL` with variables.
fn targets(folder: &Folder, args: &[&str], variables: &[(&str, &str)]) -> Ran {
    let mut command = folder.command(&[&["targets"], args].concat());
    command.env("HOME", folder.path()).envs(variables.iter().copied());
    Ran::of(&command.output().unwrap())
}

#[test]
fn a_password_need_not_be_typed() {
    let folder = Folder::new("password");
    let file = folder.file("password");
    for (kind, here) in [("postgres", has_postgres()), ("mariadb", has_mariadb())] {
        if !here {
            continue;
        }
        let server = Kept::start(kind);
        let (with, password) = (server.url.as_str(), server.password.as_str());
        let url = with.replace(&format!(":{password}@"), "@");
        let variable = if kind == "postgres" { "PGPASSWORD" } else { "MYSQL_PWD" };
        assert_eq!(targets(&folder, &[&url], &[]).code, Some(2), "{kind} without one");
        let ran = targets(&folder, &[&url], &[(variable, password)]);
        assert_eq!(ran.code, Some(0), "{kind}: {ran:#?}");
        std::fs::write(&file, format!("{password}\n")).unwrap();
        let ran = targets(&folder, &[&url, "--password-file", &file], &[]);
        assert_eq!(ran.code, Some(0), "{kind}: {ran:#?}");
        if kind == "postgres" {
            let pgpass = folder.file(".pgpass");
            std::fs::write(&pgpass, format!("*:*:*:*:{password}\n")).unwrap();
            assert_eq!(targets(&folder, &[&url], &[]).code, Some(2), "a file that all can read");
            std::fs::set_permissions(&pgpass, std::fs::Permissions::from_mode(0o600)).unwrap();
            let ran = targets(&folder, &[&url], &[]);
            assert_eq!(ran.code, Some(0), "{ran:#?}");
            // And nothing at all need be in the URL.
            let at = url.rsplit_once('@').unwrap().1;
            let (host, port) = at.split_once('/').unwrap().0.split_once(':').unwrap();
            let variables = [("PGHOST", host), ("PGPORT", port), ("PGUSER", "postgres")];
            let ran = targets(&folder, &["postgres://"], &variables);
            assert_eq!(ran.code, Some(0), "{ran:#?}");
        }
    }
}
