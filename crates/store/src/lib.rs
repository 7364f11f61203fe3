//! Where a run is kept.
