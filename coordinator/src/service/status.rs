//! Errors as gRPC status codes.

use tonic::Status;

use crate::{Error, aggregate};

pub(super) fn status(error: Error) -> Status {
    let text = error.to_string();
    match error {
        Error::SessionOver(_) | Error::NotYours(_) | Error::NotResumable { .. } => Status::failed_precondition(text),
        Error::Refused(_) => Status::invalid_argument(text),
        Error::Stopped | Error::Random(_) => Status::unavailable(text),
        Error::Read(aggregate::Error::UnknownRun(_) | aggregate::Error::PlanMissing(_)) => Status::not_found(text),
        Error::Read(aggregate::Error::Plan { .. }) => Status::data_loss(text),
        Error::Read(aggregate::Error::Store(error)) => match error {
            store::Error::Conflict(_) => Status::already_exists(text),
            store::Error::UnknownRun(_) => Status::not_found(text),
            store::Error::SessionOver(_) | store::Error::Running(_) => Status::failed_precondition(text),
            store::Error::Unwritable(_)
            | store::Error::InUse(_)
            | store::Error::Gone(_)
            | store::Error::TakenOver
            | store::Error::Unavailable(_)
            | store::Error::Failed(_) => Status::unavailable(text),
            store::Error::Version(_) => Status::internal(text),
        },
    }
}
