//! Bodies that cost nothing to make: a head, a unit that repeats, a tail.

use std::sync::LazyLock;

use bytes::{Bytes, BytesMut};

/// The unit that bodies without a meaning are made of: lines of 64 bytes.
static FILLER: LazyLock<Bytes> = LazyLock::new(|| {
    const LINE: &[u8; 64] = b"null target: these bytes say nothing, and there are many of it.\n";
    Bytes::from(LINE.repeat(1 << 14))
});

/// A body: `head`, then `repeat` bytes of `unit` over and over, then `tail`.
#[derive(Debug, Clone, Default)]
pub struct Body {
    pub head: Bytes,
    pub unit: Bytes,
    pub repeat: u64,
    pub tail: Bytes,
}

impl Body {
    /// A body of so many bytes that say nothing.
    pub fn filler(len: u64) -> Self {
        Self { unit: FILLER.clone(), repeat: len, ..Self::default() }
    }

    /// A body of this text.
    pub fn text(text: impl Into<Bytes>) -> Self {
        Self { head: text.into(), ..Self::default() }
    }

    /// Its bytes.
    pub fn len(&self) -> u64 {
        self.head.len() as u64 + self.repeat + self.tail.len() as u64
    }

    /// Its pieces in order, each of at most `most` bytes. Nothing is copied
    /// where a piece lies in one unit.
    pub fn pieces(&self, most: usize) -> Pieces {
        Pieces { body: self.clone(), at: 0, most: most.max(1) }
    }

    /// Its first bytes alone.
    pub fn truncated(&self, len: u64) -> Self {
        let head = self
            .head
            .slice(..usize::try_from(len).map_or(self.head.len(), |len| len.min(self.head.len())));
        let repeat = self.repeat.min(len - head.len() as u64);
        let rest = len - head.len() as u64 - repeat;
        let tail = self.tail.slice(
            ..usize::try_from(rest).map_or(self.tail.len(), |rest| rest.min(self.tail.len())),
        );
        Self { head, unit: self.unit.clone(), repeat, tail }
    }
}

/// The pieces of a body.
#[derive(Debug)]
pub struct Pieces {
    body: Body,
    at: u64,
    most: usize,
}

impl Pieces {
    /// The bytes from `self.at` that lie together: a part of the head, of one
    /// unit, or of the tail.
    fn run(&self) -> Option<Bytes> {
        let Body { head, unit, repeat, tail } = &self.body;
        let mut at = self.at;
        if at < head.len() as u64 {
            return Some(head.slice(at as usize..));
        }
        at -= head.len() as u64;
        if at < *repeat {
            let offset = (at % unit.len() as u64) as usize;
            let left = usize::try_from(repeat - at).unwrap_or(usize::MAX);
            return Some(unit.slice(offset..unit.len().min(offset.saturating_add(left))));
        }
        at -= repeat;
        (at < tail.len() as u64).then(|| tail.slice(at as usize..))
    }
}

impl Iterator for Pieces {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        let mut run = self.run()?;
        run.truncate(self.most);
        self.at += run.len() as u64;
        if run.len() == self.most {
            return Some(run);
        }
        // Short of a full piece: what follows is joined to it.
        let mut piece = BytesMut::from(&run[..]);
        while piece.len() < self.most {
            let Some(mut run) = self.run() else { break };
            run.truncate(self.most - piece.len());
            self.at += run.len() as u64;
            piece.extend_from_slice(&run);
        }
        Some(piece.freeze())
    }
}
