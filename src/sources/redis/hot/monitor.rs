//! MONITOR for a second or two: every command that the shard is sent, of which only keys are kept, and few.
//!
//! It costs the server much, so it ends as soon as the node answers slower or what it sends piles up. While it is paused
//! the connection is closed: an open one that is not read would fill the server's memory.

mod counter;
mod line;

use std::time::Duration;

use headwater_engine::reading::ScanState;
use tokio::time::{Instant, sleep_until};

use super::{End, KEEP, Run};
use crate::sources::LONGEST_WAIT;
use crate::sources::redis::allowed::Command;
use crate::sources::redis::connection::{Connection, Listener};
use crate::sources::redis::trouble::Trouble;
use counter::Counter;

/// The longest that MONITOR may run.
pub const LONGEST: Duration = Duration::from_secs(2);

/// The shortest that says anything.
const SHORTEST: Duration = Duration::from_millis(100);

/// How often the node is asked for an answer meanwhile, and progress is told.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How often it is asked before, to know what is usual.
const USUAL_OF: usize = 5;

/// An answer that takes this much longer than usual, and this long, ends it.
const TIMES_USUAL: f64 = 10.0;
const SLOW_ANSWER: Duration = Duration::from_millis(250);

/// What is read this much later than the least late was is piling up.
const PILED_UP: Duration = Duration::from_millis(500);

/// How much is read at once, in bytes.
const BUFFER: usize = 64 * 1024;

/// What is missing where our own commands cannot be left out, in the words that users see.
const APART: &str = "MONITOR without our own commands";

/// How one stretch of listening ended.
enum Stretch {
    Over,
    Paused,
}

/// Listens for as long as was allowed, in stretches between pauses.
pub(super) async fn search(run: &mut Run) -> Result<(), End> {
    let longest = run.job.budget.monitor.clamp(SHORTEST, LONGEST);
    run.search.seconds_in_all = longest.as_secs_f64();
    let mut usual = vec![];
    for _ in 0..USUAL_OF {
        let (connection, _) = run.open().await?;
        usual.push(answer_time(connection).await?);
    }
    usual.sort();
    let slow = SLOW_ANSWER.max(usual[USUAL_OF / 2].mul_f64(TIMES_USUAL));
    if run.known()?.cost.ends().is_empty() {
        let why = "behind a proxy or a Unix socket they cannot be told apart, and count with the others";
        run.lacks(APART, why).await;
    }
    run.tell(ScanState::Running).await;
    let mut counter = Counter::default();
    let mut left = longest;
    loop {
        run.while_paused().await;
        let known = run.known()?;
        let deadline = Instant::now() + LONGEST_WAIT;
        let mut listener =
            Listener::open(&known.dial, &known.access, &known.cost, Command::Monitor, deadline).await?;
        counter.ours =
            known.cost.ends().into_iter().chain(listener.end()).map(|end| end.to_string()).collect();
        let began = Instant::now();
        let ended = listen(run, &mut listener, &mut counter, began + left, slow).await;
        // It ends at the server before anything else is done.
        drop(listener);
        left = left.saturating_sub(began.elapsed());
        run.search.seconds = (longest - left).as_secs_f64();
        told(run, &counter);
        match ended? {
            Stretch::Paused if !left.is_zero() => {}
            _ => return Ok(()),
        }
    }
}

/// Counts what comes until the end, a pause, or until the node suffers.
async fn listen(
    run: &mut Run,
    listener: &mut Listener,
    counter: &mut Counter,
    end: Instant,
    slow: Duration,
) -> Result<Stretch, End> {
    run.open().await?;
    let Some(mut connection) = run.connection.take() else { return Ok(Stretch::Over) };
    let before = run.search.seconds;
    let began = Instant::now();
    let hold = run.job.hold.clone();
    let cost = run.known()?.cost.clone();
    let mut buffer = vec![0; BUFFER];
    let mut looks = std::pin::pin!(looks(&mut connection, slow));
    let mut next_told = began + LOOK_EVERY;
    loop {
        tokio::select! {
            () = sleep_until(end) => return Ok(Stretch::Over),
            () = hold.begins() => return Ok(Stretch::Paused),
            suffers = &mut looks => return Err(suffers),
            read = listener.read(&mut buffer) => {
                // The poller may have opened a new one, and so may a scan.
                counter.ours.extend(cost.ends().iter().map(ToString::to_string));
                counter.take(&buffer[..read?], crate::sources::now());
                if counter.is_late_by(PILED_UP) {
                    return Err(End::Early("what it sends piles up: ended at once".to_owned()));
                }
            }
        }
        if Instant::now() >= next_told {
            next_told = Instant::now() + LOOK_EVERY * 2;
            run.search.seconds = before + began.elapsed().as_secs_f64();
            told(run, counter);
            // Nothing here may wait for whoever listens to us: meanwhile nobody would read what the server sends.
            run.tell_if_heard();
        }
    }
}

/// Asks the node for an answer again and again; returns when it takes too long.
async fn looks(connection: &mut Connection, slow: Duration) -> End {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let asked = answer_time(connection);
        match tokio::time::timeout(slow, asked).await {
            Ok(Ok(_)) => {}
            Ok(Err(trouble)) => return trouble.into(),
            Err(_) => {
                let why =
                    format!("the node took longer than {} ms to answer: ended at once", slow.as_millis());
                return End::Early(why);
            }
        }
    }
}

async fn answer_time(connection: &mut Connection) -> Result<Duration, Trouble> {
    let asked = Instant::now();
    connection.ask(Command::Ping, asked + LONGEST_WAIT).await?;
    Ok(asked.elapsed())
}

fn told(run: &mut Run, counter: &Counter) {
    run.search.counted = counter.operations;
    run.search.keys = counter.hottest(KEEP, run.search.seconds, |key| run.slot(key));
}

/// Counts bytes as MONITOR may send them, for fuzzing.
pub(in crate::sources::redis) fn read_monitored(bytes: &[u8]) {
    let mut counter = Counter::default();
    for piece in bytes.chunks(7) {
        counter.take(piece, headwater_engine::Moment::default());
    }
    let _ = counter.hottest(KEEP, 1.0, |_| None);
}
