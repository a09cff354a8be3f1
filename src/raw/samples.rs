//! `samples/`: one row per request of each rung.
