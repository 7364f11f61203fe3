//! What the mock served by its own count: no call and no money may be missing in the report.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
};

use anyhow::Context as _;
use serde_json::Value;

use super::fleet::PRICE;

#[derive(Debug)]
pub(super) struct Ledger(Value);

impl Ledger {
    pub(super) fn of(mock: SocketAddr) -> anyhow::Result<Self> {
        let mut stream = TcpStream::connect(mock).context("the mock is gone")?;
        stream.write_all(b"GET /stats HTTP/1.0\r\n\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        let body = text.split_once("\r\n\r\n").map(|(_, body)| body).context("the mock has no statistics")?;
        Ok(Self(serde_json::from_str(body)?))
    }

    fn charged(&self) -> f64 {
        let tokens = |which: &str| -> f64 {
            let roles = self.0["tokens"].as_object();
            roles.into_iter().flat_map(|roles| roles.values()).filter_map(|role| role[which].as_f64()).sum()
        };
        (tokens("input") * PRICE.0 + tokens("output") * PRICE.1) / 1e6
    }

    /// In which points the report disagrees.
    pub(super) fn broken(&self, report: &Value, max_cost: f64) -> Vec<String> {
        let budget = &report["summary"]["budget"];
        let usd = |name: &str| budget[name].as_f64().unwrap_or(f64::NAN);
        let (charged, known) = (self.charged(), usd("spent_usd") + usd("unsettled_usd"));
        let mut broken = Vec::new();
        if (usd("max_cost_usd") - max_cost).abs() > 1e-5 {
            broken.push(format!("the budget is ${}, and ${max_cost:.6} was given", usd("max_cost_usd")));
        }
        let is_within = charged > 0.0 && charged <= max_cost + 1e-9;
        if !is_within {
            broken.push(format!("the mock charged ${charged:.6}, and the budget is ${max_cost:.6}"));
        }
        if known.is_nan() || charged > known + 1e-9 {
            broken.push(format!("the mock charged ${charged:.6}, and the report knows of ${known:.6}"));
        }
        broken
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn money_that_is_missing_or_too_much_is_found() {
        let ledger = Ledger(
            json!({ "tokens": { "agent": { "input": 100_000, "output": 10_000 }, "judge": { "input": 0, "output": 10_000 } } }),
        );
        assert!((ledger.charged() - 0.3).abs() < 1e-12);
        let report = |most: f64, spent: f64, unsettled: f64| json!({ "summary": { "budget": { "max_cost_usd": most, "spent_usd": spent, "unsettled_usd": unsettled } } });
        assert_eq!(ledger.broken(&report(1.0, 0.2, 0.1), 1.0), Vec::<String>::new());
        assert!(ledger.broken(&report(1.0, 0.2, 0.05), 1.0)[0].contains("the report knows of $0.25"));
        assert!(ledger.broken(&report(0.25, 0.3, 0.0), 0.25)[0].contains("the budget is $0.25"));
        assert!(!ledger.broken(&json!({}), 1.0).is_empty());
    }
}
