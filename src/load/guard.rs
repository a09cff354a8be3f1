//! The generator's watch over itself: what its threads, the host and the network
//! spend while a window runs.

use std::fs;

use super::outcome::Host;

/// CPU seconds of a thread of this program so far.
pub fn thread_cpu_s(thread: i32) -> Option<f64> {
    let text = fs::read_to_string(format!("/proc/self/task/{thread}/schedstat")).ok()?;
    let nanos: u64 = text.split_ascii_whitespace().next()?.parse().ok()?;
    Some(nanos as f64 / 1e9)
}

/// Memory of this program in bytes, as the kernel counts it.
pub fn resident_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let size = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = size.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes * 1024)
}

/// Counters of the host at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HostCounters {
    /// Ticks: all, idle (waiting for disks included), stolen, of soft interrupts.
    total: u64,
    idle: u64,
    steal: u64,
    softirq: u64,
    retransmits: u64,
}

impl HostCounters {
    /// As they are now; none where the system does not say.
    pub fn now() -> Option<Self> {
        let stat = fs::read_to_string("/proc/stat").ok()?;
        let snmp = fs::read_to_string("/proc/net/snmp").unwrap_or_default();
        Self::parse(&stat, &snmp)
    }

    fn parse(stat: &str, snmp: &str) -> Option<Self> {
        let cpu = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let ticks: Vec<u64> =
            cpu.split_ascii_whitespace().map_while(|tick| tick.parse().ok()).collect();
        // user nice system idle iowait irq softirq steal; guests are in user already.
        let tick = |at: usize| ticks.get(at).copied().unwrap_or(0);
        let mut tcp = snmp.lines().filter_map(|line| line.strip_prefix("Tcp: "));
        let (names, values) = (tcp.next().unwrap_or_default(), tcp.next().unwrap_or_default());
        let at = names.split_ascii_whitespace().position(|name| name == "RetransSegs");
        let retransmits =
            at.and_then(|at| values.split_ascii_whitespace().nth(at)?.parse().ok()).unwrap_or(0);
        Some(Self {
            total: ticks.iter().take(8).sum(),
            idle: tick(3) + tick(4),
            softirq: tick(6),
            steal: tick(7),
            retransmits,
        })
    }

    /// What was spent since `before`.
    pub fn since(&self, before: &Self) -> Option<Host> {
        let total = self.total.checked_sub(before.total).filter(|total| *total > 0)? as f64;
        let share = |now: u64, before: u64| now.saturating_sub(before) as f64 / total;
        Some(Host {
            busy: 1.0 - share(self.idle, before.idle),
            steal: share(self.steal, before.steal),
            softirq: share(self.softirq, before.softirq),
            retransmits: self.retransmits.saturating_sub(before.retransmits),
        })
    }
}

/// CPU of each worker, second by second.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Slices {
    /// What each thread had used when the slice began, and when that was (seconds).
    last: Option<(f64, Vec<Option<f64>>)>,
    /// The largest share of a core of each worker.
    pub peaks: Vec<f64>,
}

impl Slices {
    /// For so many workers.
    pub fn new(workers: usize) -> Self {
        Self { last: None, peaks: vec![0.0; workers] }
    }

    /// Ends a slice, if there is one, and begins the next. Gives the busiest
    /// worker's share of a core in it.
    pub fn cut(&mut self, at_s: f64, used: Vec<Option<f64>>) -> Option<f64> {
        let mut busiest = None;
        if let Some((since, before)) = &self.last
            && at_s > *since
        {
            for ((peak, now), before) in self.peaks.iter_mut().zip(&used).zip(before) {
                if let (Some(now), Some(before)) = (now, before) {
                    let share = (now - before) / (at_s - since);
                    *peak = peak.max(share);
                    busiest = Some(share.max(busiest.unwrap_or(0.0)));
                }
            }
        }
        self.last = Some((at_s, used));
        busiest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  100 0 50 800 50 0 20 30 0 0\ncpu0 1 2 3\n";
    const SNMP: &str = "Ip: a b\nIp: 1 2\nTcp: RtoAlgorithm RetransSegs InErrs\nTcp: 1 7 0\n";

    #[test]
    fn counters_are_compared() {
        let before = HostCounters::parse(STAT, SNMP).unwrap();
        let later = HostCounters {
            total: before.total + 200,
            idle: before.idle + 50,
            steal: before.steal + 20,
            softirq: before.softirq + 10,
            retransmits: 10,
        };
        let host = later.since(&before).unwrap();
        assert_eq!(host, Host { busy: 0.75, steal: 0.1, softirq: 0.05, retransmits: 3 });
        assert_eq!(before.since(&before), None);
        assert_eq!(HostCounters::parse("intr 1", SNMP), None);
    }

    #[test]
    fn a_peak_is_the_largest_of_its_worker() {
        let mut slices = Slices::new(2);
        assert_eq!(slices.cut(1.0, vec![Some(0.0), None]), None);
        assert_eq!(slices.cut(2.0, vec![Some(0.5), Some(0.1)]), Some(0.5));
        let busiest = slices.cut(4.0, vec![Some(0.7), Some(0.5)]).unwrap();
        assert!((busiest - 0.2).abs() < 1e-12);
        assert_eq!(slices.peaks[0], 0.5);
        assert!((slices.peaks[1] - 0.2).abs() < 1e-12);
    }

    #[test]
    fn this_program_has_figures() {
        let thread = rustix::thread::gettid().as_raw_nonzero().get();
        if let Some(before) = thread_cpu_s(thread) {
            let spin = std::time::Instant::now();
            while spin.elapsed().as_millis() < 30 {}
            assert!(thread_cpu_s(thread).unwrap() > before);
        }
        assert!(resident_bytes().is_none_or(|bytes| bytes > 1 << 20));
    }
}
