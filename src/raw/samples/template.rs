//! What stands in every line of a block: found from two lines, and then only
//! what is between is read.

use std::ops::Range;

use super::columns::Columns;
use super::field::Field;
use super::number::word;
use super::scan::{Row, push, value};

/// A field's value in a line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub field: Field,
    /// Where it stands in the block.
    pub value: Range<usize>,
}

/// Lines that are all alike but for some of their values.
#[derive(Debug)]
pub(super) struct Template<'a> {
    /// What stands before each of these values, and whose it is.
    steps: Vec<(Constant, Field)>,
    /// What stands after the last, with the newline.
    end: Constant,
    /// The values that are the same in all lines.
    row: Row<'a>,
}

/// Bytes that are compared in words.
#[derive(Debug)]
struct Constant {
    /// Each with the mask of what counts.
    words: Vec<(u64, u64)>,
    length: usize,
}

impl Constant {
    fn new(bytes: &[u8]) -> Self {
        let word = |bytes: &[u8]| {
            let mut padded = [0; 8];
            padded[..bytes.len()].copy_from_slice(bytes);
            let mask = u64::MAX >> (64 - 8 * bytes.len());
            (u64::from_le_bytes(padded), mask)
        };
        Self { words: bytes.chunks(8).map(word).collect(), length: bytes.len() }
    }

    /// Where the bytes from `at` end, if they are these. They are not, at the
    /// very end of a block where no whole word is left.
    #[inline(always)]
    fn skip(&self, block: &[u8], at: usize) -> Option<usize> {
        let words = block.get(at..at + 8 * self.words.len())?;
        let mut differs = 0;
        for (place, (own, mask)) in self.words.iter().enumerate() {
            differs |= (word(words, 8 * place) ^ own) & mask;
        }
        (differs == 0).then_some(at + self.length)
    }
}

impl<'a> Template<'a> {
    /// Reads the line from `at`, if it fits; gives where the next starts.
    #[inline(always)]
    pub(super) fn read(
        &self,
        block: &'a [u8],
        mut at: usize,
        columns: &mut Columns,
    ) -> Option<usize> {
        let mut row = self.row;
        for (constant, field) in &self.steps {
            at = constant.skip(block, at)?;
            at = value(block, at, *field, columns, &mut row)?;
        }
        let end = self.end.skip(block, at)?;
        push(columns, &row)?;
        Some(end)
    }
}

/// How many lines that fit make up for one that does not.
const MISS: i32 = 8;

/// What may be lost before templates are given up for a block.
const PATIENCE: i32 = 64;

/// Finds templates, as long as it is worth it.
#[derive(Debug)]
pub(super) struct Learner<'a> {
    template: Option<Template<'a>>,
    patience: i32,
    /// Of the line before, if that was read field by field, and of this one.
    lines: [Line; 2],
    /// Which values, by their place, were not the same in all lines so far.
    varies: u64,
}

/// A line that was read field by field.
#[derive(Debug, Default)]
struct Line {
    span: Range<usize>,
    tokens: Vec<Token>,
}

impl Line {
    fn fields(&self) -> impl Iterator<Item = Field> {
        self.tokens.iter().map(|token| token.field)
    }

    /// What stands before each value, and after the last.
    fn between(&self) -> impl Iterator<Item = Range<usize>> {
        let ends = self.tokens.iter().map(|token| token.value.end);
        let starts = self.tokens.iter().map(|token| token.value.start);
        let froms = std::iter::once(self.span.start).chain(ends);
        froms.zip(starts.chain([self.span.end])).map(|(from, to)| from..to)
    }
}

impl Default for Learner<'_> {
    fn default() -> Self {
        let lines = <[Line; 2]>::default();
        Self { template: None, patience: PATIENCE, lines, varies: 0 }
    }
}

impl<'a> Learner<'a> {
    /// The template, if there is one.
    #[inline(always)]
    pub(super) fn template(&self) -> Option<&Template<'a>> {
        self.template.as_ref()
    }

    /// Told whether a line fitted the template.
    #[inline(always)]
    pub(super) fn fitted(&mut self, did: bool) {
        if did {
            self.patience = PATIENCE.min(self.patience + 1);
            self.lines[0].tokens.clear();
        } else {
            self.patience -= MISS;
            if self.patience < 0 {
                self.template = None;
            }
        }
    }

    /// A line is read field by field.
    pub(super) fn begin(&mut self) {
        self.lines[1].tokens.clear();
    }

    /// Told of each of its values.
    #[inline]
    pub(super) fn note(&mut self, token: Token) {
        if self.patience >= 0 {
            self.lines[1].tokens.push(token);
        }
    }

    /// The line is in order: a template of it and of the one before, if that
    /// was read field by field too.
    #[inline]
    pub(super) fn learn(&mut self, block: &'a [u8], span: Range<usize>, row: &Row<'a>) {
        if self.patience >= 0 {
            self.lines[1].span = span;
            self.patience -= 1;
            self.compare(block, row);
            self.lines.swap(0, 1);
        }
    }

    fn compare(&mut self, block: &'a [u8], row: &Row<'a>) {
        let [before, line] = &self.lines;
        if line.tokens.len() > 64 || !block[line.span.clone()].ends_with(b"\n") {
            return;
        }
        let same = |(a, b): (Range<usize>, Range<usize>)| block[a] == block[b];
        if !before.fields().eq(line.fields()) || !before.between().zip(line.between()).all(same) {
            self.varies = 0;
            return;
        }
        let mut row = *row;
        let mut steps = Vec::new();
        let mut from = line.span.start;
        for (place, (token, other)) in line.tokens.iter().zip(&before.tokens).enumerate() {
            // An identifier is not kept with the row, so it is always read.
            let varies = block[token.value.clone()] != block[other.value.clone()]
                || token.field == Field::RequestId;
            self.varies |= u64::from(varies) << place;
            if self.varies >> place & 1 == 1 {
                steps.push((Constant::new(&block[from..token.value.start]), token.field));
                row.clear(token.field);
                from = token.value.end;
            }
        }
        self.template =
            Some(Template { steps, end: Constant::new(&block[from..line.span.end]), row });
    }
}
