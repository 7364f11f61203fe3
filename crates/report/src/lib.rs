//! A summary in, pages out.
