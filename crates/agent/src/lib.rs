//! The system under test: one file per kind of connection.
