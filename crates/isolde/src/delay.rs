//! How long a replay holds transactions back.

use std::str::FromStr;
use std::time::Duration;

use isolde_workload::Random;

use crate::typed::duration;

/// How long transactions are held back.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Delay {
    mean: Duration,
    deviation: Duration,
}

impl FromStr for Delay {
    type Err = String;

    fn from_str(text: &str) -> Result<Delay, String> {
        let expected = "expected normal:MEAN,DEVIATION or fixed:TIME, such as normal:100ms,10ms";
        match text.split_once(':') {
            Some(("fixed", time)) => Ok(Delay { mean: duration(time)?, deviation: Duration::ZERO }),
            Some(("normal", times)) => {
                let (mean, deviation) = times.split_once(',').ok_or(expected)?;
                Ok(Delay { mean: duration(mean)?, deviation: duration(deviation)? })
            }
            _ => Err(expected.to_owned()),
        }
    }
}

impl Delay {
    /// One delay in seconds, never less than nothing. The sum of twelve even numbers is as good as normal here, and takes no function
    /// that differs from machine to machine.
    pub(crate) fn pick(self, random: &mut Random) -> f64 {
        let even = |random: &mut Random| (random.bits() >> 11) as f64 / (1u64 << 53) as f64;
        let normal = (0..12).map(|_| even(random)).sum::<f64>() - 6.0;
        (self.mean.as_secs_f64() + normal * self.deviation.as_secs_f64()).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_as_people_type_them() {
        let read = |text: &str| text.parse::<Delay>().ok();
        let ms = Duration::from_millis;
        assert_eq!(read("fixed:100ms"), Some(Delay { mean: ms(100), deviation: ms(0) }));
        assert_eq!(read("normal:1s,5ms"), Some(Delay { mean: ms(1000), deviation: ms(5) }));
        for wrong in ["", "100ms", "normal:100ms", "fixed:", "even:1s", "normal:-1s,1s"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
