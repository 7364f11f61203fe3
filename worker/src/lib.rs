//! Leased trials in; records out.
