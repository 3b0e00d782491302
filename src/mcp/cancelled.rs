//! The error of a request that was cancelled.

use rmcp::{ErrorData, model::ErrorCode};

/// Its code: nobody is to be sent it. rmcp drops it by itself, unless the client has used the request's id again meanwhile.
pub const CANCELLED: ErrorCode = ErrorCode(-32800);

/// The error.
pub fn cancelled() -> ErrorData {
    ErrorData::new(CANCELLED, "cancelled", None)
}
