//! The persona library: all personas by name.

use std::collections::BTreeMap;

use super::Persona;

/// All personas by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Library {
    personas: BTreeMap<String, Persona>,
    /// `path:line` of each, to name the first one if a second has the same name.
    places: BTreeMap<String, String>,
}

impl Library {
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Persona> {
        self.personas.get(name)
    }

    /// In the order of the alphabet.
    pub fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.personas.keys().map(String::as_str)
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.personas.is_empty()
    }

    /// Adds a persona; `place` is its `path:line`.
    ///
    /// # Errors
    /// The place of the first persona with this name, which stays.
    pub fn add(&mut self, persona: Persona, place: String) -> Result<(), &str> {
        if self.places.contains_key(&persona.name) {
            return Err(&self.places[&persona.name]);
        }
        self.places.insert(persona.name.clone(), place);
        self.personas.insert(persona.name.clone(), persona);
        Ok(())
    }
}
