//! What every kind of check says of itself, in a file of its own.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::{place::Place, question::Question};

pub trait Kind: Sized {
    /// The fields as a scenario file has them. Their JSON Schema describes the kind in editors and in the documentation.
    type Written: DeserializeOwned + JsonSchema + 'static;

    /// Whether it looks at a text alone. Only such a check can stand within another one.
    const IS_ABOUT_TEXT: bool = false;

    /// Whether it asks a judge itself, so that it takes the keys of [`super::Judging`].
    const ASKS_JUDGE: bool = false;

    /// Makes the check, and reports what is wrong with it beyond the types of its fields.
    fn read(written: Self::Written, place: &mut Place<'_, '_>) -> Option<Self>;

    /// What it asks of models each time it judges, checks within it included.
    fn questions(&self) -> Vec<Question<'_>> {
        Vec::new()
    }
}
