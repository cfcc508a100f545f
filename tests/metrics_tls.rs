//! The metrics source over TLS: authorities, names, clocks, and the two ways to mix TLS and plain HTTP up.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::ops::Range;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use headwater::sources::Source;
use headwater::sources::client_certificate::ClientCertificate;
use headwater::sources::metrics::{MetricsSource, MetricsSpec};
use headwater::sources::probe::{ProbeKind, ProbeSource, ProbeSpec};
use headwater_engine::reading::{FaultKind, Reading};
use headwater_test_support::certificates::Authority as Authorities;
use headwater_test_support::http::{Server, answer};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;

const PAGE: &str = "# TYPE queue_depth gauge\nqueue_depth 7\n";

/// The years of a certificate that holds now.
const VALID: Range<i32> = 2020..2090;

/// An authority, as PEM, with which servers are signed.
struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

fn authority() -> Authority {
    let mut params = CertificateParams::new(vec![]).expect("no names to check");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let pem = params.self_signed(&key).expect("an authority").pem();
    Authority { pem, issuer: Issuer::new(params, key) }
}

/// Serves [`PAGE`] over TLS with a certificate for `name`.
fn serve(authority: &Authority, name: &str, years: Range<i32>) -> SocketAddr {
    let mut params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
    params.not_before = date_time_ymd(years.start, 1, 1);
    params.not_after = date_time_ymd(years.end, 1, 1);
    let key = KeyPair::generate().expect("a key");
    let certificate = params.signed_by(&key, &authority.issuer).expect("a certificate");
    let key = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider knows TLS 1.2 and 1.3")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .expect("key and certificate belong together");
    serve_by(config)
}

/// Serves [`PAGE`] over TLS in this way.
fn serve_by(config: rustls::ServerConfig) -> SocketAddr {
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback can be bound");
    let address = listener.local_addr().expect("a bound socket has an address");
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let Ok(connection) = rustls::ServerConnection::new(Arc::clone(&config)) else { return };
            let mut stream = rustls::StreamOwned::new(connection, socket);
            let mut request = [0; 4096];
            if stream.read(&mut request).is_ok() {
                let _ = stream.write_all(answer("200 OK", "text/plain", PAGE).as_bytes());
                let _ = stream.flush();
            }
        }
    });
    address
}

async fn ask(url: &str, ca_file: Option<&Path>) -> Reading {
    let mut spec = MetricsSpec::new(url);
    spec.ca_file = ca_file.map(Path::to_owned);
    MetricsSource::new(&spec).expect("the spec is right").ask().await
}

fn tls_fault(reading: &Reading) -> &str {
    assert_eq!(reading.faults.len(), 1, "{:?}", reading.faults);
    assert_eq!(reading.faults[0].kind, FaultKind::Tls, "{:?}", reading.faults);
    reading.faults[0].message.as_str()
}

fn has_page(reading: &Reading) -> bool {
    reading.faults.is_empty()
        && reading.samples.iter().any(|sample| sample.metric.as_str() == "queue.waiting")
}

