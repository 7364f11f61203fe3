//! What should happen: the model, the readers of all formats, matrix, personas and plan.
