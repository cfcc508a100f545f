//! Numbers that mean "no value", and free series that are about somebody else than the page's target.

use headwater::sources::metrics::dialect::Dialects;
use headwater::sources::metrics::exposition::decode;
use headwater::sources::metrics::mapping::{Mapper, Mapping, explain};
use headwater_engine::metric::MetricName;
use headwater_engine::reading::{Sample, Value};

use crate::{map, real, target};

fn number(sample: &Sample) -> f64 {
    match &sample.value {
        Value::Gauge(value) | Value::Counter(value) => *value,
        Value::Histogram(histogram) => histogram.count,
    }
}

/// Subject, metric and number of every free sample.
fn free(mapping: &Mapping) -> Vec<String> {
    let free = mapping.samples.iter().filter(|sample| matches!(sample.metric, MetricName::Free(_)));
    free.map(|sample| format!("{} {} {}", sample.subject, sample.metric.as_str(), number(sample))).collect()
}

/// Whether a number is one by which DCGM says that it has none.
fn is_blank(value: f64) -> bool {
    let near = |blank: f64| (blank..blank + 16.0).contains(&value);
    value >= 9.2e18 || near(140_737_488_355_328.0) || near(2_147_483_632.0)
}

#[test]
fn what_dcgm_cannot_tell_is_no_value_of_any_family() {
    for file in ["dcgm-2-readme.prom", "dcgm-4-h100x8-template-generated.prom"] {
        let Some(mapping) = real(file) else { return };
        assert!(!mapping.samples.is_empty(), "{file}");
        for sample in &mapping.samples {
            assert!(!is_blank(number(sample)), "{file}: {sample:?}");
            assert_eq!(sample.subject.kind(), headwater_engine::Kind::Gpu, "{file}: {sample:?}");
        }
    }
    let Some(mapping) = real("dcgm-4-h100x8-template-generated.prom") else { return };
    let temperatures: Vec<_> =
        free(&mapping).into_iter().filter(|line| line.contains("MEMORY_TEMP")).collect();
    assert_eq!(temperatures.len(), 8, "{temperatures:?}");
    assert_eq!(temperatures[0], "gpu/gpu-node-a:0 DCGM_FI_DEV_MEMORY_TEMP 71");
}

