//! The share of one of several generator hosts.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Which share of each rung's load this host sends: shard `k` of `n`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Shard {
    /// From 1.
    pub k: usize,
    /// 2 or more.
    pub n: usize,
    /// When the first rung starts, in unix seconds.
    pub start_at: f64,
    /// From the start of a rung to that of the next, in seconds.
    pub slot_seconds: f64,
}

impl Shard {
    /// Its share of so many connections: the first shards have those that are
    /// left over.
    pub fn connections(&self, all: usize) -> usize {
        all / self.n + usize::from(self.k <= all % self.n)
    }

    /// Its share of a rate, which goes by its connections.
    pub fn rate(&self, rate: f64, all: usize) -> f64 {
        rate * self.connections(all) as f64 / all as f64
    }

    /// When the rung of that number, from 0, starts: in unix seconds.
    pub fn start_of(&self, rung: usize) -> f64 {
        self.start_at + rung as f64 * self.slot_seconds
    }
}

/// `K/N` of the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// From 1.
    pub k: usize,
    /// 2 or more.
    pub n: usize,
}

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = || {
            let (k, n) = text.split_once('/')?;
            Some(Self { k: k.parse().ok()?, n: n.parse().ok()? })
        };
        parsed()
            .filter(|share| share.n >= 2 && (1..=share.n).contains(&share.k))
            .ok_or_else(|| "expected K/N, such as 1/2, with N from 2 and K from 1 to N".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up() {
        for n in 2..5 {
            for all in [1, 7, 32] {
                let shards: Vec<Shard> =
                    (1..=n).map(|k| Shard { k, n, start_at: 0.0, slot_seconds: 1.0 }).collect();
                assert_eq!(shards.iter().map(|s| s.connections(all)).sum::<usize>(), all);
                let rate: f64 = shards.iter().map(|shard| shard.rate(10.0, all)).sum();
                assert!((rate - 10.0).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn shards_of_the_command_line() {
        assert_eq!("2/3".parse(), Ok(Share { k: 2, n: 3 }));
        for bad in ["", "1", "0/2", "3/2", "1/1", "a/b"] {
            bad.parse::<Share>().unwrap_err();
        }
    }
}
