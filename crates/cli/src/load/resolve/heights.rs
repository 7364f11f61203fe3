//! The rate or the number of slots over time: constant, or in stages, steps or a spike.

use scenario::load::{Profile, Stage};

use crate::{
    args::SLOTS,
    load::{
        fault::{Found, fault},
        settings::Pace,
        units::{Amount, Span},
    },
};

pub(super) fn start_micros(written: &Pace) -> u64 {
    written.start_time.map_or(0, |span| span.micros)
}

pub(super) fn delay(micros: u64) -> Vec<Stage> {
    if micros == 0 { Vec::new() } else { vec![Stage { micros, from: 0.0, to: 0.0 }] }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    Rate,
    Slots,
}

/// The rate or the number of slots over time.
pub(super) struct Heights<'a> {
    pub(super) written: &'a Pace,
    pub(super) of: Of,
}

impl Heights<'_> {
    /// `base`: the constant height, or where the stages begin.
    pub(super) fn profile(&self, base: Option<Amount>, key: &str) -> Found<Profile> {
        let written = self.written;
        let shapes = [
            ("stages", !written.stages.is_empty()),
            ("steps", written.steps.is_some()),
            ("spike", written.spike.is_some()),
        ];
        let mut shapes = shapes.into_iter().filter_map(|(key, is_written)| is_written.then_some(key));
        let shape = shapes.next();
        if let (Some(one), Some(other)) = (shape, shapes.next()) {
            return fault(other, format!("does not go with `{one}`: a pace has one shape"));
        }
        let of_stages = shape == Some("stages");
        for (key, is_written) in
            [("start_rate", written.start_rate.is_some()), ("start_slots", written.start_slots.is_some())]
        {
            if is_written && !of_stages {
                return fault(key, "is where `stages` begin, and there are none");
            }
        }
        let length = match (shape, written.duration) {
            (Some(shape @ ("stages" | "steps")), Some(_)) => {
                return fault("duration", format!("does not go with `{shape}`, which say how long they last"));
            }
            (Some("stages" | "steps"), None) => 0,
            (_, Some(span)) if span.micros > 0 => span.micros,
            (_, Some(_)) => return fault("duration", "is 0: nothing would start"),
            (_, None) => {
                return fault(
                    "duration",
                    "is missing\nhint: write for how long conversations start, such as `duration: 15m`",
                );
            }
        };
        let first = match base {
            Some(base) => self.height(base, key)?,
            None if of_stages => 0.0,
            None => return fault(key, "is missing"),
        };
        let mut stages = delay(start_micros(written));
        match shape {
            Some("stages") => self.stages(first, &mut stages)?,
            Some("steps") => self.steps(first, &mut stages)?,
            Some(_) => self.spike(first, length, &mut stages)?,
            None => self.constant(first, length, &mut stages)?,
        }
        Ok(Profile { stages })
    }

    fn height(&self, amount: Amount, key: &str) -> Found<f64> {
        match self.of {
            Of::Rate => {
                let rate = amount.per_second(self.written.time_unit);
                if rate > 1e6 {
                    return fault(key, format!("is {amount}, and at most 1000000 conversations start each second"));
                }
                Ok(rate)
            }
            Of::Slots => {
                let most = f64::from(*SLOTS.end());
                if amount.per.is_some() || amount.count.fract() != 0.0 || amount.count > most {
                    return fault(key, format!("is {amount}, and must be a whole number of slots from 0 to {most}"));
                }
                Ok(amount.count)
            }
        }
    }

    fn constant(&self, height: f64, micros: u64, stages: &mut Vec<Stage>) -> Found<()> {
        let mut left = micros;
        if let Some(spawn_rate) = self.written.spawn_rate {
            let each_second = spawn_rate.per_second(None);
            if each_second <= 0.0 {
                return fault("spawn_rate", "is 0: no slot would be added");
            }
            let ramp = ((height / each_second * 1e6) as u64).clamp(1, left);
            let reached = (each_second * ramp as f64 / 1e6).min(height);
            stages.push(Stage { micros: ramp, from: 0.0, to: reached });
            left -= ramp;
        }
        if left > 0 {
            stages.push(Stage { micros: left, from: height, to: height });
        }
        Ok(())
    }

    fn stages(&self, first: f64, stages: &mut Vec<Stage>) -> Found<()> {
        if self.written.spawn_rate.is_some() {
            return fault("spawn_rate", "does not go with `stages`");
        }
        if self.written.stages.iter().all(|stage| stage.duration.micros == 0) {
            return fault(
                "stages",
                "take no time: nothing would start\nhint: write `stages: [{ target: 10/s, duration: 5m }]`",
            );
        }
        let mut from = first;
        for stage in &self.written.stages {
            let to = self.height(stage.target, "stages")?;
            if stage.duration.micros > 0 {
                stages.push(Stage { micros: stage.duration.micros, from, to });
            }
            from = to;
        }
        Ok(())
    }

    fn steps(&self, first: f64, stages: &mut Vec<Stage>) -> Found<()> {
        let Some(steps) = self.written.steps else { return Ok(()) };
        let (by, to) = (self.height(steps.by, "steps.by")?, self.height(steps.to, "steps.to")?);
        if by <= 0.0 || to < first || steps.every.micros == 0 {
            return fault("steps", "must go up: `by` and `every` above 0, and `to` not below the first height");
        }
        let many = ((to - first) / by + 1e-9).floor();
        if many > 1000.0 {
            return fault("steps", format!("has {many} steps; at most 1000 are played"));
        }
        for step in 0..=many as u32 {
            let height = (first + by * f64::from(step)).min(to);
            stages.push(Stage { micros: steps.every.micros, from: height, to: height });
        }
        Ok(())
    }

    fn spike(&self, first: f64, length: u64, stages: &mut Vec<Stage>) -> Found<()> {
        let Some(spike) = self.written.spike else { return Ok(()) };
        let to = self.height(spike.to, "spike.to")?;
        let end = spike.after.micros.saturating_add(spike.duration.micros);
        if spike.duration.micros == 0 || end > length {
            return fault("spike", format!("ends after {}, and must lie within `duration`", Span { micros: end }));
        }
        let parts = [(spike.after.micros, first), (spike.duration.micros, to), (length - end, first)];
        let parts = parts.into_iter().filter(|(micros, _)| *micros > 0);
        stages.extend(parts.map(|(micros, height)| Stage { micros, from: height, to: height }));
        Ok(())
    }
}
