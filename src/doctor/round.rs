//! All checks side by side, and the time that they have together.

use std::{
    sync::{Arc, mpsc},
    thread,
    time::{Duration, Instant},
};

use super::{check::Check, finding::Finding, patient::Patient};

/// How long all checks have together.
pub const TIME: Duration = Duration::from_secs(10);

/// A check, and what it found.
#[derive(Debug)]
pub struct Examined {
    /// The check.
    pub check: &'static Check,
    /// What it found.
    pub findings: Vec<Finding>,
}

/// Looks at everything at once. What has not been found out within `time` is said to be unknown, and what still looks
/// then ends with the process.
pub fn examine(patient: &Arc<Patient>, checks: &[&'static Check], time: Duration) -> Vec<Examined> {
    let until = Instant::now() + time;
    let (sender, findings) = mpsc::channel();
    for (at, check) in checks.iter().enumerate() {
        let (sender, patient, look) = (sender.clone(), patient.clone(), check.look);
        // Where no thread can be made, the sender goes, and the check counts as one that failed.
        let _ = thread::Builder::new()
            .name(check.id.to_owned())
            .spawn(move || {
                let _ = sender.send((at, look(&patient)));
            });
    }
    drop(sender);
    let mut found: Vec<Option<Vec<Finding>>> = checks.iter().map(|_| None).collect();
    let missing = loop {
        match findings.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok((at, findings)) => found[at] = Some(findings),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                break format!("could not be checked within {} s", time.as_secs());
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                break "could not be checked: the check itself failed, which is a fault of this program".to_owned();
            }
        }
    };
    let checks = checks.iter().zip(found);
    checks
        .map(|(check, findings)| Examined {
            check,
            findings: findings.unwrap_or_else(|| vec![Finding::unknown(missing.clone())]),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{
        doctor::{check::Group, finding::Verdict},
        settings::{Flags, Folders},
        setup::machine::{Machine, System},
    };

    fn check(id: &'static str, look: fn(&Patient) -> Vec<Finding>) -> &'static Check {
        Box::leak(Box::new(Check {
            id,
            group: Group::Program,
            about: "",
            look,
        }))
    }

    fn patient() -> Arc<Patient> {
        let folders = Folders {
            config: None,
            state: "none".into(),
            shared: "none".into(),
        };
        let machine = Machine {
            system: System::Linux,
            home: "none".into(),
            here: "none".into(),
            program: "mcp-bridge".into(),
            variables: BTreeMap::new(),
        };
        Arc::new(Patient::new(&Flags::default(), machine, &folders, None))
    }

    #[test]
    fn checks_run_side_by_side_and_one_that_hangs_or_fails_keeps_no_other() {
        let slow = check("slow", |_| {
            thread::sleep(Duration::from_secs(60));
            Vec::new()
        });
        let well = check("well", |_| vec![Finding::ok("fine")]);
        let start = Instant::now();
        let examined = examine(&patient(), &[slow, well], Duration::from_millis(500));
        assert!(start.elapsed() < Duration::from_secs(30));
        let told: Vec<_> = examined
            .iter()
            .map(|one| (one.check.id, one.findings[0].verdict))
            .collect();
        assert_eq!(told, [("slow", Verdict::Unknown), ("well", Verdict::Ok)]);

        let fails = check("fails", |_| panic!("a test's own"));
        let examined = examine(&patient(), &[fails, well], Duration::from_secs(60));
        assert!(
            examined[0].findings[0].message.contains("failed"),
            "{examined:?}"
        );
        assert_eq!(examined[1].findings[0].verdict, Verdict::Ok);
    }
}