#[test]
fn a_number_that_means_none_is_none_whoever_reads_it() {
    let dcgm = "# TYPE DCGM_FI_DEV_MEMORY_TEMP gauge\n\
        DCGM_FI_DEV_MEMORY_TEMP{gpu=\"0\",Hostname=\"a\"} 9223372036854775794\n\
        DCGM_FI_DEV_MEMORY_TEMP{gpu=\"1\",Hostname=\"a\"} 71\n\
        # TYPE DCGM_FI_DEV_ROW_REMAP_PENDING gauge\n\
        DCGM_FI_DEV_ROW_REMAP_PENDING{gpu=\"0\",Hostname=\"a\"} 9223372036854775794\n\
        # TYPE DCGM_FI_PROF_SM_ACTIVE gauge\n\
        DCGM_FI_PROF_SM_ACTIVE{gpu=\"0\",Hostname=\"a\"} 140737488355330.000000\n\
        # TYPE DCGM_FI_DEV_FAN_SPEED gauge\n\
        DCGM_FI_DEV_FAN_SPEED{gpu=\"0\",Hostname=\"a\"} 2147483634\n\
        # TYPE DCGM_FI_DEV_GPU_UTIL gauge\n\
        DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",Hostname=\"a\"} 2147483634\n\
        # TYPE DCGM_FI_DEV_BOARD_LIMIT_VIOLATION counter\n\
        DCGM_FI_DEV_BOARD_LIMIT_VIOLATION{gpu=\"0\",Hostname=\"a\"} 400000000000000\n";
    let micrometer = "# TYPE jvm_memory_used_bytes gauge\njvm_memory_used_bytes{area=\"heap\"} 5\n\
        # TYPE jvm_memory_max_bytes gauge\njvm_memory_max_bytes{area=\"heap\"} 64\n\
        jvm_memory_max_bytes{area=\"nonheap\"} -1\n\
        # TYPE resilience4j_circuitbreaker_failure_rate gauge\nresilience4j_circuitbreaker_failure_rate -1\n\
        # TYPE own_balance gauge\nown_balance -1\n";
    let redis = "# TYPE redis_up gauge\nredis_up 1\n\
        # TYPE redis_rdb_current_bgsave_duration_sec gauge\nredis_rdb_current_bgsave_duration_sec -1\n\
        # TYPE redis_key_value gauge\nredis_key_value{key=\"balance\"} -1\n";
    let vllm = "# TYPE vllm:num_requests_waiting gauge\nvllm:num_requests_waiting{model_name=\"m\"} 3\n\
        # TYPE vllm:cpu_prefix_cache_hit_rate gauge\nvllm:cpu_prefix_cache_hit_rate{model_name=\"m\"} -1\n";
    let kafka = "# TYPE kafka_consumergroup_lag gauge\nkafka_consumergroup_lag{consumergroup=\"g\",topic=\"t\"} 4\n\
        # TYPE kafka_consumergroup_current_offset_sum gauge\n\
        kafka_consumergroup_current_offset_sum{consumergroup=\"g\",topic=\"t\"} -1\n\
        # TYPE kafka_consumergroup_members gauge\nkafka_consumergroup_members{consumergroup=\"g\"} -1\n";
    let flink = "# TYPE flink_taskmanager_job_task_currentInputWatermark gauge\n\
        flink_taskmanager_job_task_currentInputWatermark{job_name=\"j\"} -9223372036854775808\n\
        # TYPE flink_jobmanager_job_downtime gauge\nflink_jobmanager_job_downtime{job_name=\"j\"} -1\n\
        # TYPE flink_jobmanager_job_numRestarts gauge\nflink_jobmanager_job_numRestarts{job_name=\"j\"} 2\n";
    let nothing: &[&str] = &[];
    for (page, kept) in [
        (dcgm, &["gpu/a:1 DCGM_FI_DEV_MEMORY_TEMP 71"][..]),
        (
            micrometer,
            &[
                "service/ranker@127.0.0.1:8000 jvm_memory_used_bytes 5",
                "service/ranker@127.0.0.1:8000 jvm_memory_max_bytes 64",
                "service/ranker@127.0.0.1:8000 own_balance -1",
            ],
        ),
        (redis, &["redis/ranker@127.0.0.1:8000 redis_key_value -1"]),
        (vllm, nothing),
        (kafka, nothing),
        (flink, &["pipeline/j flink_jobmanager_job_numRestarts 2"]),
    ] {
        assert_eq!(free(&map(page)), kept, "{page}");
    }
    // A row reads no blank either, and 400 000 s of a limit are no blank.
    let throttled = map(dcgm);
    let known = throttled.samples.iter().filter(|sample| matches!(sample.metric, MetricName::Known(_)));
    let known: Vec<_> = known.map(|sample| (sample.metric.as_str(), number(sample))).collect();
    assert_eq!(known, [("gpu.throttled", 400_000.0)]);
}

/// The `[[blank]]` tables of a dialect's file: a family of each pattern, and every number that means none there.
fn told_as_none(id: &str) -> Vec<(String, f64)> {
    let path = format!("{}/assets/dialects/{id}.toml", env!("CARGO_MANIFEST_DIR"));
    let file: toml::Table = toml::from_str(&std::fs::read_to_string(path).expect("a file")).expect("TOML");
    let list = |table: &toml::Value, key: &str| table.get(key).and_then(|list| list.as_array().cloned());
    let mut told = vec![];
    for blank in file.get("blank").and_then(|blank| blank.as_array()).into_iter().flatten() {
        let number = |value: &toml::Value| value.as_float().expect("a number");
        let mut numbers: Vec<f64> = list(blank, "sentinels").unwrap_or_default().iter().map(number).collect();
        if let Some(range) = list(blank, "range") {
            numbers.extend([number(&range[0]) * 1.01, number(&range[1]) * 1.01]);
        }
        for family in list(blank, "families").unwrap_or_default() {
            let family = family.as_str().expect("a name").replace('*', "x");
            told.extend(numbers.iter().map(|number| (family.clone(), *number)));
        }
    }
    told
}

