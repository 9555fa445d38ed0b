//! Seeded random numbers: the same seed gives the same numbers on every machine and in every version.

/// A stream of random numbers: SplitMix64 (Steele, Lea and Flood 2014), whose constants these are.
#[derive(Clone, Debug)]
pub(crate) struct Chance {
    state: u64,
}

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The stream of one of several trials.
    pub(crate) fn of_trial(seed: u64, trial: u64) -> Self {
        Self::new(trial_seed(seed, trial))
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// A number below `count`. For counts below 2³² the probabilities differ by at most one part in 2³².
    pub(crate) fn below(&mut self, count: usize) -> usize {
        ((u128::from(self.next()) * count as u128) >> 64) as usize
    }

    /// Uniform on [0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// From the standard normal distribution, by Box and Muller's method.
    pub(crate) fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.unit()).ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Puts items in random order.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// Draws `wanted` of the numbers below `count` without replacement, in ascending order; all of them if there are not more.
    pub(crate) fn sample(&mut self, count: usize, wanted: usize) -> Vec<usize> {
        let mut chosen: Vec<usize> = (0..count).collect();
        for at in 0..wanted.min(count) {
            let other = at + self.below(count - at);
            chosen.swap(at, other);
        }
        chosen.truncate(wanted);
        chosen.sort_unstable();
        chosen
    }
}

/// A different seed for each trial. The factor, 2³² divided by the golden ratio, keeps the seeds of neighbouring runs apart.
pub(crate) fn trial_seed(seed: u64, trial: u64) -> u64 {
    seed.wrapping_mul(0x9E37_79B9).wrapping_add(trial)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_is_fair_and_repeats() {
        let mut counts = [0; 7];
        let mut chance = Chance::new(1);
        (0..70_000).for_each(|_| counts[chance.below(7)] += 1);
        assert!(counts.iter().all(|count| (9_600..10_400).contains(count)), "{counts:?}");
        let normals: Vec<f64> = (0..70_000).map(|_| chance.normal()).collect();
        assert!(moment(&normals, 1).abs() < 0.015);
        assert!((moment(&normals, 2) - 1.0).abs() < 0.02 && (moment(&normals, 4) - 3.0).abs() < 0.2);
        assert_eq!(Chance::new(5).sample(1000, 10), Chance::new(5).sample(1000, 10));
        assert_ne!(Chance::new(5).sample(1000, 10), Chance::new(6).sample(1000, 10));
        assert_eq!(Chance::new(5).sample(3, 10), [0, 1, 2]);
    }

    fn moment(values: &[f64], power: i32) -> f64 {
        values.iter().map(|value| value.powi(power)).sum::<f64>() / values.len() as f64
    }
}
