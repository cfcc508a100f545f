//! Each kind of wrong configuration is answered by one sentence with the line, the key, the value and the fix.

use std::time::Duration;

use headwater::config::{Config, TargetOptions, from_targets};

fn complaints(text: &str) -> Vec<String> {
    let error = Config::parse(text, "hw.toml").expect_err("the configuration is wrong");
    error.to_string().lines().map(str::to_owned).collect()
}

const GOOD: &str = r#"
name = "ranker-prod"
interval = "500ms"

[[redis]]
name = "features"
urls = ["redis://127.0.0.1:7000", "redis://127.0.0.1:7001"]
link = "200Mbit/s"

[[metrics]]
component = "service/ranker"
url = "http://127.0.0.1:8000/metrics"

[[metrics]]
component = "service/ranker"
url = "http://127.0.0.1:8001/metrics"

[[component]]
subject = "service/ranker"
depends_on = ["redis/features", "queue/ranker"]
objective_p99 = "500ms"
stages = { feature_load = "redis/features", queue = "queue/ranker", infer = "gpu/ranker" }
baselines = { "http.server.request.duration" = 0.18 }
thresholds = { "shard-hot" = { cpu = 0.8 } }

[thresholds.shard-hot]
cpu = 0.7
"#;

#[test]
fn a_configuration_gives_targets_and_components() {
    let config = Config::parse(GOOD, "hw.toml").unwrap();
    assert_eq!(config.settings.interval, Duration::from_millis(500));
    assert_eq!(config.redis[0].seeds, ["127.0.0.1:7000", "127.0.0.1:7001"]);
    assert_eq!(config.metrics.len(), 2);
    assert!(
        !config.redis[0].show_arguments,
        "arguments of slow commands stay where they are unless asked for"
    );
    let asked = GOOD.replacen("link =", "slow_arguments = true\nlink =", 1);
    assert!(Config::parse(&asked, "hw.toml").unwrap().redis[0].show_arguments);
    let seen: Vec<_> = config
        .settings
        .components
        .iter()
        .map(|c| (c.subject.as_str(), c.has_source, c.depends_on.len()))
        .collect();
    // The queue is fed by its service's page; nobody watches the GPU, but it is in the graph.
    assert_eq!(
        seen,
        [
            ("redis/features", true, 0),
            ("service/ranker", true, 3),
            ("queue/ranker", true, 0),
            ("gpu/ranker", false, 0)
        ]
    );
    let redis = &config.settings.components[0];
    assert_eq!(redis.link, Some(25e6));
    let service = &config.settings.components[1];
    assert_eq!(service.objective_p99, Some(Duration::from_millis(500)));
    assert_eq!(service.thresholds["shard-hot"]["cpu"], 0.8);
    assert_eq!(config.settings.thresholds["shard-hot"]["cpu"], 0.7);
}

#[test]
fn a_symptom_of_any_number_is_taken() {
    let table = "[[symptom]]\nname = \"orders\"\nsubject = \"service/ranker\"\nmetric = \"orders_total\"\n";
    let text = format!("{GOOD}\n{table}part = \"kind=paid\"\nat_least = 0.5\n");
    let config = Config::parse(&text, "hw.toml").unwrap();
    let symptom = &config.settings.symptoms[0];
    assert_eq!((symptom.name.as_str(), symptom.metric.as_str()), ("orders", "orders_total"));
    assert_eq!((symptom.at_least, symptom.at_most), (Some(0.5), None));
    assert_eq!(Config::parse(&config.print(), "printed").unwrap().settings, config.settings);
}

