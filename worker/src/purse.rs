//! What a purse says, on the wire.

use llm::money::Statement;
use proto::v1;

pub(crate) fn to_wire((run, said): (String, Statement)) -> v1::Purse {
    let Statement { returned, charged, reserved, wanted, need, dearest, running } = said;
    v1::Purse { run, returned, charged, reserved, wanted, need, dearest, running }
}
