//! Keys never leave the process: registered secrets and everything that looks like one are replaced in all outgoing
//! text.
//!
//! [`register`] is called where a key is resolved, [`redact`] where text leaves. The redactor finds registered secrets
//! as they are and in JSON, URLs and base64 (`variants`), and unknown ones by their shape (`shapes`). A text that was
//! cut before may end with a part of a secret (`cuts`).

mod cuts;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod mark;
mod redactor;
mod shapes;
mod variants;

pub use mark::{MARK, SHORTEST_SECRET};
pub use redactor::{Redactor, known, redact, register};