#[test]
fn each_wrong_input_has_its_sentence() {
    let redis = "[[redis]]\nname = \"f\"\nurl = \"redis://h:1\"\n";
    for (text, expected) in [
        ("intervall = \"1s\"\n", "hw.toml:1: unknown key 'intervall': did you mean 'interval'?".to_owned()),
        (
            &format!("{redis}link = \"200Mbyt\"\n"),
            "hw.toml:4: 'link' = '200Mbyt' is not a bandwidth: write for example '200Mbit/s' or '25MB/s'".to_owned(),
        ),
        (
            &format!("{redis}[[symptom]]\nname = \"orders\"\nsubject = \"redis/f\"\nmetric = \"orders\"\n"),
            "hw.toml:4: [[symptom]] has no limit: write at_most = NUMBER where more is worse, at_least = NUMBER where less is".to_owned(),
        ),
        (
            &format!("{redis}[[symptom]]\nname = \"orders\"\nsubject = \"redis/f\"\nat_most = 1\n"),
            "hw.toml:4: [[symptom]] has no 'metric': write for example metric = \"orders_total\"".to_owned(),
        ),
        (
            &format!("{redis}[[symptom]]\nname = \"orders\"\nsubject = \"redis/ff\"\nmetric = \"orders\"\nat_most = 1\n"),
            "hw.toml:6: unknown component 'redis/ff': did you mean 'redis/f'?".to_owned(),
        ),
        (
            &format!("{redis}[[symptom]]\nnames = \"orders\"\n"),
            "hw.toml:5: unknown key 'names': did you mean 'name'?".to_owned(),
        ),
        (
            &format!("{redis}[[symptom]]\nname = \"orders\"\nsubject = \"redis/f\"\nmetric = \"orders\"\nat_most = 1\nat_least = 2\n"),
            "hw.toml:9: 'at_least' = '2' leaves nothing healthy: it must lie below at_most".to_owned(),
        ),
        (
            &format!("interval = 1\n{redis}"),
            "hw.toml:1: 'interval' = '1' is not a span of time: write for example '1s', '500ms' or '2min'".to_owned(),
        ),
        (
            &format!("interval = \"1ms\"\n{redis}"),
            "hw.toml:1: 'interval' = '1ms' is out of range: write a span from '200ms' to '1min'".to_owned(),
        ),
        (
            "[redis]\nname = \"f\"\n",
            "hw.toml:1: 'redis' is a list of tables: write [[redis]] in double brackets".to_owned(),
        ),
        (
            &format!("{redis}password = \"hunter2\"\n"),
            "hw.toml:4: unknown key 'password': secrets do not stand in this file: write password_env = \"NAME\" for an environment variable or password_file = \"PATH\"".to_owned(),
        ),
        (
            &format!("{redis}password_env = \"hunter2\"\n"),
            "hw.toml:4: 'password_env' is not the name of an environment variable: write capitals, digits and '_', and put the secret in that variable".to_owned(),
        ),
        (
            &format!("{redis}password_env = \"HEADWATER_TEST_UNSET\"\n"),
            "hw.toml:4: 'password_env' = 'HEADWATER_TEST_UNSET' is not set: export that environment variable first".to_owned(),
        ),
        (
            &format!("{redis}password_file = \"/nonexistent/pw\"\n"),
            "hw.toml:4: 'password_file' = '/nonexistent/pw' cannot be read (No such file or directory (os error 2)): check the path and its rights".to_owned(),
        ),
        (
            &format!("{redis}insecure = \"yes\"\n"),
            "hw.toml:4: 'insecure' = 'yes' is not a yes or no: write true or false".to_owned(),
        ),
        (
            &format!("{redis}insecure = true\n"),
            "hw.toml:4: 'insecure' = 'true' needs TLS: write the url with rediss://".to_owned(),
        ),
        (
            &format!("{redis}server_name = \"a.example\"\n"),
            "hw.toml:4: 'server_name' = 'a.example' needs TLS: write the url with rediss://".to_owned(),
        ),
        (
            &format!("{}client_cert_file = \"Cargo.toml\"\n", redis.replace("redis://", "rediss://")),
            "hw.toml:4: 'client_cert_file' = 'Cargo.toml' needs its key: write client_key_file beside it".to_owned(),
        ),
        (
            "[[metrics]]\nurl = \"https://10.0.0.5/metrics\"\nclient_key_file = \"Cargo.toml\"\n",
            "hw.toml:3: 'client_key_file' = 'Cargo.toml' needs its certificate: write client_cert_file beside it".to_owned(),
        ),
        (
            "[[discovery]]\nurl = \"https://10.0.0.5/targets\"\nlist_client_key_file = \"Cargo.toml\"\n",
            "hw.toml:3: 'list_client_key_file' = 'Cargo.toml' needs its certificate: write list_client_cert_file beside it".to_owned(),
        ),
        (
            "[[probe]]\nurl = \"https://10.0.0.5/\"\nclient_cert_file = \"Cargo.toml\"\n",
            "hw.toml:3: 'client_cert_file' = 'Cargo.toml' needs its key: write client_key_file beside it".to_owned(),
        ),
        (
            &format!("{redis}address_map = {{ \"*\" = \"127.0.0.1:7001\" }}\n"),
            "hw.toml:4: '127.0.0.1:7001' is not a host: write \"*\" = \"HOST\", each announced port is dialled there"
                .to_owned(),
        ),
        (
            &format!("{redis}proxy = \"socks5://me:hunter2@h:1\"\n"),
            "hw.toml:4: 'proxy' = 'socks5://me:***@h:1' looks names up here, where those of the other side mean nothing: \
             write socks5h://"
                .to_owned(),
        ),
        (
            &format!("{redis}sentinel_username = \"u\"\n"),
            "hw.toml:1: a key of Sentinels without 'sentinel_master': write the name by which they know the primary"
                .to_owned(),
        ),
        (
            "[[redis]]\nname = \"f\"\nurl = \"http://:s3cret@h\"\n",
            "hw.toml:3: 'url' = 'http://:***@h' is not an address of Redis: write for example redis://10.0.0.1:6379, rediss:// for TLS, redis+unix:///run/redis.sock, or redis+sentinel://10.0.0.1:26379/NAME".to_owned(),
        ),
        (
            "[[redis]]\nname = \"f\"\n",
            "hw.toml:1: [[redis]] 'f' has no 'url': write for example url = \"redis://10.0.0.1:6379\"".to_owned(),
        ),
        (
            "[[redis]]\nname = \"a/b\"\nurl = \"redis://h\"\n",
            "hw.toml:2: 'name' = 'a/b' is not a name: use letters, digits, '.', '_' and '-'".to_owned(),
        ),
        (
            &format!("{redis}\n{redis}"),
            "hw.toml:6: 'name' = 'f' stands twice: give each [[redis]] its own name, or list its nodes in one 'urls'".to_owned(),
        ),
        (
            "[[metrics]]\ncomponent = \"ranker\"\nurl = \"http://h/metrics\"\n",
            "hw.toml:2: 'component' = 'ranker' is not a component: write KIND/NAME such as 'service/ranker', KIND one of client, gateway, service, queue, redis, dependency, kafka, pipeline, gpu or host".to_owned(),
        ),
        (
            "[[metrics]]\nurl = \"file:///etc/passwd\"\n",
            "hw.toml:2: 'url' = 'file:///etc/passwd' is not an address of a metrics page: write for example http://10.0.0.5:8000/metrics".to_owned(),
        ),
        (
            &format!("{redis}[[component]]\nsubject = \"service/a\"\ndepends_on = [\"redis/f\", \"service/a\"]\n"),
            "hw.toml:6: 'depends_on' = 'service/a' cannot depend on itself: remove it".to_owned(),
        ),
        (
            &format!("{redis}[[component]]\nsubject = \"service/a\"\ndepends_on = \"redis/f\"\n"),
            "hw.toml:6: 'depends_on' = 'redis/f' is not a list: write [\"...\", \"...\"]".to_owned(),
        ),
        (
            "[local]\nname = \"a\"\n",
            "hw.toml:1: [local] asks for nothing: write gpu = true or host = true".to_owned(),
        ),
        (
            "[local]\nhost = true\nname = \"a b\"\n",
            "hw.toml:3: 'name' = 'a b' is not a name: write letters, digits, '.', '_' and '-'".to_owned(),
        ),
        (
            "[local]\nhost = true\nnvml_library = \"/x.so\"\n",
            "hw.toml:3: 'nvml_library' needs gpu = true beside it".to_owned(),
        ),
        (
            &format!("{redis}[[component]]\nsubject = \"service/a\"\nthresholds = {{ \"shard-hot\" = {{ cpu = \"70%\" }} }}\n"),
            "hw.toml:6: 'cpu' = '70%' is not a number: write for example 0.7".to_owned(),
        ),
        (
            "[[metrics]]\nurl = \"http://h/metrics\"\ndialects = [\"vlm\"]\n",
            "hw.toml:3: unknown dialect 'vlm': did you mean 'vllm'?".to_owned(),
        ),
        (
            "[[metrics]]\nurl = \"http://h/metrics\"\n[[metrics]]\nurl = \"http://h/metrics\"\n",
            "hw.toml:4: 'url' = 'http://h/metrics' stands twice: its requests would be counted twice; remove one".to_owned(),
        ),
        (
            &format!("{redis}address_map = {{ \"10.0.0.1\" = \"127.0.0.1:7001\" }}\n"),
            "hw.toml:4: '10.0.0.1' is not an address: write \"HOST:PORT\" = \"HOST:PORT\", announced = dialled".to_owned(),
        ),
        (
            &format!("{redis}link_scope = \"rack\"\n"),
            "hw.toml:4: 'link_scope' = 'rack' is not 'host' or 'node'".to_owned(),
        ),
        (
            &format!("{redis}[thresholds.shard-hott]\ncpu = 0.7\n"),
            "hw.toml:4: unknown rule 'shard-hott': did you mean 'shard-hot'?".to_owned(),
        ),
        (
            &format!("{redis}[thresholds.shard-hot]\ncpuu = 0.7\n"),
            "hw.toml:5: unknown 'shard-hot' threshold 'cpuu': did you mean 'cpu'?".to_owned(),
        ),
        (
            &format!("{redis}[thresholds.shard-hot]\ncpu = -1\n"),
            "hw.toml:5: 'cpu' = '-1' is a share: write a number from 0 to 1".to_owned(),
        ),
        (
            &format!("{redis}[thresholds.shard-hot]\nskew = -1\n"),
            "hw.toml:5: 'skew' = '-1' is not a threshold: write a number from 0".to_owned(),
        ),
        (
            &format!("{redis}[thresholds.node-unreachable]\nsilence = inf\n"),
            "hw.toml:5: 'silence' = 'inf' is not a threshold: write a number from 0".to_owned(),
        ),
        (
            &format!("{redis}[thresholds.shard-bandwidth]\nlink = 70\n"),
            "hw.toml:5: 'link' = '70' is a share: write 0.7 for 70 %".to_owned(),
        ),
        (
            &format!("{redis}[thresholds.shard-bandwidth]\nlink = 700\n"),
            "hw.toml:5: 'link' = '700' is a share: write a number from 0 to 1".to_owned(),
        ),
        (
            &format!("{redis}[[component]]\nsubject = \"redis/f\"\nbaselines = {{ \"redis.cpu\" = 0.2 }}\n"),
            "hw.toml:6: unknown metric 'redis.cpu': did you mean 'redis.cpu.process'?".to_owned(),
        ),
        (
            &format!("{redis}[[component]]\nsubject = \"redis/f\"\nbaselines = {{ \"redis.cpu.process\" = -1 }}\n"),
            "hw.toml:6: 'redis.cpu.process' = '-1' is not a healthy value: write a number from 0".to_owned(),
        ),
        (
            &format!("{redis}[[component]]\nsubject = \"service/a\"\nobjective_p99 = \"0s\"\n"),
            "hw.toml:6: 'objective_p99' = '0s' is met by no request: write for example '500ms'".to_owned(),
        ),
        (
            "[[redis]]\nname = \"features\"\nurl = \"redis://h:1\"\n[[component]]\nsubject = \"service/a\"\ndepends_on = [\"redis/featurs\"]\n",
            "hw.toml:6: 'redis/featurs' is declared nowhere: did you mean 'redis/features'? If not, give it a [[component]] of its own".to_owned(),
        ),
        (
            "[[redis]]\nname = \"features\"\nurl = \"redis://h:1\"\n[[component]]\nsubject = \"service/a\"\nstages = { load = \"redis/feature\" }\n",
            "hw.toml:6: 'redis/feature' is declared nowhere: did you mean 'redis/features'? If not, give it a [[component]] of its own".to_owned(),
        ),
        (
            "name = \"x\"\n",
            "hw.toml: nothing to ask: add a [[redis]] or a [[metrics]] table ('headwater config init' shows both)".to_owned(),
        ),
    ] {
        assert_eq!(complaints(text), [expected], "{text}");
    }
}

