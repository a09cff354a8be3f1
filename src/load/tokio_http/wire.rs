//! What HTTP/2 is carried over: bytes are written, and what comes is shown where it lies.

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::secure::Scratch;

/// See the module.
pub trait Wire: AsyncWrite + Unpin {
    /// Takes what has come, and shows it. Says how much that was; 0 is the end.
    fn poll_take(
        &mut self,
        context: &mut Context<'_>,
        show: impl FnMut(&[u8]),
    ) -> Poll<io::Result<usize>>;
}

/// A socket without TLS.
#[derive(Debug)]
pub struct Bare<S> {
    pub socket: S,
    pub scratch: Scratch,
    /// The most that is read at once.
    pub most: usize,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Wire for Bare<S> {
    fn poll_take(
        &mut self,
        context: &mut Context<'_>,
        mut show: impl FnMut(&[u8]),
    ) -> Poll<io::Result<usize>> {
        let scratch = Rc::clone(&self.scratch);
        let mut scratch = scratch.borrow_mut();
        if scratch.len() < self.most {
            scratch.resize(self.most, 0);
        }
        let mut room = ReadBuf::new(&mut scratch[..self.most]);
        ready!(Pin::new(&mut self.socket).poll_read(context, &mut room))?;
        show(room.filled());
        Poll::Ready(Ok(room.filled().len()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Bare<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().socket).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_shutdown(context)
    }
}
