//! When one figure beats another.

/// Whether A beats B: their intervals do not touch, and A is above B by
/// `tie_floor` of B or more.
///
/// Each side is its point and the end of its interval that faces the other:
/// the lower end of A, the upper end of B. A side without an interval (one
/// repetition) neither beats nor is beaten. Above zero, anything beats zero.
pub fn beats(a: (f64, Option<f64>), b: (f64, Option<f64>), tie_floor: f64) -> bool {
    let ((a, Some(a_low)), (b, Some(b_high))) = (a, b) else { return false };
    let apart = a_low > b_high;
    let far = if b > 0.0 { (a - b) / b >= tie_floor } else { a > b };
    apart && far
}

#[cfg(test)]
mod tests {
    use super::beats;

    #[test]
    fn needs_both_a_gap_and_a_distance() {
        assert!(beats((110.0, Some(109.0)), (100.0, Some(101.0)), 0.10));
        assert!(!beats((109.9, Some(109.0)), (100.0, Some(101.0)), 0.10), "below the floor");
        assert!(!beats((150.0, Some(101.0)), (100.0, Some(101.0)), 0.10), "touching");
        assert!(!beats((150.0, Some(90.0)), (100.0, Some(101.0)), 0.10), "overlapping");
        assert!(!beats((100.0, Some(99.0)), (110.0, Some(111.0)), 0.10), "slower");
    }

    #[test]
    fn needs_both_intervals() {
        assert!(!beats((200.0, None), (100.0, Some(101.0)), 0.10));
        assert!(!beats((200.0, Some(199.0)), (100.0, None), 0.10));
    }

    #[test]
    fn anything_beats_zero_but_zero() {
        assert!(beats((1.0, Some(0.5)), (0.0, Some(0.0)), 0.10));
        assert!(!beats((0.0, Some(0.0)), (0.0, Some(0.0)), 0.10));
    }

    #[test]
    fn nothing_beats_itself_at_any_floor() {
        for floor in [0.0, 0.1, 1.0] {
            assert!(!beats((5.0, Some(5.0)), (5.0, Some(5.0)), floor));
        }
    }
}