#[test]
fn a_dependency_without_a_source_is_no_misspelling() {
    let seen = |callee: &str, more: &str| {
        let text = format!(
            "[[redis]]\nname = \"features\"\nurl = \"redis://h:1\"\n[[metrics]]\ncomponent = \"service/ranker-b\"\nurl = \"http://h/metrics\"\n[[component]]\nsubject = \"queue/ranker-a\"\n[[component]]\nsubject = \"service/ranker-a\"\ndepends_on = [\"{callee}\"]\n{more}"
        );
        Config::parse(&text, "hw.toml").is_ok()
    };
    assert!(seen("redis/users", ""), "no name of its kind is like it");
    assert!(seen("kafka/features", ""), "a name of another kind is another thing");
    assert!(seen("queue/ranker-b", ""), "a service's page tells of its queue");
    assert!(!seen("redis/features-2", ""));
    assert!(
        seen("redis/features-2", "[[component]]\nsubject = \"redis/features-2\"\n"),
        "what is declared is meant"
    );
}

#[test]
fn a_multiple_may_be_above_one_and_a_share_may_be_all() {
    let text = "[[redis]]\nname = \"f\"\nurl = \"redis://h:1\"\n[thresholds.shard-bandwidth]\nlink = 1\nskew = 70\nfloor = 2e6\n";
    assert_eq!(Config::parse(text, "hw.toml").unwrap().settings.thresholds["shard-bandwidth"]["skew"], 70.0);
}

