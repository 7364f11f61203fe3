//! What the handlers of the mock server share.

use std::sync::Arc;

use crate::mock::model::Mock;

use super::{qna, stats::Stats};

#[derive(Debug)]
pub(super) struct Served {
    pub(super) mock: Mock,
    pub(super) stats: Arc<Stats>,
    /// The knowledge base, if there is one.
    pub(super) qna: Option<Arc<qna::Served>>,
}
