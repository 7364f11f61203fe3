//! `*.matrix.yaml`: a base scenario, and the axes that it is multiplied by.

pub mod combination;

use serde_json::Value;
use yaml::Spot;

use crate::plan::Axis;

/// The content of a matrix file.
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
    /// The positions of the axes in the file, in the same order.
    pub places: Vec<AxisPlace>,
    /// Combinations that are not played.
    pub exclude: Vec<Cell>,
    /// Additional combinations.
    pub include: Vec<Cell>,
    /// Names of personas from the library; empty: those of the scenario.
    pub personas: Vec<String>,
    pub personas_spot: Spot,
    pub tags: Vec<String>,
    /// How often each combination is played; `None`: as in the scenario.
    pub repeats: Option<u32>,
}

/// Values of axes, by the names of the axes: the whole path or its last part.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    pub values: Vec<(String, Value)>,
    pub spot: Spot,
}

/// The position of an axis in its file.
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
