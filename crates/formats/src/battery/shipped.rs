//! The data sets that come with gabfest.

use std::sync::LazyLock;

use scenario::battery::{Answer, DataSet};
use yaml::Diagnostic;

use super::data::data_sets;

/// The sets that come with gabfest. Set 1203 says that a dog is no dog in revision 9043c93, which `compat` keeps.
#[must_use]
pub fn shipped(compat: bool) -> Vec<DataSet> {
    let mut sets = SHIPPED.clone();
    if compat {
        for set in sets.iter_mut().filter(|set| set.id == 1203) {
            set.answer = Some(Answer::Yes(false));
        }
    }
    sets
}

static SHIPPED: LazyLock<Vec<DataSet>> = LazyLock::new(|| {
    read(include_str!("shipped.yaml")).unwrap_or_else(|faults| panic!("the shipped data sets are sound: {faults:?}"))
});

fn read(text: &str) -> Result<Vec<DataSet>, Vec<Diagnostic>> {
    let document = yaml::open(text, "shipped.yaml").map_err(|fault| vec![fault])?;
    let mut findings = yaml::Findings::new("shipped.yaml");
    let sets = data_sets(&document.root().items_of("data"), &mut findings);
    if findings.has_errors() { Err(findings.into_sorted()) } else { Ok(sets) }
}

#[cfg(test)]
mod tests {
    use scenario::battery::Kind;

    use super::*;

    #[test]
    fn the_shipped_sets_are_sound_and_of_every_kind() {
        let sets = shipped(false);
        let count = |kind: Kind| sets.iter().filter(|set| set.kind == kind).count();
        assert_eq!([Kind::Qa, Kind::Co, Kind::Ia, Kind::Iq, Kind::If].map(count), [5, 2, 4, 4, 2]);
        let dog = |compat: bool| shipped(compat).into_iter().find(|set| set.id == 1203).unwrap().answer;
        assert_eq!((dog(false), dog(true)), (Some(Answer::Yes(true)), Some(Answer::Yes(false))));
    }
}
