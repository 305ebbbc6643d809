//! Mini-transactions: one or two reads, up to two writes, each after a read of its key.

use isolde_history::OpKind;

use crate::favour::{Favour, HOT};
use crate::pick::Picker;
use crate::plan::Step;
use crate::random::Random;
use crate::settings::Settings;
use crate::shapes::SHAPES;

/// How mini-transactions are made up.
#[derive(Clone, Debug)]
pub(crate) struct Mini {
    shapes: Picker,
    /// How many rows are hot; 0 if none are.
    hot: u32,
    /// What each shape does: whether it writes, and which of its two keys.
    parts: Vec<Vec<(OpKind, usize)>>,
}

impl Mini {
    pub(crate) fn new(settings: &Settings) -> Result<Mini, String> {
        let favour = settings.favour.map(Favour::of).transpose()?;
        let weight = |name: &str, usual: u32| match favour {
            None => usual,
            Some(favour) => favour.shapes.iter().find(|s| s.0 == name).map_or(0, |s| s.1),
        };
        let weights = SHAPES.iter().map(|s| f64::from(weight(s.name, s.weight)));
        let kind = |writes| if writes { OpKind::Write } else { OpKind::Read };
        let parts = |shape: &crate::Shape| shape.parts().map(|p| (kind(p.writes), p.key)).collect();
        Ok(Mini {
            shapes: Picker::weighted(weights.collect()),
            hot: favour.map_or(0, |f| f.hot_rows(settings.sessions, settings.keys)),
            parts: SHAPES.iter().map(parts).collect(),
        })
    }

    pub(crate) fn fill(&self, picker: &Picker, random: &mut Random, steps: &mut Vec<Step>) {
        let parts = &self.parts[self.shapes.pick(random) as usize];
        let rows = self.rows(picker, random);
        for &(kind, key) in parts {
            steps.push(Step { kind, row: rows[key], choice: random.bits() as u32 });
        }
    }

    /// What x and y are. Hot rows come in pairs, so that transactions which share one of their keys
    /// mostly share both.
    fn rows(&self, picker: &Picker, random: &mut Random) -> [u32; 2] {
        if self.hot > 0 && random.chance(HOT) {
            let x = random.below(u64::from(self.hot)) as u32;
            return [x, x ^ 1];
        }
        let x = picker.pick(random);
        [x, picker.pick_other(x, random)]
    }
}