#[tokio::test(flavor = "multi_thread")]
async fn ones_own_authority_is_trusted_only_when_it_is_given() {
    let (right, other) = (authority(), authority());
    let folder = tempfile::tempdir().unwrap();
    let [right_file, other_file] = ["right.pem", "other.pem"].map(|name| folder.path().join(name));
    std::fs::write(&right_file, &right.pem).unwrap();
    std::fs::write(&other_file, &other.pem).unwrap();
    let url = format!("https://{}/metrics", serve(&right, "127.0.0.1", VALID));
    let reading = ask(&url, Some(&right_file)).await;
    assert!(has_page(&reading), "{:?}", reading.faults);
    for wrong in [None, Some(other_file.as_path())] {
        let reading = ask(&url, wrong).await;
        let message = tls_fault(&reading);
        assert!(message.contains("set ca_file"), "{message}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_name_and_a_certificate_of_another_time_are_told_apart() {
    let authority = authority();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    std::fs::write(&file, &authority.pem).unwrap();
    for (name, years, words) in [
        ("other.example", VALID, "not for the name '127.0.0.1'"),
        ("127.0.0.1", 2010..2020, "has expired"),
        ("127.0.0.1", 2085..2090, "not valid yet"),
    ] {
        let reading = ask(&format!("https://{}/metrics", serve(&authority, name, years)), Some(&file)).await;
        let message = tls_fault(&reading);
        assert!(message.contains(words), "{message}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_to_a_plain_port_and_plain_to_a_tls_port_name_the_other_scheme() {
    let plain = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/metrics", plain.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut socket in plain.incoming().flatten() {
            // What HTTP servers say to a TLS greeting.
            let mut greeting = [0; 4096];
            let _ = socket.read(&mut greeting);
            let _ = socket.write_all(answer("400 Bad Request", "text/plain", "").as_bytes());
        }
    });
    let reading = ask(&url, None).await;
    let message = tls_fault(&reading);
    assert!(message.contains("write http://"), "{message}");
    let address = serve(&authority(), "127.0.0.1", VALID);
    let reading = ask(&format!("http://{address}/metrics"), None).await;
    assert!(reading.faults[0].message.as_str().contains("write https://"), "{:?}", reading.faults);
}

/// In the child: the authority of a file stands beside those of the machine, here one that the test made.
#[tokio::test(flavor = "multi_thread")]
async fn an_authority_that_is_given_is_the_only_one_that_is_trusted() {
    const CHILD: &str = "HEADWATER_TEST_HAS_ONE_AUTHORITY";
    let Some(folder) = std::env::var_os(CHILD) else {
        let (of_machine, of_file) = (authority(), authority());
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("machine.pem"), &of_machine.pem).unwrap();
        std::fs::write(folder.path().join("file.pem"), &of_file.pem).unwrap();
        let urls = [&of_machine, &of_file]
            .map(|authority| format!("https://{}/metrics", serve(authority, "127.0.0.1", VALID)));
        std::fs::write(folder.path().join("urls"), urls.join("\n")).unwrap();
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "an_authority_that_is_given_is_the_only_one_that_is_trusted"])
            .env(CHILD, folder.path())
            .env("SSL_CERT_FILE", folder.path().join("machine.pem"))
            .env_remove("SSL_CERT_DIR")
            .status()
            .unwrap();
        assert!(status.success());
        return;
    };
    let folder = Path::new(&folder);
    let file = folder.join("file.pem");
    let text = std::fs::read_to_string(folder.join("urls")).unwrap();
    let (of_machine, of_file) = text.split_once('\n').unwrap();
    let read = async |url: &str, ca_file: Option<&Path>| {
        let (subject, about) = ("probe/p".parse().unwrap(), "service/ranker".parse().unwrap());
        let mut probe = ProbeSpec::new(subject, about, url, ProbeKind::Http);
        probe.ca_file = ca_file.map(Path::to_owned);
        [ask(url, ca_file).await, ProbeSource::new(&probe).unwrap().ask().await]
    };
    for (url, ca_file) in [(of_machine, None), (of_file, Some(file.as_path()))] {
        for reading in read(url, ca_file).await {
            assert_eq!(reading.faults, [], "{url}");
        }
    }
    for (url, ca_file) in [(of_machine, Some(file.as_path())), (of_file, None)] {
        for reading in read(url, ca_file).await {
            let message = tls_fault(&reading);
            assert!(message.contains("where one is given, no other is trusted"), "{message}");
        }
    }
}

