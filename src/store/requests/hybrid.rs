//! Parquet's RLE / bit-packing hybrid: small integers, as runs of one value or
//! as groups of eight in as few bits as they need.

/// Shorter runs are packed: a run of its own would take no less room.
const SHORTEST_RUN: usize = 8;

/// The bits that values up to `largest` need.
pub(super) fn width(largest: u32) -> u32 {
    u32::BITS - largest.leading_zeros()
}

/// Appends values of at most `width` bits.
pub(super) fn encode(values: &[u32], width: u32, out: &mut Vec<u8>) {
    let mut packed = 0;
    let mut at = 0;
    while at < values.len() {
        let value = values[at];
        let mut end = at + 1;
        while end < values.len() && values[end] == value {
            end += 1;
        }
        let length = end - at;
        // What is packed comes in eights: the run gives what they lack.
        let given = (at - packed).next_multiple_of(8) - (at - packed);
        if length >= given + SHORTEST_RUN {
            pack(&values[packed..at + given], width, out);
            run(value, length - given, width, out);
            packed = end;
        }
        at = end;
    }
    pack(&values[packed..], width, out);
}

/// Appends `length` times one value.
pub(super) fn run(value: u32, length: usize, width: u32, out: &mut Vec<u8>) {
    varint(length << 1, out);
    out.extend_from_slice(&value.to_le_bytes()[..width.div_ceil(8) as usize]);
}

/// Appends values in groups of eight; zeros fill up the last.
fn pack(values: &[u32], width: u32, out: &mut Vec<u8>) {
    if values.is_empty() {
        return;
    }
    let groups = values.len().div_ceil(8);
    varint(groups << 1 | 1, out);
    let end = out.len() + groups * width as usize;
    let (mut pending, mut bits) = (0_u64, 0);
    for value in values {
        pending |= u64::from(*value) << bits;
        bits += width;
        if bits >= 32 {
            out.extend_from_slice(&(pending as u32).to_le_bytes());
            pending >>= 32;
            bits -= 32;
        }
    }
    out.extend_from_slice(&pending.to_le_bytes());
    out.resize(end, 0);
}

fn varint(mut value: usize, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the format's description says, the slow way.
    fn decode(mut bytes: &[u8], width: u32, count: usize) -> Vec<u32> {
        let mut values = Vec::new();
        while values.len() < count {
            let mut header = 0;
            for shift in (0..).step_by(7) {
                let (first, rest) = bytes.split_first().unwrap();
                bytes = rest;
                header |= usize::from(first & 0x7f) << shift;
                if first & 0x80 == 0 {
                    break;
                }
            }
            if header & 1 == 0 {
                let (value, rest) = bytes.split_at(width.div_ceil(8) as usize);
                bytes = rest;
                let value = value.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte));
                values.resize(values.len() + (header >> 1), value);
            } else {
                let (packed, rest) = bytes.split_at((header >> 1) * width as usize);
                bytes = rest;
                let bit = |at: usize| u32::from(packed[at / 8] >> (at % 8) & 1);
                for value in 0..(header >> 1) * 8 {
                    let first = value * width as usize;
                    values.push((0..width).map(|at| bit(first + at as usize) << at).sum());
                }
            }
        }
        assert!(bytes.is_empty());
        assert!(values.len() - count < 8);
        values.truncate(count);
        values
    }

    fn comes_back(values: &[u32]) {
        let width = width(values.iter().copied().max().unwrap_or(0));
        let mut bytes = Vec::new();
        encode(values, width, &mut bytes);
        assert_eq!(decode(&bytes, width, values.len()), values);
    }

    #[test]
    fn values_come_back() {
        comes_back(&[]);
        comes_back(&[0]);
        comes_back(&[7; 100]);
        comes_back(&[0; 1_000]);
        comes_back(&[u32::MAX, 0, 1]);
        for width in [1, 2, 3, 8, 11, 17, 31] {
            let values: Vec<u32> =
                (0..1_000_u32).map(|at| at.wrapping_mul(0x9e37_79b9) >> (32 - width)).collect();
            comes_back(&values);
            // Runs of every length, at every place in a group.
            let runs: Vec<u32> = (0..40).flat_map(|length| vec![values[length]; length]).collect();
            comes_back(&runs);
        }
    }

    #[test]
    fn one_value_takes_no_bits() {
        let mut bytes = Vec::new();
        encode(&[0; 300], width(0), &mut bytes);
        assert_eq!(bytes, [0xd8, 0x04]);
    }
}
