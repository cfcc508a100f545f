//! The parent's side: starts the child, listens to it, and kills it at its deadline.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use headwater_engine::RemoteText;
use headwater_engine::metric::Unit;
use headwater_engine::quantity::show;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, Command};

use super::failure::BenchError;
use super::line::{Device, Line};
use super::plan::{BackendChoice, Plan};
use super::report::{BenchReport, SCHEMA, Skipped};
use crate::sources::nvml::LIBRARY_VARIABLE;

/// Lines of the child's standard error that are kept for the complaint.
const KEPT_LINES: usize = 3;

/// How long a killed child may take to be gone; one that a driver holds in the kernel cannot be waited for.
const BURIAL: Duration = Duration::from_secs(1);

/// Measures by a plan, in a child process. [`BackendChoice::Auto`] takes the CPU where there is no GPU, and says so; a GPU that
/// is there and fails is never replaced by the CPU: that it fails is the answer. Must be called within a tokio runtime whose
/// threads outlive the child.
pub async fn run(plan: &Plan) -> Result<BenchReport, BenchError> {
    match (plan.backend, measured(plan).await) {
        (BackendChoice::Auto, Err(BenchError::Absent(why))) => {
            let on_cpu = Plan { backend: BackendChoice::Cpu, ..plan.clone() };
            let mut report = measured(&on_cpu).await?;
            report.notes.insert(0, format!("measured on the CPU: {why}"));
            Ok(report)
        }
        (_, measured) => measured,
    }
}

async fn measured(plan: &Plan) -> Result<BenchReport, BenchError> {
    let mut child = start(plan).map_err(BenchError::NoChild)?;
    let mut heard = Heard::default();
    let begun = Instant::now();
    let ended = tokio::time::timeout(plan.deadline, listen(&mut child, &mut heard)).await;
    if !matches!(ended, Ok(Ok(Some(_)))) {
        // Dropping the child kills it as well; waiting spares the system a zombie, and tells whether it goes at all.
        let _ = child.start_kill();
        let _ = tokio::time::timeout(BURIAL, child.wait()).await;
    }
    let hung = |during, left| BenchError::Hung { deadline: plan.deadline, during, left };
    match ended {
        // Where this process was held up itself, the child ended itself first.
        Ok(Ok(Some(status))) if status.signal() == Some(9) && begun.elapsed() >= plan.deadline => {
            Err(hung(heard.during, None))
        }
        Ok(Ok(status)) => heard.report(status),
        Ok(Err(error)) => Err(BenchError::Failed { during: heard.during, why: error.to_string() }),
        // A child that has been waited for has no number any more.
        Err(_) => Err(hung(heard.during, child.id())),
    }
}

fn start(plan: &Plan) -> std::io::Result<Child> {
    command(plan)?.spawn()
}