#[test]
fn every_blank_that_a_dialect_names_is_one() {
    let mut blanks = 0;
    for dialect in &Dialects::built_in().list {
        // The page speaks the dialect by its first example.
        let example = dialect.examples[0].text.replace("# EOF\n", "");
        let samples = |more: &str| {
            let mut samples: Vec<String> =
                map(&format!("{example}{more}")).samples.iter().map(|sample| format!("{sample:?}")).collect();
            samples.sort();
            samples
        };
        for (family, none) in told_as_none(&dialect.id) {
            blanks += 1;
            let series = |value: f64| {
                samples(&format!(
                    "# TYPE {family} gauge\n{family}{{gpu=\"probe\",uuid=\"probe\",group=\"probe\",topic=\"t\",job_name=\"probe\",\
                     proxy=\"probe\",name=\"probe\"}} {value}\n"
                ))
            };
            assert_eq!(series(none), samples(""), "{}: {family} {none}", dialect.id);
            assert_ne!(series(3.0), samples(""), "{}: {family} 3", dialect.id);
        }
    }
    assert!(blanks > 40, "only {blanks}");
}

#[test]
fn a_blank_that_says_nothing_is_an_error_that_names_the_key() {
    for (keys, part) in [
        ("families = []\nsentinels = [-1.0]", "blank '' names no family"),
        ("families = [\"a\"]", "blank 'a' says of no number"),
        ("families = [\"a\"]\nrange = [2.0, 1.0]", "range '[2, 1]'"),
    ] {
        let error = crate::dialect(&format!(
            "[[blank]]\n{keys}\n[[row]]\nfamilies = [\"a\"]\nmetric = \"queue.waiting\"\n"
        ));
        let error = error.map(|_| ()).unwrap_err();
        assert!(error.contains("own.toml") && error.contains(part), "{error}");
    }
}

#[test]
fn an_exporters_series_are_about_whom_it_tells_of_or_nobody() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/expositions");
    let Ok(entries) = std::fs::read_dir(&folder) else { return crate::skipped(&folder) };
    let mut pages = 0;
    for path in entries.map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(mapping) = name.ends_with(".prom").then(|| real(&name)).flatten() else { continue };
        let speaks = |place: &usize| Dialects::built_in().list[*place].is_exporter;
        if !mapping.spoken.iter().any(speaks) {
            continue;
        }
        pages += 1;
        for sample in &mapping.samples {
            let is_free = matches!(sample.metric, MetricName::Free(_));
            assert!(!is_free || !sample.subject.as_str().starts_with("service/"), "{name}: {sample:?}");
        }
    }
    assert!(pages >= 6, "only {pages} pages of exporters");
}

#[test]
fn what_is_an_exporters_own_or_nobodys_is_left_out_and_said_to_be() {
    let own = "# TYPE promhttp_requests_in_flight gauge\npromhttp_requests_in_flight 1\n\
        # TYPE exporter_scrapes counter\nexporter_scrapes_total 7\n\
        # TYPE DCGM_FI_DEV_COUNT gauge\nDCGM_FI_DEV_COUNT{Hostname=\"a\"} 8\n";
    let gpu = "# TYPE DCGM_FI_DEV_GPU_TEMP gauge\nDCGM_FI_DEV_GPU_TEMP{gpu=\"0\",Hostname=\"a\"} 60\n";
    let text = format!("{own}{gpu}");
    let page = decode(text.as_bytes(), None);
    let mapping = Mapper::new(Dialects::built_in(), target(), None).map(&page);
    assert_eq!(free(&mapping), [""; 0]);
    let fates = explain(Dialects::built_in(), &page, &mapping);
    let scrapes = fates.iter().find(|fate| fate.family.as_str().starts_with("exporter_scrapes")).unwrap();
    assert_eq!(
        scrapes.fates,
        ["is about the exporter, which is no component, or about nobody whom its labels name"]
    );
    // Beside numbers of a service they are the service's, as the page is.
    let served = "# TYPE vllm:num_requests_waiting gauge\nvllm:num_requests_waiting{model_name=\"m\"} 3\n";
    assert_eq!(
        free(&map(&format!("{text}{served}"))),
        ["service/ranker@127.0.0.1:8000 exporter_scrapes_total 7"]
    );
}
