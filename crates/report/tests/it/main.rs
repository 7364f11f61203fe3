//! What the report's pages must hold, on hand-made runs.

mod base64;
mod browser;
mod folder;
mod hostile;
mod pages;
mod sample;
mod selection;
