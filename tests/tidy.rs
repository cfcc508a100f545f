//! What the house promises of itself: its layers, its files, its tables and its pages.
//!
//! Each checker is a function of texts, so that a test beside it can show it a breach: a checker that cannot fail
//! checks nothing.

mod tidy {
    mod generated;
    mod house;
    mod layers;
    mod prose;
    mod readme;
    mod rust;
    mod tables;
}
