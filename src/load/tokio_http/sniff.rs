//! How a connection of HTTP/1.1 ended, seen on its way to hyper, which does not
//! always say.

use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::mux::End;

/// How an error ends a connection.
pub fn end_of(error: &io::Error) -> End {
    match error.kind() {
        // TLS that ends without a farewell.
        io::ErrorKind::UnexpectedEof => End::Closed,
        // What comes is no TLS.
        io::ErrorKind::InvalidData => End::Broken,
        _ => End::Reset,
    }
}

/// A connection that is listened to.
#[derive(Debug)]
pub struct Sniff<S> {
    inner: S,
    end: Rc<Cell<Option<End>>>,
}

impl<S> Sniff<S> {
    /// Puts the end of a connection into `end`, once it has come.
    pub fn new(inner: S, end: Rc<Cell<Option<End>>>) -> Self {
        Self { inner, end }
    }

    fn ended(&self, end: End) {
        self.end.set(self.end.get().or(Some(end)));
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Sniff<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut this.inner).poll_read(context, buffer));
        match &read {
            Err(error) => this.ended(end_of(error)),
            Ok(()) if buffer.filled().len() == before => this.ended(End::Closed),
            Ok(()) => {}
        }
        Poll::Ready(read)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Sniff<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = ready!(Pin::new(&mut this.inner).poll_write(context, bytes));
        Poll::Ready(written.inspect_err(|error| this.ended(end_of(error))))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = ready!(Pin::new(&mut this.inner).poll_write_vectored(context, slices));
        Poll::Ready(written.inspect_err(|error| this.ended(end_of(error))))
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_shutdown(context)
    }
}
