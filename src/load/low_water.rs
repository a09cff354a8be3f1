//! How many bytes must have come before the kernel wakes who waits for a socket
//! (SO_RCVLOWAT), which neither socket2 nor rustix offers.

use std::os::fd::{AsRawFd, BorrowedFd};

/// The most that is waited for: what is not read is not acknowledged either, and the
/// more the kernel holds, the colder it is when it is read.
pub const MOST: usize = 256 << 10;

/// Bytes that the kernel may hold for us from the start. It learns only by and by how
/// fast we read, and till then a wide first response would wait for its window.
const ROOM: usize = 1 << 20;

/// Sets it. Says whether it is set.
#[allow(unsafe_code, reason = "one call of setsockopt, with an integer that outlives it")]
fn set(socket: BorrowedFd<'_>, bytes: usize) -> bool {
    let value = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    // SAFETY: the descriptor is open, and the option's value is a `c_int` of that size.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_RCVLOWAT,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    result == 0
}

/// A socket's low water, as it was last set.
#[derive(Debug)]
pub struct LowWater(usize);

impl Default for LowWater {
    fn default() -> Self {
        Self(1)
    }
}

impl LowWater {
    /// Lets the kernel wake us only when so many bytes have come, or the end. Never
    /// more than will come, or the rest would never be told of.
    #[inline]
    pub fn set(&mut self, socket: BorrowedFd<'_>, bytes: usize) {
        if bytes != self.0 && set(socket, bytes) {
            self.0 = bytes;
        }
    }
}

/// Gives a TCP socket its room. A low water makes room for as much, which stays when it
/// is lowered; asked for by its own name (SO_RCVBUF), less is given, and never more
/// later on.
pub fn make_room(socket: BorrowedFd<'_>) {
    let _ = set(socket, ROOM) && set(socket, 1);
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;
    use std::time::Duration;

    use super::*;

    /// Without it a server can send some 64 KiB before anything is read.
    #[test]
    fn a_socket_with_room_takes_a_megabyte_unread() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        make_room(client.as_fd());
        let (mut server, _) = listener.accept().unwrap();
        // The sender's own buffer holds the rest, which does not count.
        socket2::SockRef::from(&server).set_send_buffer_size(4096).unwrap();
        server.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
        let mut sent = 0;
        while let Ok(bytes) = server.write(&[0; 16 << 10]) {
            sent += bytes;
            if sent > ROOM {
                break;
            }
        }
        assert!(sent > ROOM / 2, "{sent}");
        drop(client);
    }
}
