//! Paths of files in a trial: all of them stay below its own root.

/// A path below the root, without `.` and `..`. An absolute path starts at the root.
///
/// # Errors
/// The path leaves the root, or names nothing; a fragment that follows the path.
pub fn beneath_root(written: &str) -> Result<String, &'static str> {
    let mut parts: Vec<&str> = Vec::new();
    for part in written.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." => {
                if parts.pop().is_none() {
                    return Err("leaves the root of the trial's files");
                }
            }
            name if name.contains('\0') => return Err("contains a character that is not allowed in a path"),
            // A drive letter would make the path absolute on Windows.
            name if parts.is_empty() && name.ends_with(':') => return Err("names a drive"),
            name => parts.push(name),
        }
    }
    if parts.is_empty() {
        return Err("names no file");
    }
    Ok(parts.join("/"))
}
