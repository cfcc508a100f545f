//! The metrics source against real sockets that answer well, badly, endlessly or not at all.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::Ordering;
use std::time::Duration;

use headwater::sources::Source;
use headwater::sources::metrics::{MetricsSource, MetricsSpec};
use headwater_engine::metric;
use headwater_engine::reading::{Event, FaultKind, Reading, Value};
use headwater_test_support::http::{Server, answer};
use secrecy::SecretString;

const PAGE: &str = "# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds 1.7e9\n\
                    # TYPE queue_depth gauge\nqueue_depth 7\n";

async fn ask(url: &str) -> Reading {
    MetricsSource::new(&MetricsSpec::new(url)).expect("the spec is right").ask().await
}

/// The only fault of a reading, which must have no samples of the target.
fn only_fault(reading: &Reading) -> (FaultKind, &str) {
    assert_eq!(reading.faults.len(), 1, "{:?}", reading.faults);
    (reading.faults[0].kind, reading.faults[0].message.as_str())
}

fn value(reading: &Reading, name: &str) -> Option<f64> {
    reading.samples.iter().find(|sample| sample.metric.as_str() == name).map(|sample| match &sample.value {
        Value::Gauge(value) | Value::Counter(value) => *value,
        Value::Histogram(histogram) => histogram.count,
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_becomes_a_reading_and_the_connection_stays_open() {
    let server = Server::keep_alive(|number| {
        let start = if number < 2 { "1.7e9" } else { "1.8e9" };
        answer("200 OK", "text/plain; version=0.0.4", &PAGE.replace("1.7e9", start))
    });
    let mut spec = MetricsSpec::new(&server.url("/metrics"));
    spec.component = Some("service/ranker".parse().unwrap());
    let mut source = MetricsSource::new(&spec).unwrap();
    let first = source.ask().await;
    assert!(first.faults.is_empty(), "{:?}", first.faults);
    assert_eq!(first.source.as_str(), format!("service/ranker@{}", server.address));
    let queue = first.samples.iter().find(|sample| sample.metric == metric::QUEUE_WAITING.into()).unwrap();
    assert_eq!(queue.subject.as_str(), format!("queue/ranker@{}", server.address));
    assert_eq!(value(&first, "scrape.bytes"), Some(PAGE.len() as f64));
    assert!(value(&first, "scrape.duration").is_some_and(|seconds| seconds > 0.0));
    let [Event::Dialects(dialects)] = &first.events[..] else { panic!("{:?}", first.events) };
    assert_eq!(dialects.iter().map(|id| id.as_str()).collect::<Vec<_>>(), ["process", "generic"]);
    let second = source.ask().await;
    assert!(second.events.is_empty(), "{:?}", second.events);
    assert_eq!(value(&second, "scrape.bytes"), Some(2.0 * PAGE.len() as f64));
    let third = source.ask().await;
    assert_eq!(third.events, [Event::Restarted]);
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn series_beyond_the_limit_are_told_under_one_name_until_they_are_gone() {
    let pages = [300, 350, 10, 260].map(|series| {
        (0..series).map(|number| format!("# TYPE m{number} gauge\nm{number} 1\n")).collect::<String>()
    });
    let server = Server::keep_alive(move |number| answer("200 OK", "text/plain", &pages[number]));
    let mut source = MetricsSource::new(&MetricsSpec::new(&server.url("/metrics"))).unwrap();
    let mut news = vec![];
    for _ in 0..4 {
        news.push(source.ask().await.events.into_iter().find_map(|event| match event {
            Event::Unavailable { what, why } => Some((what, Some(why.as_str().to_owned()))),
            Event::Available { what } => Some((what, None)),
            _ => None,
        }));
    }
    let [Some((name, Some(first))), None, Some((other, None)), Some((again, Some(last)))] = &news[..] else {
        panic!("{news:?}")
    };
    assert_eq!([other, again], [name, name]);
    assert!(first.starts_with("100 series") && last.starts_with("60 series"), "{news:?}");
}

/// On one thread, so that a page that is read there and one that is read elsewhere must come together.
#[tokio::test]
async fn long_pages_and_short_ones_are_read_by_the_same_memory() {
    let long = format!("{PAGE}# {}\n", "x".repeat(2 * 1024 * 1024));
    let length = (2 * long.len() + PAGE.len()) as f64;
    let server = Server::keep_alive(move |number| {
        let page = if number == 1 { PAGE } else { &long };
        answer("200 OK", "text/plain", &page.replace("1.7e9", if number < 2 { "1.7e9" } else { "1.8e9" }))
    });
    let mut source = MetricsSource::new(&MetricsSpec::new(&server.url("/metrics"))).unwrap();
    let readings = [source.ask().await, source.ask().await, source.ask().await];
    for reading in &readings {
        assert!(reading.faults.is_empty(), "{:?}", reading.faults);
        assert_eq!(value(reading, "queue.waiting"), Some(7.0));
    }
    assert!(matches!(readings[0].events[..], [Event::Dialects(_)]), "{:?}", readings[0].events);
    assert!(readings[1].events.is_empty(), "{:?}", readings[1].events);
    assert_eq!(readings[2].events, [Event::Restarted]);
    assert_eq!(value(&readings[2], "scrape.bytes"), Some(length));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_line_is_named_and_the_rest_is_used() {
    let server = Server::keep_alive(|_| answer("200 OK", "text/plain", &format!("{PAGE}oops{{x=\n")));
    let reading = ask(&server.url("/metrics")).await;
    let (kind, message) = only_fault(&reading);
    assert_eq!(kind, FaultKind::Malformed);
    assert!(message.contains("1 of 5 lines") && message.contains("line 5"), "{message}");
    assert_eq!(value(&reading, "queue.waiting"), Some(7.0));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_metrics_page_is_called_by_its_name() {
    let cases: &[(&str, &str, &str, &str)] = &[
        ("/", "text/html; charset=utf-8", "<!doctype html><p>nginx 1</p>", "serves HTML, not metrics"),
        ("/x", "text/plain", "\n<html>\nnginx 1\n</html>", "serves HTML"),
        ("/x", "application/json", "{\"queue_depth\": 7}", "serves JSON"),
        ("/x", "text/plain", "{\"queue_depth\": 7}", "serves JSON"),
        ("/x", "text/plain", "", "serves an empty page"),
        ("/x", "text/plain", "\u{0}\u{1}\u{2} what\nis this?\n", "no line that is a metric"),
        ("/x", "text/event-stream", "data: 1\n", "an event stream"),
    ];
    for (path, kind, body, words) in cases.iter().copied() {
        let server = Server::keep_alive(move |_| answer("200 OK", kind, body));
        let reading = ask(&server.url(path)).await;
        let (found, message) = only_fault(&reading);
        assert_eq!(found, FaultKind::Malformed, "{message}");
        assert!(message.contains(words) && message.contains("path"), "{message}");
        assert!(reading.samples.is_empty(), "{:?}", reading.samples);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_under_a_forgotten_content_type_are_read() {
    // Flask and others say text/html when nothing is said.
    let server = Server::keep_alive(|_| answer("200 OK", "text/html; charset=utf-8", PAGE));
    let reading = ask(&server.url("/metrics")).await;
    assert!(reading.faults.is_empty(), "{:?}", reading.faults);
    assert_eq!(value(&reading, "queue.waiting"), Some(7.0));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_above_an_unlucky_path_is_suggested() {
    let server = Server::keep_alive(|_| answer("200 OK", "text/html", "<p>hello</p>"));
    let reading = ask(&server.url("/ui/")).await;
    let (_, message) = only_fault(&reading);
    assert!(message.contains(&format!("Try http://{}/metrics", server.address)), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_other_than_200_is_named() {
    for (status, words, expected) in [
        ("500 Internal Server Error", "500", FaultKind::Http),
        ("404 Not Found", "404", FaultKind::Http),
        ("204 No Content", "204", FaultKind::Http),
        ("429 Too Many Requests", "429", FaultKind::Busy),
        ("503 Service Unavailable", "503", FaultKind::Busy),
    ] {
        let server = Server::keep_alive(move |_| answer(status, "text/plain", PAGE));
        let reading = ask(&server.url("/metrics")).await;
        let (kind, message) = only_fault(&reading);
        assert_eq!(kind, expected, "{message}");
        assert!(message.contains(words), "{message}");
        assert_eq!(value(&reading, "queue.waiting"), None, "the body of an error is no data");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_redirects_on_the_same_host_are_followed() {
    let server = Server::by_path(|path| match path {
        "/metrics" => "HTTP/1.1 301 Moved\r\nLocation: /metrics/\r\nContent-Length: 0\r\n\r\n".into(),
        "/metrics/" => answer("200 OK", "text/plain", PAGE),
        _ => "HTTP/1.1 302 Found\r\nLocation: http://elsewhere.invalid/m\r\nContent-Length: 0\r\n\r\n".into(),
    });
    assert_eq!(value(&ask(&server.url("/metrics")).await, "queue.waiting"), Some(7.0));
    let reading = ask(&server.url("/other")).await;
    let (kind, message) = only_fault(&reading);
    assert_eq!(kind, FaultKind::Http);
    assert!(message.contains("302") && message.contains("http://elsewhere.invalid/m"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_credentials_are_told_without_the_token() {
    for status in ["401 Unauthorized", "403 Forbidden"] {
        let server = Server::keep_alive(move |_| answer(status, "text/plain", "no"));
        let mut spec = MetricsSpec::new(&server.url("/metrics"));
        spec.bearer = Some(SecretString::from("s3cret-token"));
        let mut source = MetricsSource::new(&spec).unwrap();
        assert!(source.retries_refusals());
        let reading = source.ask().await;
        let (kind, message) = only_fault(&reading);
        assert_eq!(kind, FaultKind::Auth, "{message}");
        assert!(message.contains("token") && !message.contains("s3cret"), "{message}");
        assert_eq!(server.requests.load(Ordering::SeqCst), 1, "the same token is not sent twice in a row");
        let request = server.last_request();
        assert!(request.contains("authorization: Bearer s3cret-token"), "{request}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_was_replaced_in_its_file_is_taken_up_when_the_old_one_is_refused() {
    let server = Server::by_head(|head| {
        let status = if head.contains("Bearer new-token") { "200 OK" } else { "401 Unauthorized" };
        answer(status, "text/plain", PAGE)
    });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, "old-token\n").unwrap();
    let mut spec = MetricsSpec::new(&server.url("/metrics"));
    spec.bearer = Some(SecretString::from("old-token"));
    spec.bearer_file = Some(file.clone());
    let mut source = MetricsSource::new(&spec).unwrap();
    assert_eq!(only_fault(&source.ask().await).0, FaultKind::Auth);
    // What cannot be sent, or is not there, leaves the old one.
    for content in [Some("two\nlines"), None] {
        std::fs::remove_file(&file).unwrap();
        content.into_iter().for_each(|content| std::fs::write(&file, content).unwrap());
        assert_eq!(only_fault(&source.ask().await).0, FaultKind::Auth);
        std::fs::write(&file, "old-token\n").unwrap();
    }
    assert_eq!(server.requests.load(Ordering::SeqCst), 3);
    std::fs::write(&file, "new-token\n").unwrap();
    let reading = source.ask().await;
    assert!(reading.faults.is_empty(), "{:?}", reading.faults);
    assert_eq!(value(&reading, "queue.waiting"), Some(7.0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_without_end_is_cut_off_and_the_connection_dropped() {
    let announced = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 104857600\r\n\r\n";
    let endless = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n";
    for head in [announced, endless] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/metrics", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            let mut request = [0; 4096];
            let _ = socket.read(&mut request).unwrap();
            socket.write_all(head.as_bytes()).unwrap();
            let chunk = "queue_depth 7\n".repeat(5_000);
            let mut sent = 0_usize;
            while socket.write_all(chunk.as_bytes()).is_ok() {
                sent += chunk.len();
            }
            sent
        });
        let reading = ask(&url).await;
        let (kind, message) = only_fault(&reading);
        assert_eq!(kind, FaultKind::TooLarge, "{message}");
        assert!(message.contains("32 MiB"), "{message}");
        // The writer only returns once the other side has hung up.
        let sent = tokio::task::spawn_blocking(|| server.join().unwrap()).await.unwrap();
        assert!(sent < 100 * 1024 * 1024, "{sent} bytes were taken");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn gzip_is_unpacked_within_the_limit() {
    let packed = |text: &str, cut: usize| {
        let mut encoder = flate2::write::GzEncoder::new(vec![], flate2::Compression::best());
        encoder.write_all(text.as_bytes()).unwrap();
        let mut body = encoder.finish().unwrap();
        let cut = cut.min(body.len());
        body[cut..].reverse();
        let mut bytes = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
            body.len()
        )
        .into_bytes();
        bytes.extend_from_slice(&body);
        bytes
    };
    let small = packed("# TYPE up gauge\nup 7\n", usize::MAX);
    let server = Server::keep_alive_bytes(move |_| small.clone());
    assert_eq!(value(&ask(&server.url("/metrics")).await, "up"), Some(7.0));
    assert!(server.last_request().contains("gzip"), "{}", server.last_request());
    // A few KiB on the way, 40 MiB unpacked.
    let bomb = packed(&"a 1\n".repeat(10 * 1024 * 1024), usize::MAX);
    let server = Server::keep_alive_bytes(move |_| bomb.clone());
    let reading = ask(&server.url("/metrics")).await;
    assert_eq!(only_fault(&reading).0, FaultKind::TooLarge, "{:?}", reading.faults);
    let broken = packed("# TYPE up gauge\nup 7\n", 12);
    let server = Server::keep_alive_bytes(move |_| broken.clone());
    let reading = ask(&server.url("/metrics")).await;
    let (kind, message) = only_fault(&reading);
    assert_eq!(kind, FaultKind::Malformed, "{message}");
    assert!(message.contains("cannot be unpacked"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_out_of_reach_is_told_in_a_sentence() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let reading = ask(&format!("http://user:s3cret@{free}/metrics")).await;
    let (kind, message) = only_fault(&reading);
    assert_eq!(kind, FaultKind::Unreachable);
    assert!(message.contains("refused the connection") && message.contains(&free.to_string()), "{message}");
    assert!(!message.contains("s3cret"), "{message}");
    let reading = ask("http://no-such-host.invalid/metrics").await;
    let (kind, message) = only_fault(&reading);
    assert_eq!(kind, FaultKind::Unreachable, "{message}");
    assert!(message.contains("'no-such-host.invalid' does not resolve"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_hangs_up_or_breaks_off_is_told() {
    let server = Server::keep_alive(|_| String::new());
    let reading = ask(&server.url("/metrics")).await;
    let (kind, message) = only_fault(&reading);
    assert_eq!(kind, FaultKind::Unreachable, "{message}");
    assert!(message.contains("without an answer"), "{message}");
    let server =
        Server::hanging_up(|_| "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nqueue_depth 7\n".to_owned());
    let reading = ask(&server.url("/metrics")).await;
    let (kind, message) = only_fault(&reading);
    assert_eq!(kind, FaultKind::Unreachable, "{message}");
    assert!(message.contains("broke off after 14 bytes"), "{message}");
    let server = Server::keep_alive(|_| "220 mail.example ESMTP\r\n".to_owned());
    let reading = ask(&server.url("/metrics")).await;
    let (kind, message) = only_fault(&reading);
    assert_eq!(kind, FaultKind::Malformed, "{message}");
    assert!(message.contains("does not answer in HTTP"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn silence_and_a_trickle_end_after_the_longest_wait() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let trickle = TcpListener::bind("127.0.0.1:0").unwrap();
    let urls = [&silent, &trickle].map(|server| format!("http://{}/metrics", server.local_addr().unwrap()));
    std::thread::spawn(move || {
        let (mut socket, _) = trickle.accept().unwrap();
        let mut request = [0; 4096];
        let _ = socket.read(&mut request).unwrap();
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n";
        let mut is_open = socket.write_all(head.as_bytes()).is_ok();
        while is_open {
            is_open = socket.write_all(b"queue_depth 7\n").is_ok();
            // The pace of the server under test, not a wait of the test.
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    let (silence, trickled) = tokio::join!(ask(&urls[0]), ask(&urls[1]));
    assert_eq!(only_fault(&silence).0, FaultKind::Silent, "{:?}", silence.faults);
    let (kind, message) = only_fault(&trickled);
    assert_eq!(kind, FaultKind::TooLarge, "{message}");
    assert!(message.contains("still sending after 10 s"), "{message}");
}

/// What may come instead of a good page: what it is, the bytes on the wire, the fault with words of it (none where it is
/// read well), and whether the numbers of [`PAGE`] are read all the same.
type Odd = (&'static str, Vec<u8>, Option<(FaultKind, &'static str)>, bool);

fn odd_answers() -> Vec<Odd> {
    let with = |headers: &str, body: &[u8]| {
        let head = format!("HTTP/1.1 200 OK\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
        [head.as_bytes(), body].concat()
    };
    let plain = |body: &[u8]| with("Content-Type: text/plain; version=0.0.4\r\n", body);
    let chunked = |pieces: &[&str], end: &str| {
        let mut bytes =
            b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        for piece in pieces {
            bytes.extend_from_slice(format!("{:x}\r\n{piece}\r\n", piece.len()).as_bytes());
        }
        bytes.extend_from_slice(end.as_bytes());
        bytes
    };
    let packed = {
        let mut encoder = flate2::write::GzEncoder::new(vec![], flate2::Compression::best());
        encoder.write_all(PAGE.as_bytes()).expect("memory takes bytes");
        encoder.finish().expect("memory takes bytes")
    };
    let (first, second) = PAGE.split_at(70);
    let refused = |status: &str, kind: &str, body: &str| answer(status, kind, body).into_bytes();
    let login = "<!doctype html><form action=/login><input name=p type=\"password\"></form>";
    let utf16: Vec<u8> = "\u{feff}queue_depth 7\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let go = "An error has occurred while serving metrics:\n\ncollected metric x was collected before\n";
    use FaultKind::{Auth, Busy, Http, Malformed, TooLarge, Unreachable};
    vec![
        ("CRLF", plain(PAGE.replace('\n', "\r\n").as_bytes()), None, true),
        ("a byte order mark", plain(format!("\u{feff}{PAGE}").as_bytes()), None, true),
        ("no last line end", plain(PAGE.trim_end().as_bytes()), None, true),
        ("blank lines", plain(PAGE.replace('\n', "\n\n").as_bytes()), None, true),
        ("UTF-16", plain(&utf16), Some((Malformed, "no line that is a metric")), false),
        (
            "a line of 5 MiB",
            plain(format!("{PAGE}a{{x=\"{}\"}} 1\n", "y".repeat(5 << 20)).as_bytes()),
            None,
            true,
        ),
        (
            "cut in a line",
            plain(&PAGE.as_bytes()[..PAGE.len() - 2]),
            Some((Malformed, "1 of 4 lines")),
            false,
        ),
        ("chunks", chunked(&[first, second], "0\r\n\r\n"), None, true),
        (
            "chunks without an end",
            chunked(&[first, second], ""),
            Some((Unreachable, "broke off after")),
            false,
        ),
        ("chunks that lie", chunked(&[first], "zz\r\n"), Some((Malformed, "how long they are")), false),
        ("gzip", with("Content-Encoding: gzip\r\n", &packed), None, true),
        (
            "gzip that is cut",
            with("Content-Encoding: gzip\r\n", &packed[..packed.len() / 2]),
            Some((Unreachable, "broke off")),
            false,
        ),
        (
            "gzip that nobody names",
            with("Content-Type: application/gzip\r\n", &packed),
            Some((Malformed, "packed file")),
            false,
        ),
        (
            "a packing that is not known",
            with("Content-Encoding: br\r\n", &packed),
            Some((Malformed, "'br'")),
            false,
        ),
        ("no packing by its name", with("Content-Encoding: identity\r\n", PAGE.as_bytes()), None, true),
        ("no type", with("", PAGE.as_bytes()), None, true),
        ("a wrong type", with("Content-Type: application/octet-stream\r\n", PAGE.as_bytes()), None, true),
        (
            "an image",
            with("Content-Type: image/png\r\n", PAGE.as_bytes()),
            Some((Malformed, "serves an image")),
            false,
        ),
        (
            "a login page",
            with("Content-Type: text/html\r\n", login.as_bytes()),
            Some((Malformed, "log in")),
            false,
        ),
        ("401", refused("401 Unauthorized", "text/html", login), Some((Auth, "401")), false),
        (
            "403",
            refused("403 Forbidden", "application/json", "{\"detail\":\"not you\"}"),
            Some((Auth, "it says: not you")),
            false,
        ),
        ("404", refused("404 Not Found", "text/html", "<p>queue_depth 7"), Some((Http, "404")), false),
        (
            "500",
            refused("500 Internal Server Error", "text/plain", go),
            Some((Http, "collected before")),
            false,
        ),
        (
            "503",
            refused("503 Unavailable", "application/json", "{\"error\":{\"message\":\"loading\"}}"),
            Some((Busy, "it says: loading")),
            false,
        ),
        ("metrics under 503", refused("503 Unavailable", "text/plain", PAGE), Some((Busy, "503")), false),
        (
            "headers for ever",
            [b"HTTP/1.1 200 OK\r\n".to_vec(), b"X-A: b\r\n".repeat(200_000)].concat(),
            Some((TooLarge, "headers without end")),
            false,
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_comes_instead_of_a_page_costs_its_target_alone_and_says_why() {
    for (what, bytes, expected, is_read) in odd_answers() {
        let server = Server::keep_alive_bytes(move |_| bytes.clone());
        let reading = ask(&server.url("/metrics")).await;
        match expected {
            None => assert!(reading.faults.is_empty(), "{what}: {:?}", reading.faults),
            Some((kind, words)) => {
                let (found, message) = only_fault(&reading);
                assert_eq!(found, kind, "{what}: {message}");
                assert!(message.contains(words) && message.len() < 600, "{what}: {message}");
                assert!(message.contains(&server.address.to_string()), "{what}: {message}");
            }
        }
        assert_eq!(value(&reading, "queue.waiting"), is_read.then_some(7.0), "{what}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_to_a_login_page_names_where_it_leads() {
    let server = Server::by_path(|path| match path {
        "/metrics" => "HTTP/1.1 302 Found\r\nLocation: /login?next=x\r\nContent-Length: 0\r\n\r\n".into(),
        _ => answer("200 OK", "text/html", "<input type='password'>"),
    });
    let reading = ask(&server.url("/metrics")).await;
    let (kind, message) = only_fault(&reading);
    assert_eq!(kind, FaultKind::Malformed);
    assert!(message.contains("leads to '/login'") && message.contains("bearer_file"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_that_repeats_the_token_is_told_without_its_words() {
    for kind in ["text/plain", "application/json"] {
        let server = Server::by_head(move |head| {
            let body = format!(
                "{{\"error\":\"{}\"}}",
                if head.contains("s3cret") { "s3cret is unknown" } else { "" }
            );
            answer("403 Forbidden", kind, &body)
        });
        let mut spec = MetricsSpec::new(&server.url("/metrics"));
        spec.bearer = Some(SecretString::from("s3cret"));
        let reading = MetricsSource::new(&spec).unwrap().ask().await;
        let (found, message) = only_fault(&reading);
        assert_eq!(found, FaultKind::Auth);
        assert!(!message.contains("s3cret"), "{message}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_text_of_a_server_comes_out_harmless() {
    let server = Server::by_path(|path| match path {
        "/there" => {
            "HTTP/1.1 302 Found\r\nLocation: http://x.invalid/\u{9b}2J\r\nContent-Length: 0\r\n\r\n".into()
        }
        _ => answer(
            "200 OK",
            "text/plain",
            "# TYPE a gauge\na{x=\"\u{1b}[2J\u{202e}\"} 1\n\u{1b}]0;x\u{7} 1\n",
        ),
    });
    for path in ["/there", "/metrics"] {
        let reading = ask(&server.url(path)).await;
        let text = format!("{:?}", serde_json::to_string(&reading).unwrap());
        assert!(!reading.faults.is_empty());
        assert!(text.chars().all(|c| !c.is_control() && c != '\u{202e}'), "{text}");
    }
}

#[test]
fn a_wrong_spec_is_told_before_anything_is_sent() {
    let fails = |change: fn(&mut MetricsSpec)| {
        let mut spec = MetricsSpec::new("http://127.0.0.1:1/metrics");
        change(&mut spec);
        MetricsSource::new(&spec).unwrap_err().to_string()
    };
    for url in ["127.0.0.1:8000/metrics", "redis://h:1", "http://", "ftp://u:s3cret@h/x", "nonsense"] {
        let mut spec = MetricsSpec::new("");
        spec.url = url.to_owned();
        let error = MetricsSource::new(&spec).unwrap_err().to_string();
        assert!(error.contains("write it like http://"), "{error}");
        assert!(!error.contains("s3cret") && !format!("{spec:?}").contains("s3cret"), "{error}");
    }
    let error = fails(|spec| spec.dialects = Some(vec!["vlm".to_owned()]));
    assert!(error.contains("'vlm'") && error.contains("vllm"), "{error}");
    let error = fails(|spec| spec.ca_file = Some("/no/such.pem".into()));
    assert!(error.contains("ca_file '/no/such.pem'"), "{error}");
    let error = fails(|spec| spec.bearer = Some(SecretString::from("two\nlines")));
    assert!(error.contains("bearer") && !error.contains("lines\n"), "{error}");
}

#[test]
fn an_endpoint_without_a_name_is_named_by_its_address() {
    let subject = |url: &str| MetricsSpec::new(url).subject().unwrap().as_str().to_owned();
    assert_eq!(subject("http://127.0.0.1:8000"), "service/127.0.0.1-8000@127.0.0.1:8000");
    assert_eq!(subject("https://Ranker.example/metrics"), "service/ranker.example-443@ranker.example:443");
    assert_eq!(subject("http://[::1]:9/metrics"), "service/--1-9@[::1]:9");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exporter_whose_node_does_not_answer_says_so_from_the_start() {
    let server = Server::keep_alive(|asked| {
        answer("200 OK", "text/plain", &format!("# TYPE redis_up gauge\nredis_up {}\n", asked.min(1)))
    });
    let mut source = MetricsSource::new(&MetricsSpec::new(&server.url("/metrics"))).unwrap();
    let reading = source.ask().await;
    let [fault] = reading.faults.as_slice() else { panic!("{:?}", reading.faults) };
    assert_eq!(fault.kind, FaultKind::Http, "the page itself is in reach");
    assert!(fault.message.as_str().contains("redis_up 0"), "{}", fault.message);
    assert_eq!(source.ask().await.faults, []);
}
