//! The interface of a kind of check, each in its own file.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::{place::Place, question::Question};

pub trait Kind: Sized {
    /// The fields as a scenario file has them. Their JSON Schema describes the kind in editors and in the documentation.
    type Written: DeserializeOwned + JsonSchema + 'static;

    /// Whether it looks only at a text. Only such a check can be inside another one.
    const IS_ABOUT_TEXT: bool = false;

    /// Whether it asks a judge itself, so that it takes the keys of [`super::Judging`].
    const ASKS_JUDGE: bool = false;

    /// Whether its judge can see more than the turns: it takes `sees`, `reference` and `policy`.
    const SHOWS_MATERIAL: bool = false;

    /// Creates the check, and reports faults beyond the types of its fields.
    fn read(written: Self::Written, place: &mut Place<'_, '_>) -> Option<Self>;

    /// Its questions to models each time it judges, including inner checks.
    fn questions(&self) -> Vec<Question<'_>> {
        Vec::new()
    }
}
