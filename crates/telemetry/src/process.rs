//! What this process uses of its machine. Zero where the system does not tell: only Linux does.

use std::fs;

/// The resident memory. Reads one small file.
#[must_use]
pub fn resident_bytes() -> u64 {
    fs::read_to_string("/proc/self/status").map_or(0, |status| resident_in(&status))
}

/// How many files and connections are open.
///
/// Since version 6.2 Linux says so as the size of the directory. To list it instead takes milliseconds with 10,000
/// connections, in which nothing else runs.
#[must_use]
pub fn open_descriptors() -> u32 {
    fs::metadata("/proc/self/fd").map_or(0, |folder| u32::try_from(folder.len()).unwrap_or(u32::MAX))
}

fn resident_in(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes: Option<u64> = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    kilobytes.map_or(0, |kilobytes| kilobytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_resident_memory_is_the_line_of_the_system() {
        assert_eq!(resident_in("Name:\tgabfest\nVmHWM:\t  9000 kB\nVmRSS:\t  1234 kB\n"), 1_234 << 10);
        assert_eq!(resident_in("Name:\tgabfest\n"), 0);
        if cfg!(target_os = "linux") {
            assert!(resident_bytes() > 1 << 20);
        }
    }
}
