// SPDX-License-Identifier: BSD-2-Clause
//! Measures iceoryx2 as exchange.h measures the other systems: two processes, each on a processor of its own, exchange
//! numbered messages by publish/subscribe without copies. Arguments and output are those of exchange.c; the messages in
//! a batch are always sent one by one, because iceoryx2 has no batches.

use core::error::Error;
use core::mem::MaybeUninit;
use core::time::Duration;
use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::port::update_connections::UpdateConnections;
use iceoryx2::prelude::*;
use std::process::{Child, Command};
use std::time::Instant;

type Failure = Box<dyn Error>;
type Sender<const WORDS: usize> = Publisher<ipc::Service, [u64; WORDS], ()>;
type Receiver<const WORDS: usize> = Subscriber<ipc::Service, [u64; WORDS], ()>;

const THROUGHPUT_ROUNDS: u64 = 4096;
const LATENCY_ROUNDS: u64 = 256;
/// The number of a message after the last one.
const END: u64 = 0;
/// The number of a message before the first one.
const HELLO: u64 = u64::MAX;
const USAGE: &str = "arguments: throughput|latency iceoryx2 BYTES 1 whole|word RING_BYTES SECONDS PROCESSOR PROCESSOR";

struct Exchange {
    is_latency: bool,
    is_whole: bool,
    bytes: usize,
    /// Messages that a receiver's buffer holds.
    buffer: usize,
    seconds: f64,
    /// Of this process.
    processor: usize,
    /// Part of the services' names.
    name: String,
}

struct Side<const WORDS: usize> {
    sender: Sender<WORDS>,
    receiver: Receiver<WORDS>,
}

impl<const WORDS: usize> Side<WORDS> {
    /// Creates or opens a service for each direction. Returns when both receivers are connected: until then, messages
    /// that do not fit into the receiver's buffer would be lost.
    fn meet(exchange: &Exchange, index: usize) -> Result<Self, Failure> {
        let node = NodeBuilder::new().create::<ipc::Service>()?;
        let service = |from: usize| -> Result<_, Failure> {
            let name = format!("{}-{from}", exchange.name);
            Ok(node
                .service_builder(&name.as_str().try_into()?)
                .publish_subscribe::<[u64; WORDS]>()
                .max_publishers(1)
                .max_subscribers(1)
                .history_size(0)
                .subscriber_max_buffer_size(exchange.buffer)
                .subscriber_max_borrowed_samples(1)
                .enable_safe_overflow(false)
                .open_or_create()?)
        };
        let out = service(index)?;
        let back = service(1 - index)?;
        let receiver = back.subscriber_builder().create()?;
        let sender = out
            .publisher_builder()
            .max_loaned_samples(1)
            .backpressure_strategy(BackpressureStrategy::RetryUntilDelivered)
            .create()?;
        while out.dynamic_config().number_of_subscribers() == 0
            || back.dynamic_config().number_of_publishers() == 0
        {
            std::thread::sleep(Duration::from_millis(1));
        }
        sender.update_connections()?;
        receiver.update_connections()?;
        let side = Side { sender, receiver };
        side.send::<true>(HELLO)?;
        while !side.receive::<true>(HELLO, &mut false)? {}
        Ok(side)
    }

    #[inline(always)]
    fn send<const WHOLE: bool>(&self, number: u64) -> Result<(), Failure> {
        let mut sample = self.sender.loan_uninit()?;
        let words: &mut MaybeUninit<[u64; WORDS]> = sample.payload_mut();
        let count = if WHOLE { WORDS } else { 1 };
        // SAFETY: each word of the payload is inside the sample; a receiver of a message that is not whole reads only the
        // word that is written.
        let sample = unsafe {
            for i in 0..count {
                words.as_mut_ptr().cast::<u64>().add(i).write(number);
            }
            sample.assume_init()
        };
        sample.send()?;
        Ok(())
    }

    /// Receives a message, which has this number, and returns true; or false if there is none, or if it is the end.
    #[inline(always)]
    fn receive<const WHOLE: bool>(
        &self,
        number: u64,
        has_ended: &mut bool,
    ) -> Result<bool, Failure> {
        let Some(sample) = self.receiver.receive()? else {
            return Ok(false);
        };
        let count = if WHOLE { WORDS } else { 1 };
        let sum = sample[..count]
            .iter()
            .fold(0u64, |sum, word| sum.wrapping_add(*word));
        if sum == number.wrapping_mul(count as u64) {
            return Ok(true);
        }
        if sum == END {
            *has_ended = true;
            return Ok(false);
        }
        Err(format!("message {number} has other content than was sent, of sum {sum}").into())
    }

