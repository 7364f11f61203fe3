//! What may be concluded: intervals, repeats and gates.
