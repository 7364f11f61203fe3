//! How a reply is judged.
