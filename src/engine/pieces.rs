//! Ranges and slices in consecutive pieces, each the work of a task or a loop.

use std::ops::Range;

/// A range in pieces of this length; the last one may be shorter.
pub(super) fn pieces(whole: &Range<usize>, length: usize) -> impl Iterator<Item = Range<usize>> + use<> {
    let end = whole.end;
    whole.clone().step_by(length).map(move |start| start..end.min(start + length))
}

/// A slice in pieces of these lengths, from its beginning on.
pub(super) fn slots(mut whole: &mut [f64], lengths: impl Iterator<Item = usize>) -> Vec<&mut [f64]> {
    lengths.map(|length| whole.split_off_mut(..length).unwrap_or_default()).collect()
}