#[test]
fn broken_toml_names_its_line() {
    let complaint = complaints("name = \"a\"\nlink = \"200\n").remove(0);
    assert!(complaint.starts_with("hw.toml:2: this is not TOML"), "{complaint}");
    assert!(complaint.ends_with("look for a missing quote or bracket"), "{complaint}");
}

#[test]
fn all_problems_are_told_at_once_in_the_order_of_lines() {
    let complaints =
        complaints("interval = \"1h\"\n[[redis]]\nname = \"f\"\nurl = \"redis://\"\n[[metrics]]\n");
    assert_eq!(complaints.len(), 3, "{complaints:?}");
    assert!(
        complaints[0].starts_with("hw.toml:1:") && complaints[2].starts_with("hw.toml:5:"),
        "{complaints:?}"
    );
}

#[test]
fn a_component_that_stands_twice_is_said_at_both_places() {
    let twice = "[[metrics]]\nurl = \"http://h\"\n[[component]]\nsubject = \"service/a\"\n[[component]]\nsubject = \"service/a\"\n";
    assert_eq!(
        complaints(twice),
        [4, 6].map(|line| format!(
            "hw.toml:{line}: 'subject' = 'service/a' stands twice: put its keys into one [[component]]"
        ))
    );
}

#[test]
fn an_escape_sequence_in_the_file_does_not_reach_the_terminal() {
    let named =
        Config::parse("name = \"\\u001b[31mred\"\n[[redis]]\nname = \"f\"\nurl = \"redis://h\"\n", "hw.toml")
            .unwrap();
    assert_eq!(named.settings.name, "\\x1b[31mred");
    let complaint = complaints("\"x\\u001b[31m\" = 1\n").remove(0);
    assert!(!complaint.contains('\x1b') && complaint.contains("\\x1b[31m"), "{complaint}");
}

