//! Headwater.
fn main() {}
