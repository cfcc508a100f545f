use proptest::prelude::*;

use super::*;

fn one(upstream: &str, status: Option<u16>, seconds: Option<f64>) -> Attempt {
    Attempt { upstream: upstream.to_owned(), status, seconds }
}

#[test]
fn nginx_is_read_plain_with_times_and_as_ingress_writes_it() {
    let plain = "10.0.0.9 - - [01/Jan/2026:10:00:00 +0000] \"GET /rank/42?u=7 HTTP/1.1\" 200 612 \"-\" \"a \\\"b\\\"\"";
    let access = read(Format::Nginx, plain.as_bytes()).unwrap();
    assert_eq!((access.route.as_str(), access.status, access.seconds), ("/rank/*", 200, None));
    let timed = format!(
        "{plain} rt=0.250 ua=\"10.0.0.1:80, 10.0.0.2:80\" us=\"502, 200\" urt=\"0.100, 0.150\" rid=abc"
    );
    let access = read(Format::Nginx, timed.as_bytes()).unwrap();
    assert_eq!((access.seconds, access.id.as_deref()), (Some(0.25), Some(&b"abc"[..])));
    let both = [one("10.0.0.1:80", Some(502), Some(0.1)), one("10.0.0.2:80", Some(200), Some(0.15))];
    assert_eq!(access.attempts, both);
    let ingress = format!(
        "{plain} 512 0.250 [default-ranker-80] [] 10.0.0.1:80, 10.0.0.2:80 0, 12 0.100, 0.150 502, 200 abc"
    );
    let of_ingress = read(Format::Nginx, ingress.as_bytes()).unwrap();
    assert_eq!((of_ingress.attempts, of_ingress.id), (access.attempts, access.id));
}

#[test]
fn envoy_is_read_as_it_writes_by_default_and_as_istio_does() {
    let tail = "0 612 250 240 \"10.0.0.9\" \"curl\" \"id-1\" \"ranker\" \"10.0.0.1:8000\"";
    let plain = format!("[2026-01-01T10:00:00.000Z] \"POST /v1/rank HTTP/2\" 200 - {tail}");
    let access = read(Format::Envoy, plain.as_bytes()).unwrap();
    let expected = Access {
        route: "/v1/rank".to_owned(),
        status: 200,
        seconds: Some(0.25),
        id: Some(b"id-1".to_vec()),
        attempts: vec![one("10.0.0.1:8000", Some(200), Some(0.24))],
    };
    assert_eq!(access, expected);
    let istio =
        format!("[2026-01-01T10:00:00.000Z] \"POST /v1/rank HTTP/2\" 200 - via_upstream - \"-\" {tail}");
    assert_eq!(read(Format::Envoy, istio.as_bytes()).unwrap(), expected);
    let gone = plain.replace(" 200 - ", " 0 DC ").replace(" 240 ", " - ");
    let access = read(Format::Envoy, gone.as_bytes()).unwrap();
    assert_eq!((access.status, &access.attempts[0].status), (CALLER_WENT_AWAY, &None));
}

#[test]
fn json_is_read_by_the_names_of_its_fields() {
    let nginx = br#"{"status":"499","request":"GET /a?b HTTP/1.1","request_time":"0.5","request_id":"x"}"#;
    let access = read(Format::Json, nginx).unwrap();
    assert_eq!((access.route.as_str(), access.status, access.seconds), ("/a", 499, Some(0.5)));
    let envoy = br#"{"response_code":503,"path":"/a","duration":12,"response_flags":"DC","upstream_host":"h:1","upstream_service_time":"7"}"#;
    let access = read(Format::Json, envoy).unwrap();
    assert_eq!((access.status, access.seconds), (CALLER_WENT_AWAY, Some(0.012)));
    assert_eq!(access.attempts, [one("h:1", None, Some(0.007))]);
    assert_eq!(read(Format::Json, br#"{"status":200,"latency_ms":"12ms"}"#).unwrap().seconds, Some(0.012));
    assert_eq!(read(Format::Json, b"{\"message\":\"started\"}"), None);
}

#[test]
fn routes_leave_out_what_names_one_of_many() {
    for (request, told) in [
        ("GET / HTTP/1.1", "/"),
        ("/users/8812/feed", "/users/*/feed"),
        ("GET /f/0b7e5c1a-77aa-4e5e-9a93-0d6d7b6f5a10 HTTP/1.1", "/f/*"),
        ("GET http://h:1/v1/models?x HTTP/1.1", "/v1/models"),
        ("", "/"),
        ("/face/decade", "/face/decade"),
    ] {
        assert_eq!(route(request), told, "{request}");
    }
}

#[test]
fn every_seed_of_the_fuzzer_is_digested() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds/logs");
    let mut read_whole = [0; 3];
    for entry in std::fs::read_dir(folder).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        (0..=bytes.len()).for_each(|end| read_everything(&bytes[..end]));
        let lines = || bytes.split(|byte| *byte == b'\n');
        for (format, count) in [Format::Json, Format::Nginx, Format::Envoy].into_iter().zip(&mut read_whole) {
            *count += lines().filter(|line| read(format, line).is_some()).count();
        }
    }
    assert!(
        read_whole.iter().all(|lines| *lines >= 4),
        "seeds that no reader reads teach little: {read_whole:?}"
    );
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        read_everything(&bytes);
    }

    #[test]
    fn no_line_breaks_a_reader(line in proptest::collection::vec(any::<u8>(), 0..200), text in "\\PC{0,200}") {
        for format in [Format::Json, Format::Nginx, Format::Envoy, Format::Plain] {
            for line in [&line[..], text.as_bytes()] {
                if let Some(access) = read(format, line) {
                    prop_assert!(access.attempts.len() <= MOST_ATTEMPTS && access.status < 1_000);
                }
            }
        }
    }

    #[test]
    fn a_line_that_is_cut_anywhere_breaks_no_reader(cut in 0usize..220) {
        let line = "[2026-01-01T10:00:00Z] \"GET /\u{e9} HTTP/2\" 200 - 0 612 250 240 \"a\" \"b\" \"c\" \"d\" \"e:1\"";
        let end = (0..=cut.min(line.len())).rev().find(|at| line.is_char_boundary(*at)).unwrap();
        let _ = read(Format::Envoy, &line.as_bytes()[..end]);
        let _ = read(Format::Nginx, &line.as_bytes()[..end]);
    }
}
