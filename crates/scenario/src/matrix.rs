//! `*.matrix.yaml`: a base scenario, and the axes that it is multiplied by.

pub mod combination;

use serde_json::Value;
use yaml::Spot;

use crate::plan::Axis;

/// A matrix file as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    /// As the user named it.
    pub path: String,
    pub name: String,
    pub description: Option<String>,
    /// Relative to the matrix file.
    pub base_scenario: String,
    pub base_spot: Spot,
    /// First outermost, last fastest; never empty.
    pub axes: Vec<Axis>,
    /// Where the axes are written, one for one.
    pub places: Vec<AxisPlace>,
    /// Combinations that are not played.
    pub exclude: Vec<Cell>,
    /// Combinations that are played as well.
    pub include: Vec<Cell>,
    /// Names of personas of the library; empty: what the scenario says.
    pub personas: Vec<String>,
    pub personas_spot: Spot,
    pub tags: Vec<String>,
    /// How often each combination is played; `None`: what the scenario says.
    pub repeats: Option<u32>,
}

/// Values of axes, by the names of the axes: the whole path or its last part.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    pub values: Vec<(String, Value)>,
    pub spot: Spot,
}

/// Where an axis is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AxisPlace {
    pub parameter: Spot,
    pub values: Vec<Spot>,
}

impl Matrix {
    /// The name of the file without its folder and its ending.
    #[must_use]
    pub fn stem(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or(&self.path);
        let name = [".yaml", ".yml"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
        name.strip_suffix(".matrix").unwrap_or(name)
    }
}
