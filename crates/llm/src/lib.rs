//! Everything that asks a language model: clients, limits, retries and the mock model.
