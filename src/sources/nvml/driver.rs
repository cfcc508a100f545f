//! The one thread that talks to the driver, and how others wait for its answers.

use std::ffi::OsString;
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use headwater_engine::metric::Unit;
use headwater_engine::quantity::show;
use tokio::sync::oneshot;

use super::known::Listed;
use super::session::{Looked, serve};
use super::trouble::Trouble;

/// What the thread is asked for, with where the answer goes. Whoever asked may have gone; then it is dropped.
#[derive(Debug)]
pub(super) enum Request {
    /// Which GPUs there are.
    List(oneshot::Sender<Result<Listed, Trouble>>),
    /// Everything about one GPU.
    Look(u32, oneshot::Sender<Looked>),
}

/// The way to the thread. It begins with the first request, and nobody waits for its end: it may hang in the kernel.
#[derive(Debug)]
pub(super) struct Driver {
    library: OsString,
    requests: Mutex<Option<mpsc::Sender<Request>>>,
    doing: Arc<Doing>,
}

impl Driver {
    pub(super) fn new(library: OsString) -> Self {
        Self { library, requests: Mutex::new(None), doing: Arc::default() }
    }

    /// Hands a request over; it is dropped, and with it the way of its answer, where no thread can be had.
    fn hand_over(&self, request: Request) {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let mut request = Some(request);
        if let Some(way) = &*requests {
            request = request.and_then(|request| way.send(request).err()).map(|unsent| unsent.0);
        }
        let Some(request) = request else { return };
        let (send, receive) = mpsc::channel();
        let (library, doing) = (self.library.clone(), Arc::clone(&self.doing));
        let thread = std::thread::Builder::new().name("nvml".to_owned());
        if thread.spawn(move || serve(&library, &receive, &doing)).is_ok() {
            // The thread has just begun to listen.
            let _ = send.send(request);
            *requests = Some(send);
        }
    }
}

/// The call that the thread is in, for those who wait for it.
#[derive(Debug, Default)]
pub(super) struct Doing(Mutex<Option<Call>>);

#[derive(Clone, Copy, Debug)]
struct Call {
    name: &'static str,
    gpu: Option<u32>,
    since: Instant,
}

impl Doing {
    /// Notes that a call begins.
    pub(super) fn begin(&self, name: &'static str, gpu: Option<u32>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(Call { name, gpu, since: Instant::now() });
    }

    /// Notes that no call is under way.
    pub(super) fn end(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn now(&self) -> Option<Call> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An answer that is not there in time.
#[derive(Debug)]
pub(super) struct Silence {
    waited: Duration,
    during: Option<Call>,
    /// Whether the thread that would answer is gone.
    is_gone: bool,
}

impl Silence {
    /// Whether whoever asked about this GPU waits for a call about another one.
    pub(super) fn is_of_another(&self, asked: u32) -> bool {
        self.during.is_some_and(|call| call.gpu.is_some_and(|gpu| gpu != asked))
    }

    /// What is said of it to whoever asked about this GPU, or about all of them.
    pub(super) fn words(&self, asked: Option<u32>) -> String {
        let seconds = |span: Duration| show(span.as_secs_f64(), Unit::Seconds);
        if self.is_gone {
            return "the thread that talks to the NVIDIA driver cannot be started or has ended: restart Headwater, and \
                    tell its authors"
                .to_owned();
        }
        let Some(call) = &self.during else {
            return format!("the NVIDIA driver has not answered for {}", seconds(self.waited));
        };
        let of = call.gpu.map_or_else(String::new, |gpu| format!(" of GPU {gpu}"));
        let hangs = format!("'{}'{of} has not answered for {}", call.name, seconds(call.since.elapsed()));
        if asked.is_some_and(|asked| self.is_of_another(asked)) {
            return format!("not seen, because the NVIDIA driver hangs: {hangs}");
        }
        format!("the NVIDIA driver hangs: {hangs}; see 'dmesg' for what it says of it")
    }
}

/// One answer at a time that is waited for: one that comes late is still taken, and nothing is asked beside it.
#[derive(Debug)]
pub(super) struct Pending<T> {
    awaited: Option<(Instant, oneshot::Receiver<T>)>,
}

impl<T> Default for Pending<T> {
    fn default() -> Self {
        Self { awaited: None }
    }
}

impl<T> Pending<T> {
    /// Waits for the answer that is under way, else asks; for so long.
    pub(super) async fn ask(
        &mut self,
        driver: &Driver,
        patience: Duration,
        request: impl FnOnce(oneshot::Sender<T>) -> Request,
    ) -> Result<T, Silence> {
        let (since, answer) = self.awaited.get_or_insert_with(|| {
            let (send, receive) = oneshot::channel();
            driver.hand_over(request(send));
            (Instant::now(), receive)
        });
        let since = *since;
        let answer = tokio::time::timeout(patience, answer).await;
        if answer.is_ok() {
            self.awaited = None;
        }
        match answer {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_)) => Err(Silence { waited: since.elapsed(), during: None, is_gone: true }),
            Err(_) => Err(Silence { waited: since.elapsed(), during: driver.doing.now(), is_gone: false }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn silence(during: Option<(&'static str, Option<u32>)>) -> Silence {
        let call = |(name, gpu)| Call { name, gpu, since: Instant::now() };
        Silence { waited: Duration::from_secs(12), during: during.map(call), is_gone: false }
    }

    #[test]
    fn a_silence_names_the_call_and_whose_fault_it_is() {
        let own = silence(Some(("nvmlDeviceGetTemperature", Some(1)))).words(Some(1));
        assert!(own.starts_with("the NVIDIA driver hangs: 'nvmlDeviceGetTemperature' of GPU 1"), "{own}");
        let others = silence(Some(("nvmlDeviceGetTemperature", Some(1)))).words(Some(0));
        assert!(others.starts_with("not seen, because the NVIDIA driver hangs"), "{others}");
        let all = silence(Some(("nvmlInit_v2", None))).words(Some(0));
        assert!(all.starts_with("the NVIDIA driver hangs: 'nvmlInit_v2' has not answered"), "{all}");
        assert_eq!(silence(None).words(None), "the NVIDIA driver has not answered for 12 s");
    }
}