#[test]
fn secrets_come_from_files_and_stay_out_of_everything_printed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pw");
    std::fs::write(&file, "hunter2-file\n").unwrap();
    let text = format!(
        "[[redis]]\nname = \"f\"\nurl = \"redis://ops:hunter2-url@h:1\"\npassword_file = \"{}\"\n",
        file.display()
    );
    let config = Config::parse(&text, "hw.toml").unwrap();
    assert_eq!(config.redis[0].username.as_deref(), Some("ops"));
    let password = secrecy::ExposeSecret::expose_secret(config.redis[0].password.as_ref().unwrap());
    assert_eq!(
        password, "hunter2-file",
        "the file comes before the address and its line ending is no part of it"
    );
    let printed = config.print();
    let settings = serde_json::to_string(&config.settings).unwrap();
    for shown in [format!("{config:?}"), printed.clone(), settings] {
        assert!(!shown.contains("hunter2"), "{shown}");
    }
    assert!(printed.contains("redis://ops:***@h:1"), "{printed}");
}

#[test]
fn a_token_of_a_file_is_read_and_its_file_kept_in_mind() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, "s3cret\n").unwrap();
    let text = format!("[[metrics]]\nurl = \"http://h:1\"\nbearer_file = \"{}\"\n", file.display());
    let config = Config::parse(&text, "hw.toml").unwrap();
    let token = secrecy::ExposeSecret::expose_secret(config.metrics[0].bearer.as_ref().unwrap());
    assert_eq!(token, "s3cret");
    assert_eq!(config.metrics[0].bearer_file.as_deref(), Some(file.as_path()));
}

