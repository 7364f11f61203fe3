//! The local ports of this machine: every connection to one server needs its own.

use std::fs;

/// How many there are; `None` where the system does not tell: only Linux does.
#[must_use]
pub fn local() -> Option<u64> {
    in_range(&fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?)
}

fn in_range(text: &str) -> Option<u64> {
    let mut ends = text.split_whitespace().map(str::parse::<u64>);
    let (first, last) = (ends.next()?.ok()?, ends.next()?.ok()?);
    Some(last.checked_sub(first)? + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_the_range_are_ports() {
        assert_eq!(in_range("32768\t60999\n"), Some(28_232));
        assert_eq!(in_range("60999 32768"), None);
        assert_eq!(in_range(""), None);
    }
}
