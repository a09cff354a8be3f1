//! Geometry on the sphere, and ADQL's functions over it.

pub mod functions;
pub mod shape;
pub mod sphere;
pub mod values;

#[cfg(test)]
mod tests;