#[test]
fn a_token_in_an_address_is_not_printed() {
    let text = "[[metrics]]\nurl = \"http://h:80/metrics?token=hunter2\"\n";
    let printed = Config::parse(text, "hw.toml").unwrap().print();
    assert!(printed.contains("http://h:80/metrics?***") && !printed.contains("hunter2"), "{printed}");
    let complaint = complaints("[[metrics]]\nurl = \"ftp://h/?token=hunter2\"\n").remove(0);
    assert!(!complaint.contains("hunter2"), "{complaint}");
}

#[test]
fn configurations_without_a_name_share_no_healthy_values() {
    let file = |text: &str| Config::parse(text, "hw.toml").unwrap().baselines_file().unwrap();
    let page = |host: &str| format!("[[metrics]]\nurl = \"http://{host}/metrics\"\n");
    let both = page("a") + &page("b");
    let named = |text: &str| file(&format!("name = \"prod\"\n{text}"));
    assert_ne!(file(&page("a")), file(&page("b")));
    assert_ne!(file(&page("a")), file(&both));
    assert_eq!(file(&both), file(&(page("b") + &page("a"))), "the order of targets says nothing");
    assert_eq!(file(&page("a?token=1")), file(&page("a?token=2")), "a new token makes no new deployment");
    assert_eq!(named(&page("a")), named(&both), "a name stays the same when targets come and go");
    assert!(named(&both).ends_with("headwater/baselines/prod.json"), "{}", named(&both).display());
}

#[test]
fn bare_targets_infer_their_graph() {
    let targets = ["redis://u:hunter2@127.0.0.1:7000", "http://127.0.0.1:8000/metrics"].map(str::to_owned);
    let config = from_targets(&targets, &TargetOptions::default()).unwrap();
    let components = &config.settings.components;
    let service = components.iter().find(|c| c.subject.as_str() == "service/127.0.0.1-8000").unwrap();
    let callees: Vec<_> = service.depends_on.iter().map(|callee| callee.as_str()).collect();
    assert_eq!(callees, ["redis/127.0.0.1-7000", "queue/127.0.0.1-8000"]);
    assert!(service.has_source);
    assert!(components.iter().any(|c| c.subject.as_str() == "queue/127.0.0.1-8000" && !c.has_source));
    assert!(!format!("{config:?}{}", config.print()).contains("hunter2"));
}

#[test]
fn a_bare_target_of_another_sort_is_refused() {
    let refuse = |target: &str| {
        from_targets(&[target.to_owned()], &TargetOptions::default()).expect_err("no target").to_string()
    };
    assert_eq!(
        refuse("localhost:6379"),
        "command line: 'localhost:6379' is not a target: write redis://HOST:6379, rediss://HOST:6379 (TLS), redis+unix:///PATH, redis+sentinel://HOST:26379/NAME, http://HOST:8000/metrics or prom+http://HOST:9090"
    );
    assert!(refuse("redis://u:hunter2@").contains("'redis://u:***@' is not an address of Redis"));
}

