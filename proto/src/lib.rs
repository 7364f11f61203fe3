//! The wire: generated messages, and their conversions to and from domain types.
