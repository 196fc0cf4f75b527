//! What must hold of any bytes, whoever made them up.
//!
//! Each module has one property, `holds`, which panics where it does not. The tests beside this folder
//! and the fuzz targets in `fuzz/` both call it, so it needs nothing but the crate itself and `http`.

pub(crate) mod date;
pub(crate) mod rate_limit;
pub(crate) mod robots;
pub(crate) mod signal;

mod departure;
mod response;
pub(crate) mod sane;
