//! CPU limits, as cgroups, Docker and people write them.

/// The cores that a setting allows: `cpu.max` of a cgroup (quota and period, or
/// cores), a list of CPUs (`cpuset`, `cpuset.cpus`, `CpusetCpus`), `NanoCpus`, or
/// a plain number of `cpus`. `None` where it sets no limit, or is about something
/// else.
pub(super) fn cores(key: &str, value: &str) -> Option<f64> {
    let key = key.to_ascii_lowercase();
    let ends = |names: &[&str]| names.iter().any(|name| key.ends_with(name));
    let last = key.rsplit('.').next().unwrap_or_default();
    let value = value.trim();
    let cores = if ends(&["cpuset", "cpuset.cpus", "cpuset.cpus.effective", "cpusetcpus"]) {
        set_size(value)?
    } else if ends(&["cpu.max"]) {
        quota(value)?
    } else if last == "nanocpus" {
        value.parse::<f64>().ok()? / 1e9
    } else if last == "cpus" {
        value.parse().ok()?
    } else {
        return None;
    };
    (cores.is_finite() && cores > 0.0).then_some(cores)
}

/// `800000 100000`: microseconds of CPU in each so many of time. `max` is none.
fn quota(value: &str) -> Option<f64> {
    let mut parts = value.split_whitespace();
    let quota: f64 = parts.next()?.parse().ok()?;
    let period: f64 = parts.next().map_or(Some(1.0), |period| period.parse().ok())?;
    parts.next().is_none().then_some(quota / period)
}

/// How many CPUs `0-3,8` names.
fn set_size(value: &str) -> Option<f64> {
    let ranges = value.split(',').map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        Some(f64::from(last.checked_sub(first)?) + 1.0)
    });
    ranges.sum()
}

#[cfg(test)]
mod tests {
    use super::cores;

    #[test]
    fn limits_are_read_as_they_are_written() {
        for (key, value, expected) in [
            ("cpu.max", "800000 100000", Some(8.0)),
            ("cgroup/cpu.max", "50000 100000\n", Some(0.5)),
            ("cpu.max", "8", Some(8.0)),
            ("cpu.max", "max 100000", None),
            ("cpuset.cpus.effective", "0-3,8", Some(5.0)),
            ("HostConfig.CpusetCpus", "3", Some(1.0)),
            ("cpuset", "", None),
            ("cpuset", "3-1", None),
            ("HostConfig.NanoCpus", "1500000000", Some(1.5)),
            ("HostConfig.NanoCpus", "0", None),
            ("limits.cpus", "2.5", Some(2.5)),
            ("cpus", "-1", None),
            ("cpus", "NaN", None),
            ("cpus", "inf", None),
            ("memory.max", "800000", None),
            ("image", "cpu", None),
        ] {
            assert_eq!(cores(key, value), expected, "{key} = {value}");
        }
    }
}
