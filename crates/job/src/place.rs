//! Where a run takes place and what runs there: all that a report or a record says of it.

use isolde_history::{Sink, info};
use isolde_run::Fault;
use isolde_target::{Offer, Target, Throwaway};
use isolde_workload::{Settings, Workload};
use serde_json::{Value, json};

use crate::command_line::CommandLine;

/// A database as it was opened, and what runs on it.
#[derive(Clone, Debug)]
pub struct Place {
    /// The database system.
    pub database: String,
    /// Its version, as it says itself.
    pub version: String,
    /// Settings that matter, and where it runs.
    pub facts: Vec<(String, String)>,
    /// The database's own level.
    pub offer: Offer,
    /// The throwaway server, if it is one.
    pub throwaway: Option<Throwaway>,
    /// The workload, with the seed of the first run.
    pub settings: Settings,
    /// What goes wrong on purpose.
    pub faults: Vec<Fault>,
    /// What was typed, if anything was.
    pub command: Option<CommandLine>,
}

impl Place {
    pub(crate) fn of(target: &dyn Target, offer: Offer, settings: Settings) -> Place {
        Place {
            database: target.name().to_owned(),
            version: target.version().to_owned(),
            facts: target.facts(),
            offer,
            throwaway: target.throwaway(),
            settings,
            faults: Vec::new(),
            command: None,
        }
    }

    /// Writes into the record what ran where.
    pub(crate) fn describe(&self, workload: &Workload, tape: &mut dyn Sink) {
        let pool = tape.pool();
        let settings = workload.settings();
        let mut facts = vec![
            (info::SERVER.to_owned(), pool.text(&self.database)),
            (info::VERSION.to_owned(), pool.text(&self.version)),
            (info::LEVEL.to_owned(), pool.text(self.offer.name)),
            ("promises".to_owned(), pool.text(self.offer.promises.name())),
            (
                info::SEED.to_owned(),
                match i64::try_from(settings.seed) {
                    Ok(seed) => pool.int(seed),
                    Err(_) => pool.text(&settings.seed.to_string()),
                },
            ),
        ];
        if let Some(command) = &self.command {
            facts.push(("command".to_owned(), pool.text(&command.typed())));
        }
        for (name, fact) in &self.facts {
            facts.push((name.clone(), pool.text(fact)));
        }
        let row: Vec<_> = parameters(settings)
            .iter()
            .map(|(name, value)| (pool.text(name), pool.text(value)))
            .collect();
        facts.push((info::PARAMETERS.to_owned(), pool.row(&row)));
        if self.has_faults() {
            facts.push(("faults".to_owned(), pool.text(&self.faults_typed())));
        }
        for (name, value) in facts {
            let name = tape.pool().text(&name);
            tape.meta().set(name, value);
        }
    }

    /// One line that says where it ran.
    pub fn line(&self) -> String {
        let (name, version) = (self.database.as_str(), self.version.as_str());
        let (offer, promises) = (self.offer.name, self.offer.promises);
        format!("{name} {version}, {offer} (promises {promises})")
    }

    /// Whether something goes wrong on purpose.
    pub fn has_faults(&self) -> bool {
        !self.faults.is_empty()
    }

    /// What goes wrong on purpose, as it can be typed.
    fn faults_typed(&self) -> String {
        let faults: Vec<String> = self.faults.iter().map(ToString::to_string).collect();
        faults.join(",")
    }

    /// One line that says what ran.
    pub fn workload(&self, seed: u64) -> String {
        let settings = Settings { seed, ..self.settings.clone() };
        let parameters = parameters(&settings);
        let words = parameters.iter().map(|(name, value)| match *name {
            "workload" => value.clone(),
            _ => format!("{name} {value}"),
        });
        let words: Vec<String> = words.collect();
        words.join(", ")
    }

    /// The same for machines.
    pub fn to_json(&self, seed: u64) -> Value {
        let settings = Settings { seed, ..self.settings.clone() };
        let workload: serde_json::Map<String, Value> =
            parameters(&settings).into_iter().map(|(n, v)| (n.to_owned(), json!(v))).collect();
        let facts: serde_json::Map<String, Value> =
            self.facts.iter().map(|(n, v)| (n.clone(), json!(v))).collect();
        json!({
            "target": {
                "name": self.database.as_str(),
                "version": self.version.as_str(),
                "isolation": self.offer.name,
                "promises": self.offer.promises.name(),
                "facts": facts,
            },
            "workload": workload,
            "seed": seed,
            "command": self.command.as_ref().map(CommandLine::typed),
        })
    }
}

fn parameters(settings: &Settings) -> Vec<(&'static str, String)> {
    let mut all = vec![
        ("workload", settings.kind.name().to_owned()),
        ("sessions", settings.sessions.to_string()),
        ("keys", settings.keys.to_string()),
        ("distribution", settings.distribution.to_string()),
        ("max-txn-len", settings.max_txn_len.to_string()),
    ];
    if let Some(reads) = settings.reads {
        all.push(("reads", reads.to_string()));
    }
    if let Some(anomaly) = settings.favour {
        all.push(("favour", anomaly.to_string()));
    }
    if settings.rollbacks > 0.0 {
        all.push(("rollbacks", settings.rollbacks.to_string()));
    }
    if settings.round > 0 {
        all.push(("round", settings.round.to_string()));
    }
    all.push(("seed", settings.seed.to_string()));
    all
}
