//! Whether memory is flat.

/// How much of what was held in the second tenth a later tenth may hold more or less.
const TOLERATED: f64 = 0.05;

/// Bytes held after each round, all at the same point of it.
pub(crate) fn is_flat(held: &[usize]) -> Result<(), String> {
    let tenths: Vec<f64> = held
        .chunks_exact(held.len() / 10)
        .map(|tenth| tenth.iter().sum::<usize>() as f64 / tenth.len() as f64)
        .collect();
    let second = tenths[1];
    let wrong = tenths[2..].iter().any(|mean| (mean / second - 1.0).abs() > TOLERATED);
    let told: Vec<String> = tenths.iter().map(|mean| format!("{:.0} kB", mean / 1_000.0)).collect();
    if wrong { Err(told.join(", ")) } else { Ok(()) }
}

#[test]
fn what_grows_or_shrinks_is_seen() {
    let at = |tenth: f64| (0..1_000).map(move |round| 1e6 + tenth * 1e4 * f64::from(round / 100));
    let held = |tenth: f64| at(tenth).map(|bytes| bytes as usize).collect::<Vec<_>>();
    assert!(is_flat(&held(0.5)).is_ok());
    assert!(is_flat(&held(0.7)).is_err());
    assert!(is_flat(&held(-0.7)).is_err());
    let mut warming = held(0.0);
    warming[..100].fill(0);
    assert!(is_flat(&warming).is_ok(), "the first tenth may fill up");
}
