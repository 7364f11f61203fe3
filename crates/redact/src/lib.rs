//! Keys never leave the process: live secrets and whatever looks like one are replaced in every text that goes out.
//!
//! [`register`] is called where a key is resolved, [`redact`] where text leaves. The redactor finds known secrets as they are
//! and as JSON, URLs and base64 carry them (`variants`), and unknown ones by their shape (`shapes`). A text that was cut
//! short before it came here may end in the beginning of a secret (`cuts`).

mod cuts;
mod mark;
mod redactor;
mod shapes;
mod variants;

pub use mark::{MARK, SHORTEST_SECRET};
pub use redactor::{Redactor, known, redact, register};
