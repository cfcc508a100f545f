//! Probes against real servers, right and wrong. A name server that is slow could not be had, so that the phase of the
//! name is only seen to be there.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::time::Duration;

use assert_cmd::Command;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use futures::StreamExt;
use headwater::sources::Source;
use headwater::sources::probe::{Completion, ProbeKind, ProbeSource, ProbeSpec};
use headwater_engine::Subject;
use headwater_engine::metric::{
    Metric, MetricName, PROBE_OK, PROBE_STATUS, PROBE_TIME, PROBE_TOKENS, PROBE_TTFT, READY,
};
use headwater_engine::reading::{FaultKind, Reading, Value};
use headwater_test_support::certificates::Authority;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::Value as Document;

fn spec(url: &str, kind: ProbeKind) -> ProbeSpec {
    let about: Subject = "service/ranker".parse().expect("it is a subject");
    ProbeSpec::new("probe/test".parse().expect("it is a subject"), about, url, kind)
}

fn completion() -> ProbeKind {
    ProbeKind::FirstToken(Completion { model: Some("m".into()), prompt: "Say yes.".into(), most_tokens: 2 })
}

async fn ask(spec: &ProbeSpec) -> Reading {
    ProbeSource::new(spec).expect("the spec is right").ask().await
}

fn gauge(reading: &Reading, metric: Metric) -> Option<f64> {
    let sample = reading.samples.iter().find(|sample| sample.metric == MetricName::Known(metric))?;
    match sample.value {
        Value::Gauge(value) | Value::Counter(value) => Some(value),
        Value::Histogram(_) => None,
    }
}

fn phases(reading: &Reading) -> BTreeMap<String, f64> {
    let of_phase = reading.samples.iter().filter(|sample| sample.metric == MetricName::Known(PROBE_TIME));
    of_phase
        .filter_map(|sample| match sample.value {
            Value::Gauge(value) => Some((sample.part.as_ref()?.as_str().to_owned(), value)),
            _ => None,
        })
        .collect()
}

/// The one fault, its kind and words.
fn fault(reading: &Reading) -> (FaultKind, &str) {
    assert_eq!(reading.faults.len(), 1, "{:?}", reading.faults);
    let fault = &reading.faults[0];
    (fault.kind, fault.message.as_str())
}

async fn serve(app: Router) -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let address = listener.local_addr().expect("it has an address");
    tokio::spawn(async move { axum::serve(listener, app).await });
    address
}

fn stream(body: Body) -> Response {
    ([(header::CONTENT_TYPE, "text/event-stream; charset=utf-8")], body).into_response()
}

#[tokio::test]
async fn a_page_is_asked_over_a_connection_of_its_own_and_each_phase_is_told() {
    let app = Router::new().route("/health", get(|| async { "all is ok" }));
    let address = serve(app).await;
    let url = format!("http://localhost:{}/health", address.port());
    let reading = ask(&spec(&url, ProbeKind::Http)).await;
    assert_eq!(reading.faults, []);
    assert_eq!((gauge(&reading, PROBE_OK), gauge(&reading, PROBE_STATUS)), (Some(1.0), Some(200.0)));
    assert_eq!(gauge(&reading, READY), None);
    let phases = phases(&reading);
    assert_eq!(phases.keys().collect::<Vec<_>>(), ["connect", "dns", "first_byte", "total"]);
    assert!(phases["total"] >= phases["first_byte"]);

    let mut wrong = spec(&url, ProbeKind::Http);
    wrong.contains = Some("UP".into());
    let reading = ask(&wrong).await;
    assert!(
        fault(&reading).1.ends_with("answers without 'UP': it begins 'all is ok'"),
        "{:?}",
        reading.faults
    );
    assert_eq!((gauge(&reading, PROBE_OK), gauge(&reading, PROBE_STATUS)), (Some(0.0), Some(200.0)));
}

#[tokio::test]
async fn readiness_follows_the_page_and_a_refusal_is_no_answer_to_it() {
    let status = Arc::new(AtomicU16::new(503));
    let told = Arc::clone(&status);
    let app = Router::new().route(
        "/ready",
        get(move || async move { StatusCode::from_u16(told.load(Ordering::SeqCst)).unwrap() }),
    );
    let address = serve(app).await;
    let mut source = ProbeSource::new(&spec(&format!("http://{address}/ready"), ProbeKind::Ready)).unwrap();
    let mut seen = vec![];
    for code in [503, 200, 401, 302] {
        status.store(code, Ordering::SeqCst);
        let reading = source.ask().await;
        seen.push((gauge(&reading, READY), reading.faults.first().map(|fault| fault.kind)));
    }
    let expected = [
        (Some(0.0), Some(FaultKind::Busy)),
        (Some(1.0), None),
        (None, Some(FaultKind::Auth)),
        (Some(0.0), Some(FaultKind::Http)),
    ];
    assert_eq!(seen, expected);
    let mut wants_302 = spec(&format!("http://{address}/ready"), ProbeKind::Ready);
    wants_302.status = Some(302);
    assert_eq!(gauge(&ask(&wants_302).await, READY), Some(1.0));
}