#[test]
fn a_component_tells_its_health_and_its_other_names() {
    let text = GOOD.replace(
        "thresholds = { \"shard-hot\" = { cpu = 0.8 } }\n",
        "workload = \"text\"\naliases = [\"service/rank-api\"]\n",
    ) + "\n[[component]]\nsubject = \"dependency/orders\"\nbaselines = { pg_stat_activity_count = 12 }\nalerts = { \
         pg_stat_activity_count = 90 }\n";
    let config =
        Config::parse(&text.replace("\n[thresholds.shard-hot]\ncpu = 0.7\n", ""), "hw.toml").unwrap();
    let named =
        |name: &str| config.settings.components.iter().find(|one| one.subject.as_str() == name).unwrap();
    assert_eq!(named("service/ranker").workload, Some(headwater_engine::settings::Workload::Text));
    assert_eq!(named("service/ranker").aliases[0].as_str(), "service/rank-api");
    let orders = named("dependency/orders");
    assert_eq!(
        (orders.baselines["pg_stat_activity_count"], orders.alerts["pg_stat_activity_count"]),
        (12.0, 90.0)
    );
    let again = Config::parse(&config.print(), "printed").unwrap();
    assert_eq!(again.settings, config.settings);
}

#[test]
fn wrong_health_and_wrong_names_are_told() {
    let table = |keys: &str| {
        complaints(&format!("{GOOD}\n[[component]]\nsubject = \"dependency/orders\"\n{keys}\n")).join("\n")
    };
    for (keys, told) in [
        (
            "alerts = { \"redis.answer_tim\" = 1 }",
            "unknown metric 'redis.answer_tim': did you mean 'redis.answer_time'?",
        ),
        (
            "alerts = { locks = -1 }",
            "'locks' = '-1' is not a value that a metric can have: write a number from 0",
        ),
        ("aliases = [\"dependency/orders\"]", "'aliases' = 'dependency/orders' is its own name: remove it"),
        ("aliases = [\"service/ranker\"]", "'aliases' = 'service/ranker' is a component of its own"),
        ("aliases = [\"orders\"]", "'aliases' = 'orders' is not a component"),
        ("workload = \"video\"", "'workload'"),
    ] {
        let complaint = table(keys);
        assert!(complaint.contains(told), "{keys}: {complaint}");
    }
}

#[test]
fn imports_whose_files_are_called_the_same_are_told_apart_by_number() {
    let subjects = |text: &str| -> Vec<String> {
        let config = Config::parse(text, "hw.toml").unwrap();
        config.imports.iter().map(|import| import.subject.to_string()).collect()
    };
    let of = |key: &str| format!("[[graph]]\nformat = \"backstage\"\n{key}\n");
    let files = ["a", "b", "c"].map(|folder| of(&format!("file = \"{folder}/catalog-info.yaml\"")));
    assert_eq!(
        subjects(&files.concat()),
        ["graph/backstage-catalog-info", "graph/backstage-catalog-info-2", "graph/backstage-catalog-info-3"]
    );
    let urls = ["a", "b"].map(|path| of(&format!("url = \"http://h:80/{path}.yaml\"")));
    assert_eq!(subjects(&urls.concat()), ["graph/backstage-h-80", "graph/backstage-h-80-2"]);
    let twice = complaints(&files[0].repeat(2));
    assert_eq!(twice, ["hw.toml:6: 'file' = 'a/catalog-info.yaml' stands twice: remove one"]);
}

#[test]
fn a_name_that_no_metric_has_and_a_symptom_that_stands_twice_are_told() {
    let rest = "[[metrics]]\nurl = \"http://h\"\ncomponent = \"service/a\"\n";
    let symptom = |metric: &str| {
        format!(
            "[[symptom]]\nname = \"orders\"\nsubject = \"service/a\"\nmetric = \"{metric}\"\nat_least = 1.0\n"
        )
    };
    let told = |text: String| complaints(&format!("{rest}{text}")).join("\n");
    assert_eq!(
        told(symptom("orders total")),
        "hw.toml:7: 'orders total' is no name of a metric: write it as the page does, without labels"
    );
    assert!(told(symptom("servce.stage.duration")).contains("did you mean"));
    let twice = told(symptom("orders_total").repeat(2));
    assert_eq!(twice, "hw.toml:10: 'name' = 'orders' stands twice: give each [[symptom]] its own name");
    let component = "[[component]]\nsubject = \"service/a\"\nbaselines = { \"a-b\" = 1.0 }\n".to_owned();
    assert!(told(component).contains("'a-b' is no name of a metric"));
}

