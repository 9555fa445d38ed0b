//! Finds the column that a misspelt name probably means.

/// The least similarity of two names for one to be suggested for the other. Chosen, not measured.
const LEAST_SIMILARITY: f64 = 0.6;

/// The most names that are compared letter by letter; each comparison takes time proportional to the product of both
/// lengths. Comparing 10,000 names of 100 letters while they were sorted took 2.4 s (2026-11-18).
const MOST_COMPARED: usize = 300;

/// Letters of a name that are compared.
const MOST_LETTERS: usize = 100;

/// The most similar name, if one is similar enough; the first of equally similar ones.
pub(super) fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = beginning(wanted);
    let letters = Letters::of(&wanted);
    let mut likely: Vec<(f64, &str)> = names
        .map(|name| (letters.shared_with(&Letters::of(&beginning(name))), name))
        .filter(|(share, _)| *share > LEAST_SIMILARITY)
        .collect();
    likely.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    likely.truncate(MOST_COMPARED);
    let compared =
        likely.into_iter().map(|(_, name)| (strsim::normalized_damerau_levenshtein(&wanted, &beginning(name)), name));
    let best = compared.reduce(|best, next| if next.0 > best.0 { next } else { best });
    best.filter(|(similarity, _)| *similarity > LEAST_SIMILARITY).map(|(_, name)| name)
}

/// The first letters of a name, in lower case.
fn beginning(name: &str) -> String {
    name.chars().take(MOST_LETTERS).collect::<String>().to_lowercase()
}

/// How often a name has each letter, by hash. A cheap upper bound on similarity follows from it.
struct Letters {
    counts: [u8; 64],
    length: usize,
}

impl Letters {
    fn of(name: &str) -> Self {
        let mut letters = Self { counts: [0; 64], length: 0 };
        for letter in name.chars() {
            let count = &mut letters.counts[letter as usize % 64];
            *count = count.saturating_add(1);
            letters.length += 1;
        }
        letters
    }

    /// The share of letters that both names have: an upper bound on their similarity.
    fn shared_with(&self, other: &Self) -> f64 {
        let shared: usize = self.counts.iter().zip(&other.counts).map(|(a, b)| usize::from(*a.min(b))).sum();
        shared as f64 / self.length.max(other.length).max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_are_found_and_others_are_not() {
        let names = ["latitude", "longitude", "price", "Price_2020", "sale"];
        for (wanted, expected) in
            [("prce", Some("price")), ("lattitude", Some("latitude")), ("LONGITUDE", Some("longitude")), ("xyz", None)]
        {
            assert_eq!(nearest(wanted, names.into_iter()), expected, "{wanted}");
        }
    }

    /// All of these share most of their letters, so that the limit on comparisons applies.
    #[test]
    fn the_limit_on_comparisons_keeps_the_best_name() {
        let names: Vec<String> = (0..5000).map(|at| format!("{at:04} of the measured averages")).collect();
        let found = nearest("4711 of the measured average", names.iter().map(String::as_str));
        assert_eq!(found, Some("4711 of the measured averages"));
    }

    #[test]
    fn long_names_are_compared_by_their_beginnings() {
        let long = "İ".repeat(500);
        assert_eq!(nearest(&long, [long.as_str(), ""].into_iter()), Some(long.as_str()));
    }
}
