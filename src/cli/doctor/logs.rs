//! The check of a log: whether it is there.

use headwater_engine::RemoteText;

use crate::sources::logs::LogSpec;
use crate::sources::redis::ProbeStep;

/// Opens a log's file and says how long it is; standard input is left alone.
pub(super) fn log(spec: &LogSpec) -> ProbeStep {
    let outcome = match &spec.file {
        None => Ok(RemoteText::new("standard input: lines are counted as they come")),
        Some(path) => {
            let shown = path.display();
            match std::fs::File::open(path).and_then(|file| file.metadata()) {
                Ok(metadata) if metadata.is_file() => {
                    let text =
                        format!("'{shown}' has {} bytes; what comes from now on is counted", metadata.len());
                    Ok(RemoteText::new(&text))
                }
                Ok(_) => Err(RemoteText::new(&format!("'{shown}' is no file: check the path"))),
                Err(error) => {
                    let text = format!("'{shown}' cannot be read ({error}): check the path and its rights");
                    Err(RemoteText::new(&text))
                }
            }
        }
    };
    ProbeStep { subject: spec.subject.clone(), what: "log".into(), outcome, fix: None }
}