#[tokio::test]
async fn nobody_there_and_nobody_who_speaks_http_are_told_apart() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let reading = ask(&spec(&format!("http://{gone}/"), ProbeKind::Ready)).await;
    assert_eq!(fault(&reading).0, FaultKind::Unreachable);
    assert!(fault(&reading).1.contains("refused the connection"), "{:?}", reading.faults);
    assert_eq!((gauge(&reading, PROBE_OK), gauge(&reading, READY)), (Some(0.0), Some(0.0)));
    assert!(phases(&reading).is_empty(), "a failure has no time of an answer");

    let unknown = ask(&spec("http://no-such-host.invalid/", ProbeKind::Http)).await;
    assert!(fault(&unknown).1.contains("'no-such-host.invalid'"), "{:?}", unknown.faults);

    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut patient = spec(&format!("http://{}/", silent.local_addr().unwrap()), ProbeKind::Http);
    patient.patience = Duration::from_millis(300);
    let reading = ask(&patient).await;
    assert_eq!(fault(&reading).0, FaultKind::Silent);
    assert!(phases(&reading).contains_key("connect"), "it did take the connection");
}

#[tokio::test]
async fn over_tls_the_handshake_is_a_phase_and_a_wrong_certificate_is_said() {
    let authority = Authority::new();
    authority.sign("server", &["localhost"]);
    let chain = CertificateDer::pem_file_iter(authority.path("server.pem")).unwrap().map(Result::unwrap);
    let key = PrivateKeyDer::from_pem_file(authority.path("server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain.collect(), key)
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        while let Ok((socket, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(socket).await else { continue };
            let mut request = [0; 4096];
            if stream.read(&mut request).await.is_ok() {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
            }
        }
    });
    let mut trusting = spec(&format!("https://localhost:{port}/"), ProbeKind::Http);
    trusting.ca_file = Some(authority.path("ca.pem"));
    let reading = ask(&trusting).await;
    assert_eq!(reading.faults, []);
    assert!(phases(&reading).contains_key("tls"));
    trusting.url = format!("https://127.0.0.1:{port}/");
    let reading = ask(&trusting).await;
    assert_eq!(fault(&reading).0, FaultKind::Tls);
    assert!(fault(&reading).1.contains("not for the name '127.0.0.1'"), "{:?}", reading.faults);
    trusting.ca_file = Some(authority.path("missing.pem"));
    assert!(ProbeSource::new(&trusting).is_err());
}

#[tokio::test]
async fn the_first_token_is_timed_and_the_stream_is_read_to_its_end() {
    let asked = Arc::new(std::sync::Mutex::new(Document::Null));
    let kept = Arc::clone(&asked);
    let complete = move |headers: HeaderMap, Json(body): Json<Document>| async move {
        let token = headers.get(header::AUTHORIZATION).map(|value| value.to_str().unwrap().to_owned());
        *kept.lock().unwrap() = serde_json::json!({ "body": body, "token": token });
        let events = [
            "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n",
            "data: {\"choices\":[{\"delta\":{\"content\":\"Yes\"}}]}\n\n",
            "data: [DONE]\n\n",
        ];
        stream(Body::from_stream(
            futures::stream::iter(events).map(|text| Ok::<_, Infallible>(Bytes::from(text))),
        ))
    };
    let address = serve(Router::new().route("/v1/chat/completions", post(complete))).await;
    let mut spec = spec(&format!("http://{address}/v1/chat/completions"), completion());
    spec.bearer = Some("secret".into());
    let mut source = ProbeSource::new(&spec).unwrap();
    source.ask().await;
    let reading = source.ask().await;
    assert_eq!(reading.faults, []);
    assert!(gauge(&reading, PROBE_TTFT).unwrap() > 0.0);
    assert_eq!((gauge(&reading, PROBE_OK), gauge(&reading, PROBE_TOKENS)), (Some(1.0), Some(4.0)));
    let asked = asked.lock().unwrap();
    assert_eq!(asked["token"], "Bearer secret");
    assert_eq!((&asked["body"]["max_tokens"], &asked["body"]["stream"]), (&2.into(), &true.into()));
    assert_eq!(asked["body"]["messages"][0]["content"], "Say yes.");
}

#[tokio::test]
async fn a_stream_that_is_none_stalls_or_is_refused_says_so_and_gives_no_time() {
    let turn = Arc::new(AtomicUsize::new(0));
    let answer = move || {
        let turn = turn.fetch_add(1, Ordering::SeqCst);
        async move {
            let first = |text: &'static str| futures::stream::iter([Ok::<_, Infallible>(Bytes::from(text))]);
            match turn {
                0 => Json(serde_json::json!({ "choices": [{ "text": "yes" }] })).into_response(),
                1 => stream(Body::from_stream(first(": wait\n\n").chain(futures::stream::pending()))),
                2 => stream(Body::from("data: {\"error\":{\"message\":\"no memory\"}}\n\n")),
                3 => stream(Body::from("data: [DONE]\n\n")),
                4 => StatusCode::UNAUTHORIZED.into_response(),
                5 => StatusCode::TOO_MANY_REQUESTS.into_response(),
                _ => StatusCode::NOT_FOUND.into_response(),
            }
        }
    };
    let address = serve(Router::new().route("/v1/completions", post(answer))).await;
    let mut spec = spec(&format!("http://{address}/v1/completions"), completion());
    spec.patience = Duration::from_millis(500);
    let mut source = ProbeSource::new(&spec).unwrap();
    for (kind, said) in [
        (FaultKind::Malformed, "sends 'application/json' at once instead of a stream"),
        (FaultKind::Silent, "began an answer and did not go on in time"),
        (FaultKind::Http, "breaks the stream off: 'no memory'"),
        (FaultKind::Malformed, "ends its stream without a token"),
        (FaultKind::Auth, "set bearer_env or bearer_file"),
        (FaultKind::Busy, "is asked too often (429)"),
        (FaultKind::Http, "set 'model' to one that it serves"),
    ] {
        let reading = source.ask().await;
        assert_eq!((fault(&reading).0, gauge(&reading, PROBE_TTFT)), (kind, None), "{:?}", reading.faults);
        assert!(fault(&reading).1.contains(said), "{:?}", reading.faults);
        // A token of ours that is refused says nothing of those who have theirs.
        let is_ours = kind == FaultKind::Auth;
        assert_eq!(gauge(&reading, PROBE_OK), (!is_ours).then_some(0.0), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_probe_that_fails_is_no_all_clear_and_the_doctor_says_why() {
    let status = Arc::new(AtomicU16::new(200));
    let told = Arc::clone(&status);
    let page =
        || async { ([(header::CONTENT_TYPE, "text/plain")], "# TYPE queue_depth gauge\nqueue_depth 7\n") };
    let app = Router::new().route("/metrics", get(page)).route(
        "/ready",
        get(move || async move { StatusCode::from_u16(told.load(Ordering::SeqCst)).unwrap() }),
    );
    let address = serve(app).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("c.toml");
    let text = format!(
        "[[metrics]]\ncomponent = \"service/ranker\"\nurl = \"http://{address}/metrics\"\n\
         [[probe]]\nname = \"ranker-ready\"\nkind = \"ready\"\nurl = \"http://{address}/ready\"\n"
    );
    std::fs::write(&file, text).unwrap();
    let run = |arguments: &'static [&'static str]| {
        let file = file.clone();
        tokio::task::spawn_blocking(move || {
            Command::cargo_bin("headwater")
                .unwrap()
                .args(arguments)
                .arg("--config")
                .arg(file)
                .output()
                .unwrap()
        })
    };
    let triage: &[&str] = &["triage", "--for", "4s", "--format", "json"];
    let well = run(triage).await.unwrap();
    assert_eq!(well.status.code(), Some(0), "{}", String::from_utf8_lossy(&well.stdout));
    let doctor = run(&["doctor"]).await.unwrap();
    let said = String::from_utf8_lossy(&doctor.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("probe/ranker-ready: probe: service/ranker@"), "{said}");
    assert!(said.contains("answers 200: connect"), "{said}");

    status.store(500, Ordering::SeqCst);
    let ill = run(triage).await.unwrap();
    let report: Document = serde_json::from_slice(&ill.stdout).unwrap();
    assert_eq!(ill.status.code(), Some(2), "{report:#}");
    let unknown = report["unknown"].as_array().unwrap();
    let row = unknown.iter().find(|row| row["subject"] == "probe/ranker-ready").unwrap();
    assert!(row["missing"].as_str().unwrap().contains("answers 500 Internal Server Error, not 2xx"), "{row}");
    let doctor = run(&["doctor"]).await.unwrap();
    assert_eq!(doctor.status.code(), Some(1));
}
