//! Headers that users have sent with every request: whose numbers they ask a shared server for, or a key to its API.

use std::path::PathBuf;

use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderName,
    HeaderValue, TE, TRANSFER_ENCODING, UPGRADE,
};

/// Headers by which a request would become another one.
const RESERVED: &[HeaderName] = &[
    ACCEPT,
    ACCEPT_ENCODING,
    CONNECTION,
    CONTENT_LENGTH,
    CONTENT_TYPE,
    HOST,
    TE,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// Headers with their values; those that are secret show nowhere.
#[derive(Clone, Debug, Default)]
pub struct OwnHeaders {
    values: HeaderMap,
    /// The files that secret values came from.
    files: Vec<(HeaderName, PathBuf)>,
}

impl OwnHeaders {
    /// Adds a header; says why it cannot be sent, without its value.
    pub fn add(&mut self, name: &str, value: &str, is_secret: bool) -> Result<(), &'static str> {
        let name = HeaderName::try_from(name)
            .map_err(|_| "is not the name of a header: use letters, digits and '-'")?;
        if RESERVED.contains(&name) {
            return Err("is a header that Headwater sets itself: remove it");
        }
        let value = header_value(value, is_secret).ok_or("holds a character that HTTP cannot send")?;
        match self.values.insert(name, value) {
            Some(_) => Err("stands twice, in capitals and in small letters: keep one"),
            None => Ok(()),
        }
    }

    /// Notes the file that the value of a header that was added came from: it is read anew when the value is refused.
    pub fn came_from(&mut self, name: &str, file: PathBuf) {
        self.files.extend(HeaderName::try_from(name).ok().map(|name| (name, file)));
    }

    /// Whether a header of this name is sent.
    pub fn has(&self, name: &HeaderName) -> bool {
        self.values.contains_key(name)
    }

    /// What is sent.
    pub(crate) fn values(&self) -> &HeaderMap {
        &self.values
    }

    /// The values that must not be told.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &str> {
        let secret = self.values.values().filter(|value| value.is_sensitive());
        secret.filter_map(|value| value.to_str().ok())
    }

    /// Reads the files anew; says whether one holds another value. What cannot be read or sent changes nothing.
    pub(crate) async fn renew(&mut self) -> bool {
        let mut is_other = false;
        for (name, file) in &self.files {
            let text = tokio::fs::read_to_string(file).await.ok();
            if let Some(fresh) = text.and_then(|text| header_value(&text, true)) {
                is_other |= self.values.get(name) != Some(&fresh);
                self.values.insert(name, fresh);
            }
        }
        is_other
    }
}

fn header_value(text: &str, is_secret: bool) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text.trim()).ok()?;
    value.set_sensitive(is_secret);
    Some(value)
}
