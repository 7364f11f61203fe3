//! Every real file is opened by a test, or has a reason why not.
#![expect(clippy::unwrap_used, reason = "in a test, what cannot be unwrapped is the failure that it reports")]

mod claims;
mod inventory;
