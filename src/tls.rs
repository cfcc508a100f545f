//! The one cryptography provider of the process.

use std::sync::Once;

/// Installs the provider that TLS clients look for; they refuse to be built without one. Again is no harm, nor is
/// a provider that somebody else installed first.
pub fn install_provider() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}