    fn receive_all<const WHOLE: bool>(&self) -> Result<(), Failure> {
        let mut has_ended = false;
        let mut number = 1;
        while number == 1 {
            number += u64::from(self.receive::<WHOLE>(number, &mut has_ended)?);
        }
        let start = Instant::now();
        while !has_ended {
            number += u64::from(self.receive::<WHOLE>(number, &mut has_ended)?);
        }
        report(number - 1, start.elapsed());
        Ok(())
    }

    fn send_all<const WHOLE: bool>(&self, duration: Duration) -> Result<(), Failure> {
        let start = Instant::now();
        let mut number = 1;
        while start.elapsed() < duration {
            for _ in 0..THROUGHPUT_ROUNDS {
                self.send::<WHOLE>(number)?;
                number += 1;
            }
        }
        self.send::<WHOLE>(END)
    }

    fn ask_all<const WHOLE: bool>(&self, duration: Duration) -> Result<(), Failure> {
        let start = Instant::now();
        let mut has_ended = false;
        let mut number = 1;
        while start.elapsed() < duration {
            for _ in 0..LATENCY_ROUNDS {
                self.send::<WHOLE>(number)?;
                while !self.receive::<WHOLE>(number, &mut has_ended)? {}
                number += 1;
            }
        }
        report(number - 1, start.elapsed());
        self.send::<WHOLE>(END)
    }

    fn answer_all<const WHOLE: bool>(&self) -> Result<(), Failure> {
        let mut has_ended = false;
        let mut number = 1;
        while !has_ended {
            if self.receive::<WHOLE>(number, &mut has_ended)? {
                self.send::<WHOLE>(number)?;
                number += 1;
            }
        }
        Ok(())
    }

    fn run<const WHOLE: bool>(&self, exchange: &Exchange, index: usize) -> Result<(), Failure> {
        let duration = Duration::from_secs_f64(exchange.seconds);
        match (exchange.is_latency, index) {
            (false, 0) => self.receive_all::<WHOLE>(),
            (false, _) => self.send_all::<WHOLE>(duration),
            (true, 0) => self.ask_all::<WHOLE>(duration),
            (true, _) => self.answer_all::<WHOLE>(),
        }
    }
}

fn report(messages: u64, time: Duration) {
    println!("messages {messages} nanoseconds {}", time.as_nanos());
}

fn exchange_words<const WORDS: usize>(exchange: &Exchange, index: usize) -> Result<(), Failure> {
    let side = Side::<WORDS>::meet(exchange, index)?;
    if exchange.is_whole {
        side.run::<true>(exchange, index)
    } else {
        side.run::<false>(exchange, index)
    }
}

/// The process moves to its processor before any of its memory is in use.
fn move_to(processor: usize) -> Result<(), Failure> {
    // SAFETY: the set is initialised by CPU_ZERO, and the call reads no more than its size.
    let status = unsafe {
        let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed().assume_init();
        libc::CPU_ZERO(&mut set);
        libc::CPU_SET(processor, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set)
    };
    if status == 0 {
        Ok(())
    } else {
        Err("there is no such processor".into())
    }
}

/// The sender polls, and must not go on if the receiver is killed.
fn end_with_receiver() -> Result<(), Failure> {
    // SAFETY: the call only stores the number of a signal.
    if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } == 0 {
        Ok(())
    } else {
        Err("the end of the receiver can't be noticed".into())
    }
}

/// Starts the sender: this program, with the name of the services as a further argument.
fn start_sender(words: &[String], name: &str) -> Result<Child, Failure> {
    Ok(Command::new(std::env::current_exe()?)
        .args(words)
        .arg(name)
        .spawn()?)
}

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.len() != 9 && words.len() != 10 {
        return Err(USAGE.into());
    }
    let index = words.len() - 9;
    let bytes: usize = words[2].parse()?;
    let exchange = Exchange {
        is_latency: words[0] == "latency",
        is_whole: words[4] == "whole",
        bytes,
        buffer: (words[5].parse::<usize>()? / bytes).max(1),
        seconds: words[6].parse()?,
        processor: words[7 + index].parse()?,
        name: words
            .get(9)
            .cloned()
            .unwrap_or(format!("exchange-{}", std::process::id())),
    };
    set_log_level(LogLevel::Error);
    if index == 1 {
        end_with_receiver()?;
    }
    let sender = if index == 0 {
        Some(start_sender(&words, &exchange.name)?)
    } else {
        None
    };
    move_to(exchange.processor)?;
    match exchange.bytes {
        8 => exchange_words::<1>(&exchange, index)?,
        64 => exchange_words::<8>(&exchange, index)?,
        1024 => exchange_words::<128>(&exchange, index)?,
        65536 => exchange_words::<8192>(&exchange, index)?,
        _ => return Err("messages have 8, 64, 1024 or 65536 bytes".into()),
    }
    if let Some(mut sender) = sender {
        sender.wait()?;
    }
    Ok(())
}
