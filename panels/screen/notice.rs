//! What is told until the next key.

/// One line that tells what became of an action, until the next key.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    /// What it says.
    pub text: String,
    /// Whether something went wrong.
    pub is_error: bool,
}