#[test]
fn wrong_imports_are_told() {
    for (keys, told) in [
        ("", "hw.toml:1: [[graph]] has no 'format': write one of jaeger, zipkin, compose, backstage"),
        ("format = \"jager\"", "hw.toml:2: unknown format 'jager': did you mean 'jaeger'?"),
        (
            "format = \"jaeger\"",
            "hw.toml:1: [[graph]] 'jaeger' has no 'file' and no 'url': write file = \"PATH\"",
        ),
        ("format = \"jaeger\"\nfile = \"a\"\nurl = \"http://h\"", "'file' and 'url' exclude each other"),
        (
            "format = \"compose\"\nurl = \"http://h\"",
            "'url' = 'http://h' is a url, and 'compose' is read from a file",
        ),
        ("format = \"zipkin\"\nurl = \"h:9411\"", "'url' = 'h:9411' is not an address"),
        ("format = \"zipkin\"\nfile = \"a\"\nca_file = \"b\"", "'ca_file' is for a url: remove it"),
    ] {
        let complaint = complaints(&format!("[[graph]]\n{keys}\n")).join("\n");
        assert!(complaint.contains(told), "{keys}: {complaint}");
    }
}

#[test]
fn ways_to_targets_are_read_from_the_file_and_from_flags() {
    let text = "proxy = \"socks5h://me:hunter2@jump:1080\"\n\
                [[redis]]\nname = \"far\"\nurl = \"redis+sentinel://a,b:1/main\"\n\
                address_map = { \"*\" = \"127.0.0.1\" }\n\
                [[redis]]\nname = \"near\"\nurl = \"unix:///run/redis.sock\"\nproxy = \"none\"\n\
                [[metrics]]\nurl = \"http://h:8000/metrics\"\n";
    let config = Config::parse(text, "hw.toml").unwrap();
    let [far, near] = &config.redis[..] else { panic!("two deployments") };
    assert_eq!(
        (&far.seeds[..], far.sentinel.as_ref().unwrap().primary.as_str()),
        (&["a:26379".to_owned(), "b:1".to_owned()][..], "main")
    );
    assert_eq!(far.proxy.as_ref().unwrap().address(), "jump:1080");
    assert_eq!((near.seeds[0].as_str(), near.proxy.is_none()), ("/run/redis.sock", true));
    assert!(config.metrics[0].proxy.is_some());
    assert!(!config.print().contains("hunter2") && config.print().contains("socks5h://me:***@jump:1080"));

    let options = TargetOptions {
        address_map: vec!["10.0.0.1:6379=127.0.0.1:7001".to_owned(), "*=127.0.0.1".to_owned()],
        proxy: Some("socks5h://jump:1080".to_owned()),
        ..TargetOptions::default()
    };
    let config =
        from_targets(&["redis://h".to_owned(), "unix:///run/redis.sock".to_owned()], &options).unwrap();
    assert_eq!(config.redis[0].address_map.len(), 2);
    assert_eq!(config.redis[1].component.as_str(), "redis/run-redis.sock");
    for (line, words) in [
        ("10.0.0.1:6379", "has no '='"),
        ("a:1=b", "'b' is not an address"),
        ("*=b:1", "'b:1' is not a host"),
    ] {
        let options = TargetOptions { address_map: vec![line.to_owned()], ..TargetOptions::default() };
        let said = from_targets(&["redis://h".to_owned()], &options).unwrap_err().to_string();
        assert!(said.contains("--address-map") && said.contains(words), "{said}");
    }
}

#[test]
fn pages_of_one_prober_are_told_apart_by_whom_they_are_about() {
    let urls = ["redis://10.0.0.1:6379", "redis%3A%2F%2Fu%3As3cret%4010.0.0.2%3A6379"]
        .map(|address| format!("\"http://exporter:9121/scrape?target={address}\""));
    let text = format!("[[metrics]]\ncomponent = \"redis/features\"\nurls = [{}]\n", urls.join(", "));
    let config = Config::parse(&text, "hw.toml").unwrap();
    let subjects: Vec<String> =
        config.metrics.iter().map(|spec| spec.subject().unwrap().to_string()).collect();
    assert_eq!(subjects, ["redis/features@10.0.0.1:6379", "redis/features@10.0.0.2:6379"]);
}
