//! A one-time join token: its text has the role, a secret, and the fingerprint of the CA.
//!
//! The fingerprint lets a client that knows nothing yet recognise its coordinator, as `kubeadm join` does. The secret is
//! known to nobody else: the coordinators keep its digest.

use std::{fmt, str::FromStr};

use crate::{
    Error, Role,
    secret::{self, Fingerprint},
};

const MARK: &str = "gabfest1";
/// Cannot be guessed.
const SECRET_BYTES: usize = 24;

#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    role: Role,
    secret: [u8; SECRET_BYTES],
    authority: Fingerprint,
}

impl Token {
    pub(crate) fn random(role: Role, authority: Fingerprint) -> Result<Self, Error> {
        Ok(Self { role, secret: secret::random()?, authority })
    }

    /// For a message to a person. The coordinator knows it anyway.
    #[must_use]
    pub fn role(&self) -> Role {
        self.role
    }

    /// The part that the coordinator gets.
    #[must_use]
    pub fn secret(&self) -> &[u8] {
        &self.secret
    }

    pub(crate) fn authority(&self) -> Fingerprint {
        self.authority
    }

    /// The whole token, to be handed to one client.
    #[must_use]
    pub fn reveal(&self) -> String {
        format!("{MARK}.{}.{}.{}", self.role, secret::to_text(&self.secret), secret::to_text(&self.authority))
    }
}

impl FromStr for Token {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let parts: Vec<&str> = text.trim().split('.').collect();
        let [mark, role, secret, authority] = parts[..] else {
            return Err(Error::NotAToken("a token has four parts with dots between them"));
        };
        if mark != MARK {
            return Err(Error::NotAToken("a token begins with gabfest1"));
        }
        Ok(Self {
            role: Role::named(role).ok_or(Error::NotAToken("its role is unknown"))?,
            secret: secret::from_text(secret).ok_or(Error::NotAToken("its secret is cut or changed"))?,
            authority: secret::from_text(authority).ok_or(Error::NotAToken("its fingerprint is cut or changed"))?,
        })
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Token({}, …)", self.role)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_text_is_read_back_and_its_debug_form_has_no_secret() {
        let token = Token::random(Role::Worker, [7; 32]).unwrap();
        let text = token.reveal();
        assert!(text.starts_with("gabfest1.worker."), "{text}");
        assert_eq!(format!(" {text}\n").parse::<Token>().unwrap(), token);
        assert_eq!(format!("{token:?}"), "Token(worker, …)");
        assert_ne!(Token::random(Role::Worker, [7; 32]).unwrap(), token);
    }

    #[test]
    fn a_changed_text_says_what_is_wrong() {
        let text = Token::random(Role::View, [7; 32]).unwrap().reveal();
        for (wrong, expected) in [
            ("", "four parts"),
            ("a.b.c", "four parts"),
            (&text.replace("gabfest1", "gabfest9"), "begins with gabfest1"),
            (&text.replace("view", "root"), "role is unknown"),
            (&text[..text.len() - 1], "fingerprint is cut"),
            (&text.replace(".view.", ".view.x"), "secret is cut"),
        ] {
            let said = wrong.parse::<Token>().unwrap_err().to_string();
            assert!(said.contains(expected), "{wrong:?}: {said}");
        }
    }
}