fn command(plan: &Plan) -> std::io::Result<Command> {
    let program = match &plan.program {
        Some(program) => program.clone(),
        None => own_binary()?,
    };
    let written = serde_json::to_string(plan)?;
    let mut command = Command::new(program);
    command
        .args(["bench-child", "--plan", &written, "--parent", &std::process::id().to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    // The numbers of GPUs are then those of NVML and nvidia-smi, also where that cannot be asked. What somebody chose by number
    // would be others in another order.
    if ["CUDA_DEVICE_ORDER", "CUDA_VISIBLE_DEVICES"].iter().all(|name| std::env::var_os(name).is_none()) {
        command.env("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    }
    command.envs(plan.nvml_library.iter().map(|library| (LIBRARY_VARIABLE, library)));
    Ok(command)
}

/// The binary that runs now, even if another one was put in its place since.
fn own_binary() -> std::io::Result<PathBuf> {
    let running = PathBuf::from("/proc/self/exe");
    if running.exists() { Ok(running) } else { std::env::current_exe() }
}

/// What the child has told so far.
#[derive(Debug, Default)]
struct Heard {
    device: Option<Box<Device>>,
    during: Option<String>,
    lines: Vec<Line>,
    said: VecDeque<String>,
}

/// Listens until the child has told its last line, which is `None`, or has ended without it. What it does after its last line is
/// not waited for: a driver may hang while it is left.
async fn listen(child: &mut Child, heard: &mut Heard) -> std::io::Result<Option<ExitStatus>> {
    let Heard { device, during, lines, said } = heard;
    let (told, complaints) = (child.stdout.take(), child.stderr.take());
    let told = each_line(told, |line| match serde_json::from_str::<Line>(line) {
        Ok(Line::Opened(opened)) => {
            *device = Some(opened);
            ControlFlow::Continue(())
        }
        Ok(Line::Begun(kernel)) => {
            *during = Some(kernel);
            ControlFlow::Continue(())
        }
        Ok(line) => {
            if !matches!(line, Line::Failed(_)) {
                *during = None;
            }
            let is_last = !matches!(line, Line::Fitted(..) | Line::Timed(_) | Line::Skipped(_));
            lines.push(line);
            if is_last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
        // A driver may print to standard output what it likes.
        Err(_) => ControlFlow::Continue(()),
    });
    let complaints = each_line(complaints, |line| {
        said.push_back(RemoteText::new(line).as_str().to_owned());
        if said.len() > KEPT_LINES {
            said.pop_front();
        }
        ControlFlow::Continue(())
    });
    let (mut told, mut complaints) = (std::pin::pin!(told), std::pin::pin!(complaints));
    let mut are_read = false;
    let has_told = loop {
        tokio::select! {
            told = &mut told => break told?,
            read = &mut complaints, if !are_read => {
                let _ = read?;
                are_read = true;
            }
        }
    };
    if has_told.is_break() {
        return Ok(None);
    }
    if !are_read {
        let _ = complaints.await?;
    }
    child.wait().await.map(Some)
}

/// Gives each line of a stream, as far as it is text, to `take`, until that has enough.
async fn each_line(
    stream: Option<impl AsyncRead + Unpin>,
    mut take: impl FnMut(&str) -> ControlFlow<()>,
) -> std::io::Result<ControlFlow<()>> {
    let Some(stream) = stream else { return Ok(ControlFlow::Continue(())) };
    let mut reader = BufReader::new(stream);
    let mut line = vec![];
    while reader.read_until(b'\n', &mut line).await? > 0 {
        if take(String::from_utf8_lossy(&line).trim_end()).is_break() {
            return Ok(ControlFlow::Break(()));
        }
        line.clear();
    }
    Ok(ControlFlow::Continue(()))
}

impl Heard {
    fn report(self, status: Option<ExitStatus>) -> Result<BenchReport, BenchError> {
        let during = self.during;
        let mut kernels = vec![];
        let mut skipped: Vec<Skipped> = vec![];
        let mut fitted = None;
        let mut done = None;
        for line in self.lines {
            match line {
                Line::Absent(why) => return Err(BenchError::Absent(why)),
                Line::Unusable(why) => return Err(BenchError::Unusable(why)),
                Line::Held(why) => return Err(BenchError::Held(why)),
                Line::Refused(why) => return Err(BenchError::Refused(why)),
                Line::Failed(why) => {
                    return Err(BenchError::Failed { during, why: RemoteText::new(&why).to_string() });
                }
                Line::Fitted(taken, wanted) => fitted = Some((taken, wanted)),
                Line::Timed(result) => kernels.push(result),
                Line::Skipped(left_out) => skipped.push(left_out),
                Line::Done(end) => done = Some(end),
                Line::Opened(_) | Line::Begun(_) => {}
            }
        }
        let (Some(device), Some(done)) = (self.device, done) else {
            let said = self.said.into_iter().collect::<Vec<_>>().join(" ");
            return Err(BenchError::Died { how: ended(status), during, said });
        };
        let mut conditions = device.conditions;
        conditions.spent_s = done.spent_s;
        conditions.during = done.during;
        let mut notes = device.notes;
        if let Some((taken, wanted)) = fitted {
            conditions.working_set_bytes = taken;
            notes.push(format!(
                "bandwidth is measured over {} instead of {}, because the budget is too short to fill more",
                show(taken as f64, Unit::Bytes),
                show(wanted as f64, Unit::Bytes)
            ));
        }
        if conditions.cache_bytes.is_some_and(|cache| cache * 2 > conditions.working_set_bytes) {
            notes.push(
                "the cache is large beside what is worked on: bandwidths are partly those of the cache"
                    .to_owned(),
            );
        }
        Ok(BenchReport {
            schema: SCHEMA,
            backend: device.backend,
            // A driver's words come from outside.
            device: RemoteText::new(&device.device).to_string(),
            index: device.index,
            slice: device.slice,
            driver: device.driver.map(|driver| RemoteText::new(&driver).to_string()),
            at: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            kernels,
            skipped,
            conditions,
            notes: notes.iter().map(|note| RemoteText::new(note).to_string()).collect(),
        })
    }
}

/// How a process ended, in words.
fn ended(status: Option<ExitStatus>) -> String {
    let Some(status) = status else { return "told no device".to_owned() };
    match (status.signal(), status.code()) {
        (Some(9), _) => "was killed (signal 9), perhaps because the host has no memory left".to_owned(),
        (Some(signal), _) => format!("crashed (signal {signal})"),
        (None, code) => format!("ended early with code {}", code.unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_asks_the_library_that_is_configured() {
        let mut plan = Plan::new(BackendChoice::Auto, Duration::from_secs(1));
        let told = |plan: &Plan| {
            let command = command(plan).unwrap();
            let mut all = command.as_std().get_envs().filter(|(name, _)| *name == LIBRARY_VARIABLE);
            all.next().and_then(|(_, value)| value.map(PathBuf::from))
        };
        assert_eq!(told(&plan), None, "what the environment says stays");
        plan.nvml_library = Some("/opt/nvml.so".into());
        assert_eq!(told(&plan), plan.nvml_library);
    }

    #[test]
    fn a_child_that_ends_without_a_result_is_told_with_what_it_did_last() {
        let heard = |lines, during: Option<&str>| Heard {
            during: during.map(str::to_owned),
            lines,
            said: ["one".to_owned(), "two".to_owned()].into(),
            device: None,
        };
        let sentence =
            |heard: Heard, status| heard.report(Some(ExitStatus::from_raw(status))).unwrap_err().to_string();
        assert_eq!(
            sentence(heard(vec![], Some("gemm")), 11),
            "the benchmark's process crashed (signal 11) during 'gemm': one two"
        );
        assert!(sentence(heard(vec![], None), 9).contains("was killed (signal 9)"));
        assert!(sentence(heard(vec![], None), 3 << 8).contains("ended early with code 3"));
        let failed = Line::Failed("an illegal\u{1b} address".to_owned());
        let said = sentence(heard(vec![failed], Some("copy")), 0);
        assert_eq!(said, "the benchmark failed during 'copy': an illegal\\x1b address");
    }
}
