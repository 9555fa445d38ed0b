//! Formats numbers for plots.

/// At most this many significant digits, without trailing zeros: 0.6, 12,350, 1.2e−7.
pub(in crate::report) fn tidy(value: f64, digits: i32) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    // Rounding may carry into the next power of ten (999.96 to 1000), so the exponent is that of the rounded value.
    let rounded = format!("{value:.*e}", (digits - 1).max(0) as usize);
    let (mantissa, exponent) = rounded.split_once('e').unwrap_or((&rounded, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-5..7).contains(&exponent) {
        with_decimals(value, digits - 1 - exponent, true)
    } else {
        signed(&format!("{}e{exponent}", without_idle_zeros(mantissa)))
    }
}

/// This many digits after the decimal point, with thousands separators.
pub(super) fn fixed(value: f64, decimals: i32) -> String {
    with_decimals(value, decimals, false)
}

fn with_decimals(value: f64, decimals: i32, trim: bool) -> String {
    let decimals = decimals.clamp(0, 300) as usize;
    let text = format!("{value:.decimals$}");
    let text = if trim { without_idle_zeros(&text) } else { &text };
    let text = if text.trim_matches(['-', '0', '.']).is_empty() { text.trim_start_matches('-') } else { text };
    let (whole, rest) = text.find('.').map_or((text, ""), |point| text.split_at(point));
    signed(&(thousands(whole) + rest))
}

fn without_idle_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// Separates thousands in numbers of five and more digits, so that years are written without a separator.
fn thousands(whole: &str) -> String {
    let digits = whole.trim_start_matches('-');
    let mut text = whole[..whole.len() - digits.len()].to_owned();
    for (at, digit) in digits.char_indices() {
        if at > 0 && digits.len() > 4 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Replaces hyphens by minus signs, which are as wide as digits.
fn signed(text: &str) -> String {
    text.replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_tidy() {
        let values = [0.0, -0.0, 0.6, -0.25, 12_346.7, 250_000.0, 1234.0, 1.2e-7, 3.0e9, 999.96, 0.1 + 0.2, f64::NAN];
        assert_eq!(
            values.map(|value| tidy(value, 4)),
            ["0", "0", "0.6", "−0.25", "12,347", "250,000", "1234", "1.2e−7", "3e9", "1000", "0.3", "–"]
        );
        assert_eq!(tidy(f64::MIN_POSITIVE, 3), "2.23e−308");
        assert_eq!(tidy(-f64::MAX, 3), "−1.8e308");
    }

    #[test]
    fn decimals_are_kept() {
        assert_eq!([(0.5, 2), (-0.001, 1), (1e6, 0)].map(|(value, n)| fixed(value, n)), ["0.50", "0.0", "1,000,000"]);
    }
}
