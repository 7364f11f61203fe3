//! The address of a server, as people write it.

use url::Url;

/// Checks an address of the settings. Drops its fragment, which is never sent.
///
/// # Errors
/// What is wrong with it, to follow "the url".
pub fn address(written: &str) -> Result<Url, &'static str> {
    let mut url = Url::parse(written.trim()).map_err(|_| "cannot be read: it looks like https://host/path")?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err("is neither http:// nor https://");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("has a name or a password in it: a key is never written in the file");
    }
    url.set_fragment(None);
    Ok(url)
}
