//! The worker's side of the protocol against a coordinator that says what the test wants it to say.
