//! What every panel looks like: in every state, at every size, with and without colour.
//!
//! The states come from the bundled recordings, played through the engine and drawn by the screen that users see. After
//! a wanted change: `INSTA_UPDATE=always cargo test --test screens`, and look at what changed. The pictures of the
//! README are made here too; `scripts/pictures` makes them anew.

mod screens {
    mod drawn;
    mod pictures;
    mod snaps;
    mod states;
    mod svg;
}
