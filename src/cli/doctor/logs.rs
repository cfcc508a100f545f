//! The check of a log: whether it is there, and whether its last lines are what they are said to be.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use headwater_engine::RemoteText;

use crate::sources::logs::LogSpec;
use crate::sources::logs::line::{Format, read};
use crate::sources::redis::ProbeStep;

/// How much of the end of a log is looked at.
const TAIL_BYTES: u64 = 64 * 1024;

/// What to do where lines have no id of the request.
const NO_IDS: &str = ": write the request's id into each line ($request_id in nginx, %REQ(X-REQUEST-ID)% in Envoy, \
                      'request_id' in JSON), or nobody sees that a request comes again";

/// Whether the last lines of an access log tell ids of requests; `None` where there is nothing to see.
pub(super) fn tells_ids(spec: &LogSpec) -> Option<bool> {
    let path = spec.file.as_ref()?;
    let bytes = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?.len();
    let tail = Tail::of(spec.format, &last_lines(path, bytes).ok()?)?;
    (tail.read > 0).then_some(tail.with_id > 0)
}

/// Opens a log's file and says how long it is and what its last lines tell; standard input is left alone.
pub(super) fn log(spec: &LogSpec) -> Vec<ProbeStep> {
    let step = |outcome: Result<String, String>| ProbeStep {
        subject: spec.subject.clone(),
        what: "log".into(),
        outcome: match outcome {
            Ok(seen) => Ok(RemoteText::new(&seen)),
            Err(reason) => Err(RemoteText::new(&reason)),
        },
        fix: None,
    };
    let Some(path) = &spec.file else {
        return vec![step(Ok("standard input: lines are counted as they come".to_owned()))];
    };
    let shown = path.display();
    match std::fs::File::open(path).and_then(|file| file.metadata()) {
        Ok(metadata) if metadata.is_file() => {
            let bytes = metadata.len();
            let seen = format!("'{shown}' has {bytes} bytes; what comes from now on is counted");
            let lines = last_lines(path, bytes).unwrap_or_default();
            let tail = Tail::of(spec.format, &lines).map(|tail| step(tail.outcome()));
            std::iter::once(step(Ok(seen))).chain(tail).collect()
        }
        Ok(_) => vec![step(Err(format!("'{shown}' is no file: check the path")))],
        Err(error) => {
            vec![step(Err(format!("'{shown}' cannot be read ({error}): check the path and its rights")))]
        }
    }
}

/// The whole lines at the end of a file.
fn last_lines(path: &Path, bytes: u64) -> std::io::Result<Vec<Vec<u8>>> {
    let from = bytes.saturating_sub(TAIL_BYTES);
    let mut file = std::fs::File::open(path)?;
    file.seek(SeekFrom::Start(from))?;
    let mut tail = vec![];
    file.take(TAIL_BYTES).read_to_end(&mut tail)?;
    let lines = tail.split(|byte| *byte == b'\n').skip(usize::from(from > 0));
    Ok(lines.map(<[u8]>::trim_ascii).filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect())
}

/// What the last lines of an access log tell.
struct Tail {
    lines: usize,
    read: usize,
    with_id: usize,
}

impl Tail {
    /// `None` where there is no line, or none of requests is expected.
    fn of(format: Format, lines: &[Vec<u8>]) -> Option<Self> {
        if format == Format::Plain || lines.is_empty() {
            return None;
        }
        let read: Vec<_> = lines.iter().filter_map(|line| read(format, line)).collect();
        let with_id = read.iter().filter(|access| access.id.is_some()).count();
        Some(Self { lines: lines.len(), read: read.len(), with_id })
    }

    fn outcome(&self) -> Result<String, String> {
        let Self { lines, read, with_id } = self;
        let told = format!("{read} of its last {lines} lines are in its format, {with_id} with an id");
        match (read, with_id) {
            (0, _) => Err(format!("{told}: see which 'format' it has")),
            (_, 0) => Ok(told + NO_IDS),
            _ => Ok(told),
        }
    }
}
