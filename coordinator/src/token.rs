//! A secret that only the worker of a session has.

use scenario::Digest;

/// Long enough that it cannot be guessed.
const BYTES: usize = 16;

#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Token(Vec<u8>);

impl std::fmt::Debug for Token {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Token(…)")
    }
}

impl Token {
    pub(crate) fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = vec![0; BYTES];
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes))
    }

    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The stored and compared form. It reveals nothing about the token, and neither does the time of a comparison.
    ///
    /// `owner`: the identity in the worker's certificate. A session belongs to the identity and not to one certificate, so
    /// that it goes on when the certificate is renewed. Another worker gets another digest, even with the same token.
    pub(crate) fn digest(&self, owner: &str) -> Digest {
        if owner.is_empty() {
            return Digest::of(&self.0);
        }
        let owner = Digest::of(owner.as_bytes());
        Digest::of(&[self.0.as_slice(), b" of ", owner.as_str().as_bytes()].concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_differ_and_are_not_shown() {
        let (one, other) = (Token::random().unwrap(), Token::random().unwrap());
        assert_eq!(one.bytes().len(), BYTES);
        assert_ne!(one, other);
        assert_ne!(one.digest(""), other.digest(""));
        assert_eq!(format!("{one:?}"), "Token(…)");
        assert_eq!(Token::of(one.bytes()).digest(""), one.digest(""));
    }

    #[test]
    fn a_token_of_another_owner_is_another_token() {
        let token = Token::random().unwrap();
        let digests = ["", "a", "b"].map(|owner| token.digest(owner));
        assert!(digests[0] != digests[1] && digests[1] != digests[2]);
        assert_eq!(token.digest("a"), digests[1]);
    }
}
