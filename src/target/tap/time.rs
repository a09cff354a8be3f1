//! Times as UWS and VOSI write them: ISO 8601 in UTC.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Days from 1970-01-01 to a date of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // Counted from 1 March, so that a leap day ends a year.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// A time with milliseconds, such as `2026-09-12T22:58:08.250Z`.
pub fn format(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = since.as_secs();
    let (mut left, second) = ((seconds / 86_400) as i64, seconds % 86_400);
    // The year is found by its first day: there are few.
    let mut year = 1970 + left / 366;
    while days(year + 1, 1, 1) <= left {
        year += 1;
    }
    left -= days(year, 1, 1);
    let mut month = 1;
    while month < 12 && days(year, month + 1, 1) - days(year, 1, 1) <= left {
        month += 1;
    }
    let day = left - (days(year, month, 1) - days(year, 1, 1)) + 1;
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        second / 3600,
        second / 60 % 60,
        second % 60,
        since.subsec_millis()
    )
}

/// Reads a time in UTC: a date, or a date and a time of day, with or without a
/// `Z`. None before 1970, and none after 9999.
pub fn parse(text: &str) -> Option<SystemTime> {
    let text = text.trim();
    let text = text.strip_suffix(['Z', 'z']).unwrap_or(text);
    let (date, clock) = text.split_once(['T', 't', ' ']).unwrap_or((text, "00:00:00"));
    let number = |text: &str, least: i64, most: i64| {
        let digits =
            !text.is_empty() && text.len() <= 4 && text.bytes().all(|b| b.is_ascii_digit());
        let value = digits.then(|| text.parse::<i64>().ok()).flatten()?;
        (least..=most).contains(&value).then_some(value)
    };
    let mut parts = date.split('-');
    let year = number(parts.next()?, 1970, 9999)?;
    let month = number(parts.next()?, 1, 12)?;
    let day = number(parts.next()?, 1, 31)?;
    if parts.next().is_some() {
        return None;
    }
    let mut parts = clock.split(':');
    let hour = number(parts.next()?, 0, 23)?;
    let minute = number(parts.next()?, 0, 59)?;
    let second: f64 = parts.next().unwrap_or("0").parse().ok()?;
    if parts.next().is_some() || !(0.0..61.0).contains(&second) {
        return None;
    }
    let whole = days(year, month, day) * 86_400 + hour * 3600 + minute * 60;
    let since = Duration::from_secs(u64::try_from(whole).ok()?);
    UNIX_EPOCH.checked_add(since + Duration::from_secs_f64(second))
}

#[cfg(test)]
mod tests {
    use super::{format, parse};
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn known_times_are_written_and_read() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_799_999, "2000-02-29T23:59:59.999Z"),
            (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (1_789_253_888_250, "2026-09-12T22:58:08.250Z"),
            (4_107_542_399_000, "2100-02-28T23:59:59.000Z"),
            (1_735_689_599_000, "2024-12-31T23:59:59.000Z"),
        ] {
            let time = UNIX_EPOCH + Duration::from_millis(millis);
            assert_eq!(format(time), text);
            let read = parse(text).unwrap().duration_since(UNIX_EPOCH).unwrap();
            assert_eq!(read.as_secs_f64(), millis as f64 / 1e3);
        }
        assert_eq!(parse("2026-09-12"), parse("2026-09-12T00:00:00Z"));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in ["", "now", "2026", "2026-13-01", "2026-01-01T25:00:00", "1969-01-01", "-1-1-1"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
