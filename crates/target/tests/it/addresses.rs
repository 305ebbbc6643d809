//! Servers by URL: wrong addresses are explained, and nothing of ours stays behind.
#![cfg(all(feature = "postgres", feature = "mysql"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::net::TcpListener;

use isolde_target::{Answer, open};
use mysql::prelude::Queryable;

use crate::common::{alone, options, registers, server, write};

#[track_caller]
fn refused(url: &str, words: &[&str]) {
    let error = open(url, &options()).err().unwrap().to_string();
    for word in words {
        assert!(error.contains(word), "{url}: {error}");
    }
}

/// A port on which nobody listens.
fn nobody() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn addresses_of_postgres_are_explained() {
    let Some(target) = server("postgres") else { return };
    let url = target.throwaway().unwrap().url;
    let (before, after) = url.split_once("@").unwrap();
    let place = after.strip_suffix("/postgres").unwrap();
    refused(&format!("postgres://postgres:wrong@{after}"), &["password", "hint:", place]);
    refused(&format!("{before}@{place}/nowhere"), &["\"nowhere\" does not exist", "createdb"]);
    refused(&format!("{url}?sslmode=require"), &["TLS is not supported"]);
    refused(&format!("{url}?sslcert=x"), &["unknown parameter 'sslcert'"]);
    refused(&format!("postgres://127.0.0.1:{}/x", nobody()), &["cannot connect", "host and port"]);
    // By its URL it is a server like any other, and its own tables are left alone.
    let by_url = open(&url.replace("postgres://", "postgresql://"), &options()).unwrap();
    target.create(&registers(0, 5)).unwrap();
    by_url.create(&registers(0, 5)).unwrap();
    assert_eq!(alone(by_url.as_ref(), "serializable", &write(1, 7)), Answer::Done(true));
    assert!(by_url.throwaway().is_none() && by_url.version().starts_with(char::is_numeric));
    by_url.clean().unwrap();
    assert_eq!(alone(target.as_ref(), "serializable", &write(1, 7)), Answer::Done(true));
    let mut session = by_url.connect(&by_url.offers()[0]).unwrap();
    session.begin().unwrap();
    assert_eq!(session.run(&write(1, 7)).unwrap_err().code, "42P01");
}

#[test]
fn addresses_of_mariadb_are_explained() {
    let Some(target) = server("mariadb") else { return };
    let url = target.throwaway().unwrap().url.replace("mariadb://", "mysql://");
    let (before, after) = url.split_once("@").unwrap();
    let place = after.strip_suffix("/isolde").unwrap();
    refused(&format!("mysql://root:wrong@{after}"), &["Access denied", "hint:", place]);
    refused(&format!("{before}@{place}/nowhere"), &["nowhere", "CREATE DATABASE"]);
    refused(&format!("{before}@{place}"), &["names no database"]);
    refused(&format!("{url}?ssl=1"), &["unknown parameter 'ssl'"]);
    refused(&format!("mysql://127.0.0.1:{}/x", nobody()), &["cannot connect", "host and port"]);
    refused(&url.replace("mysql://", "mariadb-rocksdb://"), &["no storage engine ROCKSDB"]);
    let by_url = open(&url, &options()).unwrap();
    by_url.create(&registers(0, 2500)).unwrap();
    assert_eq!(alone(by_url.as_ref(), "serializable", &write(2499, 7)), Answer::Done(true));
    let mut admin = mysql::Conn::new(mysql::Opts::from_url(&url).unwrap()).unwrap();
    let tables = || admin.query::<String, _>("SHOW TABLES").unwrap();
    let mut tables = tables;
    assert_eq!(tables().len(), 1);
    by_url.clean().unwrap();
    assert!(tables().is_empty());
    // Whoever forgets to clean up leaves nothing either.
    by_url.create(&registers(0, 5)).unwrap();
    drop(by_url);
    assert!(tables().is_empty());
}
