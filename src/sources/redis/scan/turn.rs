//! One turn of a scan: everything that is due travels in one go, and every answer is booked.

use headwater_engine::reading::FaultKind;
use redis::Value;
use tokio::time::Instant;

use super::super::allowed::Command;
use super::super::cost::adds_hit;
use super::super::reply::{integer, text};
use super::super::trouble::Trouble;
use super::run::Run;
use super::{PATIENCE, read_scan};
use crate::sources::now;

/// A cursor with the names of the keys before it.
type Names = (u64, Vec<Vec<u8>>);

impl Run<'_> {
    /// Asks everything that is due in one go: the sizes of these keys, when some of them expire, types and lengths, and
    /// the names of the next keys, which it returns with the cursor behind them.
    pub(super) async fn turn(
        &mut self,
        mut keys: &[Vec<u8>],
        next: Option<(u64, u32)>,
    ) -> Result<Option<Names>, Trouble> {
        // Every refusal is logged at the server, so one key is asked first.
        if let Some((first, rest)) = keys.split_first().filter(|_| !self.may_weigh) {
            if let Some(answer) = self.ask_all(&[Command::MemoryUsage(first)]).await?.pop() {
                self.weighed(first, answer)?;
            }
            (self.may_weigh, keys) = (true, rest);
        }
        let found = &mut self.progress.found;
        let sampled = found.expiries.next_to_ask();
        let to_type = found.next_to_type();
        let to_measure = std::mem::take(&mut found.to_measure);
        let mut questions: Vec<Command<'_>> = keys.iter().map(|key| Command::MemoryUsage(key)).collect();
        questions.extend(sampled.iter().map(|key| Command::Pttl(key)));
        questions.extend(to_type.iter().map(|known| Command::Type(&known.key)));
        questions.extend(to_measure.iter().map(|(known, length)| Command::Length(*length, &known.key)));
        questions.extend(next.map(|(cursor, batch)| Command::Scan(cursor, batch)));
        let mut answers = self.ask_all(&questions).await?.into_iter();
        for (key, answer) in keys.iter().zip(answers.by_ref()) {
            self.weighed(key, answer)?;
        }
        if let Some((cursor, _)) = next {
            // Whoever goes on from here asks again for the keys that are only known by name.
            self.progress.cursor = cursor;
        }
        let found = &mut self.progress.found;
        for answer in answers.by_ref().take(sampled.len()) {
            match answer {
                Ok(reply) => found.expiries.take(integer(&reply).unwrap_or(i64::MIN), now()),
                Err(trouble) if trouble.kind == FaultKind::Denied => found.expiries.refused(),
                Err(_) => {}
            }
        }
        for (known, answer) in to_type.into_iter().zip(answers.by_ref()) {
            match answer {
                Ok(reply) => found.typed(known, text(&reply).unwrap_or_default().into_owned()),
                Err(trouble) if trouble.kind == FaultKind::Denied => found.describe_no_more(),
                Err(_) => {}
            }
        }
        for ((known, length), answer) in to_measure.into_iter().zip(answers.by_ref()) {
            match answer {
                Ok(reply) => {
                    if let Some(elements) = count(&reply) {
                        found.measured(known, length, elements);
                    }
                }
                Err(trouble) if trouble.kind == FaultKind::Denied => found.describe_no_more(),
                Err(_) => {}
            }
        }
        match answers.next() {
            Some(answer) => Ok(read_scan(&answer?)
                .map(|(cursor, names)| (cursor, names.into_iter().map(<[u8]>::to_vec).collect()))),
            None => Ok(None),
        }
    }

    fn weighed(&mut self, key: &[u8], answer: Result<Value, Trouble>) -> Result<(), Trouble> {
        let progress = &mut self.progress;
        match answer {
            // NULL: the key is gone already.
            Ok(reply) => {
                if let Some(bytes) = count(&reply) {
                    progress.found.weighed(key, bytes);
                }
            }
            Err(trouble) if trouble.code.as_deref() == Some("MOVED") => progress.orphans += 1,
            // The slot is on its way to another node, and the key has arrived there.
            Err(trouble) if trouble.is_elsewhere() => {}
            Err(trouble) => return Err(trouble),
        }
        // A key whose size was refused was not looked at.
        progress.scanned += 1;
        Ok(())
    }

    /// Asks and keeps the accounts.
    pub(super) async fn ask_all(
        &mut self,
        questions: &[Command<'_>],
    ) -> Result<Vec<Result<Value, Trouble>>, Trouble> {
        for question in questions {
            *self.calls.entry(question.name()).or_default() += 1;
        }
        self.progress.commands += questions.len() as u64;
        let answers = self.connection.ask_all(questions, Instant::now() + PATIENCE).await?;
        let hits = questions
            .iter()
            .zip(&answers)
            .filter(|(question, answer)| answer.as_ref().is_ok_and(|reply| adds_hit(question, reply)));
        self.progress.hits += hits.count() as u64;
        Ok(answers)
    }
}

/// A reply that is a number of 0 or more.
pub(super) fn count(reply: &Value) -> Option<u64> {
    integer(reply).and_then(|number| u64::try_from(number).ok())
}