/// In the child: plain HTTP works on a host without any authority, and TLS says what is missing.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_without_authorities_can_read_plain_pages() {
    const CHILD: &str = "HEADWATER_TEST_HAS_NO_AUTHORITIES";
    if std::env::var_os(CHILD).is_none() {
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_host_without_authorities_can_read_plain_pages"])
            .envs([(CHILD, "1"), ("SSL_CERT_FILE", "/nonexistent"), ("SSL_CERT_DIR", "/nonexistent")])
            .env("HTTP_PROXY", "http://127.0.0.1:1")
            .status()
            .unwrap();
        assert!(status.success());
        return;
    }
    let server = Server::keep_alive(|_| answer("200 OK", "text/plain", PAGE));
    let reading = ask(&server.url("/metrics"), None).await;
    assert!(has_page(&reading), "{:?}", reading.faults);
    assert!(
        reqwest::Client::builder().build().is_err(),
        "this host has authorities: the test proves nothing"
    );
    let reading = ask(&format!("https://{}/metrics", serve(&authority(), "127.0.0.1", VALID)), None).await;
    assert!(tls_fault(&reading).contains("set ca_file"));
}

/// Serves [`PAGE`] over TLS to those alone whose certificate the authority has signed.
fn serve_to_known(authority: &Authorities) -> SocketAddr {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(authority.path("ca.pem")).expect("a certificate")).expect("a CA");
    let known = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
    let chain = vec![CertificateDer::from_pem_file(authority.path("server.pem")).expect("a certificate")];
    let key = PrivateKeyDer::from_pem_file(authority.path("server.key")).expect("a key");
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider knows TLS 1.2 and 1.3")
        .with_client_cert_verifier(known.build().expect("there is an authority"))
        .with_single_cert(chain, key)
        .expect("key and certificate belong together");
    serve_by(config)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_asks_who_we_are_is_shown_our_certificate_and_says_what_is_wrong_with_it() {
    let (authority, stranger) = (Authorities::new(), Authorities::new());
    authority.sign("server", &["127.0.0.1"]);
    authority.sign("headwater", &["headwater"]);
    authority.sign("other", &["headwater"]);
    stranger.sign("headwater", &["headwater"]);
    let url = format!("https://{}/metrics", serve_to_known(&authority));
    let spec = |of: Option<(&Authorities, &str, &str)>| {
        let mut spec = MetricsSpec::new(&url);
        spec.ca_file = Some(authority.path("ca.pem"));
        spec.client =
            of.map(|(of, cert, key)| ClientCertificate { cert_file: of.path(cert), key_file: of.path(key) });
        spec
    };
    let ask = async |spec: MetricsSpec| MetricsSource::new(&spec).expect("the spec is right").ask().await;
    let reading = ask(spec(Some((&authority, "headwater.pem", "headwater.key")))).await;
    assert!(has_page(&reading), "{:?}", reading.faults);
    let reading = ask(spec(None)).await;
    let message = tls_fault(&reading);
    assert!(message.contains("wants a client certificate and got none: set client_cert_file"), "{message}");
    let reading = ask(spec(Some((&stranger, "headwater.pem", "headwater.key")))).await;
    let message = tls_fault(&reading);
    assert!(
        message.contains("does not accept our client certificate") && message.contains("headwater.pem"),
        "{message}"
    );
    let probe = async |client: Option<ClientCertificate>| {
        let (subject, about) = ("probe/p".parse().unwrap(), "service/ranker".parse().unwrap());
        let mut probe = ProbeSpec::new(subject, about, &url, ProbeKind::Http);
        (probe.ca_file, probe.client) = (Some(authority.path("ca.pem")), client);
        ProbeSource::new(&probe).expect("the spec is right").ask().await
    };
    let reading = probe(spec(Some((&authority, "headwater.pem", "headwater.key"))).client).await;
    assert_eq!(reading.faults, []);
    let reading = probe(None).await;
    let message = tls_fault(&reading);
    assert!(message.contains("wants a client certificate and got none"), "{message}");
    for (cert, key, words) in [
        ("headwater.pem", "other.key", "does not belong to client_cert_file"),
        ("absent.pem", "headwater.key", "cannot read client_cert_file"),
        ("headwater.pem", "headwater.pem", "holds no private key"),
    ] {
        let error = MetricsSource::new(&spec(Some((&authority, cert, key)))).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}
