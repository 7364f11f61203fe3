//! A plan in; results and a summary out.
