//! The other coordinators of a store, and what the operator hears of them.

use std::sync::Arc;

use coordinator::peer::{News, World};
use pki::Authority;

use crate::{remote::Between, stdout};

#[derive(Debug)]
pub(super) struct Others {
    pub(super) authority: Option<Arc<Authority>>,
}

impl World for Others {
    type Way = Between;

    fn way_to(&self, address: &str) -> Result<Between, String> {
        Between::new(address, self.authority.clone()).map_err(|error| format!("{error:#}"))
    }

    fn tell(&self, news: News<'_>) {
        let told = match news {
            News::InCharge => stdout::line("in charge of the runs"),
            News::Relaying { name, address } => {
                stdout::line(&format!("relaying to coordinator {name} at {address}, which is in charge"))
            }
        };
        if let Err(error) = told {
            tracing::warn!("{error:#}");
        }
    }
}
