//! Labels of runs: names and values, such as `commit=1a2b3c`.

const LONGEST_LABEL: usize = 200;

pub(crate) fn label(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("a label is NAME=VALUE, such as commit=1a2b3c")?;
    let (name, value) = (name.trim(), value.trim());
    match fault(name, value) {
        Some(fault) => Err(fault.to_owned()),
        None => Ok((name.to_owned(), value.to_owned())),
    }
}

/// Why this is no label.
pub(crate) fn fault(name: &str, value: &str) -> Option<&'static str> {
    if name.is_empty() {
        return Some("a label has a name");
    }
    (name.len() > LONGEST_LABEL || value.len() > LONGEST_LABEL).then_some("a label has at most 200 bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_a_name_and_a_value() {
        assert_eq!(label("commit = 1a2b"), Ok(("commit".to_owned(), "1a2b".to_owned())));
        assert_eq!(label("note=a=b"), Ok(("note".to_owned(), "a=b".to_owned())));
        assert!(label("commit").is_err_and(|reason| reason.contains("NAME=VALUE")));
        assert!(label("=x").is_err() && label(&format!("x={}", "y".repeat(201))).is_err());
    }
}
