//! What went wrong with a login server, in a person's words.

use std::error::Error;

use rmcp::transport::auth::AuthError;

use crate::upstream::http::words::reason;

/// What the `oauth2` crate says where a login server did not answer; it does not tell why.
pub const NO_ANSWER: &str = "Request failed";

/// Why a login server gave nothing.
pub fn words(error: &AuthError) -> String {
    match error {
        AuthError::HttpError(error) => reason(error),
        AuthError::DiscoveryRequestFailed { url, source } => {
            let source: &(dyn Error + 'static) = source.as_ref();
            format!("{url} can't be read: {}", reason(source))
        }
        AuthError::RegistrationFailed(why) => {
            format!("its login server takes no program that it does not know: {why}")
        }
        AuthError::TokenExchangeFailed(why) | AuthError::TokenRefreshFailed(why)
            if why == NO_ANSWER =>
        {
            "its login server gave no answer when it was asked for a token: try again".to_owned()
        }
        AuthError::TokenExchangeFailed(why) | AuthError::TokenRefreshFailed(why) => {
            format!("its login server gave no token: {why}")
        }
        AuthError::CredentialStoreError(why) => why.clone(),
        other => other.to_string(),
    }
}
