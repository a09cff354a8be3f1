//! The gates: what must hold before anything is timed.
