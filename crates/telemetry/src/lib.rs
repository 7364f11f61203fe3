//! Logs, and the redactor that every sink passes.
