//! Figures: drawn from the views, one file each, the same bytes on every machine.
