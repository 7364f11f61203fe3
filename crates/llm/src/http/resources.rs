//! The resource that this machine has run out of (descriptors, ports, memory) when a connection or program cannot
//! start.

use std::{
    io,
    net::{Ipv4Addr, Ipv6Addr, UdpSocket},
};

use rustix::io::Errno;

/// What has run out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lack {
    Descriptors,
    /// Local ports; every connection to one server needs its own.
    Ports,
    Memory,
    Processes,
}

/// The resource that is missing according to an error of the system.
#[must_use]
pub fn lack(error: &io::Error) -> Option<Lack> {
    match Errno::from_io_error(error)? {
        Errno::MFILE | Errno::NFILE => Some(Lack::Descriptors),
        Errno::NOBUFS | Errno::NOMEM => Some(Lack::Memory),
        Errno::ADDRNOTAVAIL => Some(Lack::Ports),
        _ => None,
    }
}

/// The same for a program that could not be started. A limit of processes is reported as "try again".
#[must_use]
pub fn lack_to_start(error: &io::Error) -> Option<Lack> {
    if error.kind() == io::ErrorKind::WouldBlock { Some(Lack::Processes) } else { lack(error) }
}

/// The same for a connection to a host that could not be made.
pub(crate) fn lack_to_reach(error: &io::Error, host: &str) -> Option<Lack> {
    // A machine without IPv6 reports the same error for an IPv6 address as for exhausted ports.
    let may_be_ipv6 = || host.parse::<Ipv4Addr>().is_err() && UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_err();
    lack(error).filter(|lack| *lack != Lack::Ports || !may_be_ipv6())
}

/// Whether not even a socket can be opened now. The resolver of names says only that it failed.
pub(crate) fn lack_of_sockets() -> Option<Lack> {
    UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).err().as_ref().and_then(lack)
}

impl Lack {
    #[must_use]
    pub fn message(self) -> &'static str {
        match self {
            Self::Descriptors => "this machine has too many files and connections open",
            Self::Ports => "this machine has no local port left for another connection",
            Self::Memory => "this machine has no memory left for another connection",
            Self::Processes => "this machine may start no more processes",
        }
    }

    #[must_use]
    pub fn hint(self) -> &'static str {
        match self {
            Self::Descriptors => "raise the limit of open files (`ulimit -n`), or lower `slots`",
            Self::Ports => "lower `slots`, or widen net.ipv4.ip_local_port_range",
            Self::Memory => "lower `slots`, or give this machine more memory",
            Self::Processes => "raise the limit of processes (`ulimit -u`), or lower `slots`",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exhausted_resources_are_recognised_by_error_number() {
        for (errno, expected) in [
            (Errno::MFILE, Some(Lack::Descriptors)),
            (Errno::NFILE, Some(Lack::Descriptors)),
            (Errno::NOBUFS, Some(Lack::Memory)),
            (Errno::NOMEM, Some(Lack::Memory)),
            (Errno::ADDRNOTAVAIL, Some(Lack::Ports)),
            (Errno::CONNREFUSED, None),
            (Errno::CONNRESET, None),
            (Errno::NETUNREACH, None),
            (Errno::NOENT, None),
        ] {
            let error = io::Error::from(errno);
            assert_eq!(lack(&error), expected, "{error}");
            assert_eq!(lack_to_reach(&error, "127.0.0.1"), expected, "{error}");
        }
        assert_eq!(lack(&io::Error::other("too many files")), None);
        assert_eq!(lack_to_start(&io::Error::from(Errno::AGAIN)), Some(Lack::Processes));
        assert_eq!(lack_of_sockets(), None);
    }
}
