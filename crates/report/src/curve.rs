//! Figures over time.

/// A figure over time.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Its name for machines.
    pub key: &'static str,
    /// What it is, for people.
    pub name: &'static str,
    /// Its values, one for each time.
    pub values: Vec<f64>,
    /// What it must not exceed.
    pub limit: Option<f64>,
}

impl Curve {
    /// The highest value.
    pub(crate) fn most(&self) -> f64 {
        self.values.iter().copied().fold(0.0, f64::max)
    }
}
