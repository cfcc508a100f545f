//! How fast an exposition is decoded.

fn main() {}
