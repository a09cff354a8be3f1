//! One connection's socket: connected without waiting, read without copying.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::net::{RecvFlags, SendFlags, recv, send};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use crate::load::address::Address;
use crate::load::low_water::{self, LowWater};

/// The most that is thrown away by one call.
pub const DISCARD: usize = 1 << 20;

/// How bytes that nobody looks at are taken from the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discard {
    /// By `recv` with `MSG_TRUNC`: on Linux, TCP drops them without copying.
    Kernel,
    /// By reading them: where the system knows nothing better.
    #[cfg_attr(target_os = "linux", allow(dead_code, reason = "other systems, and tests"))]
    Read,
}

impl Discard {
    /// What this system does best.
    pub const BEST: Self = if cfg!(target_os = "linux") { Self::Kernel } else { Self::Read };
}

/// A connected, or connecting, socket.
#[derive(Debug)]
pub struct Wire {
    socket: Socket,
    low_water: LowWater,
}

/// What a read gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Got {
    Bytes(usize),
    /// Nothing is there yet.
    Later,
    /// The server closed its side.
    End,
    /// The connection is broken.
    Broken,
}

impl Wire {
    /// Starts to connect. Says whether it is connected already.
    ///
    /// # Errors
    /// What the system says.
    pub fn connect(address: &Address, receive_buffer: Option<usize>) -> io::Result<(Self, bool)> {
        let (domain, to) = match address {
            Address::Inet(address) => (Domain::for_address(*address), SockAddr::from(*address)),
            Address::Unix(path) => (Domain::UNIX, SockAddr::unix(path)?),
        };
        let is_tcp = domain != Domain::UNIX;
        let socket = Socket::new(domain, Type::STREAM, is_tcp.then_some(Protocol::TCP))?;
        socket.set_nonblocking(true)?;
        if is_tcp {
            socket.set_tcp_nodelay(true)?;
        }
        match receive_buffer {
            Some(size) => socket.set_recv_buffer_size(size)?,
            None if is_tcp => low_water::make_room(socket.as_fd()),
            None => {}
        }
        let done = match socket.connect(&to) {
            Ok(()) => true,
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => false,
            Err(error) => return Err(error),
        };
        Ok((Self { socket, low_water: LowWater::default() }, done))
    }

    /// The error that connecting ended with, if it did.
    pub fn connect_error(&self) -> Option<io::Error> {
        self.socket.take_error().unwrap_or_else(Some)
    }

    /// Sends; says how many bytes were taken, 0 if none can be now.
    ///
    /// # Errors
    /// If the connection is broken.
    #[inline]
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        match send(&self.socket, bytes, SendFlags::NOSIGNAL) {
            Ok(sent) => Ok(sent),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads into a buffer.
    #[inline]
    pub fn read(&self, buffer: &mut [u8]) -> Got {
        self.receive(buffer, RecvFlags::empty())
    }

    /// Throws away at most as many bytes as the buffer is long. What the buffer
    /// holds afterwards is of no use.
    #[inline]
    pub fn discard(&self, buffer: &mut [u8], how: Discard) -> Got {
        let flags = if how == Discard::Kernel { RecvFlags::TRUNC } else { RecvFlags::empty() };
        self.receive(buffer, flags)
    }

    #[inline]
    fn receive(&self, buffer: &mut [u8], flags: RecvFlags) -> Got {
        let most = buffer.len();
        match recv(&self.socket, buffer, flags) {
            Ok((_, 0)) => Got::End,
            Ok((_, bytes)) => Got::Bytes(bytes.min(most)),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Got::Later,
            Err(_) => Got::Broken,
        }
    }

    /// Lets the kernel wake us only when so many bytes have come, or the end: see
    /// [`LowWater::set`].
    #[inline]
    pub fn wake_at(&mut self, bytes: usize) {
        self.low_water.set(self.socket.as_fd(), bytes);
    }
}

impl AsFd for Wire {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
