//! Values as resources hold them.

use rmcp::model::ResourceContents;
use serde_json::Value;

/// A value, as what stands behind this URI.
pub fn in_json(value: &Value, uri: &str) -> ResourceContents {
    ResourceContents::text(value.to_string(), uri).with_mime_type("application/json")
}
