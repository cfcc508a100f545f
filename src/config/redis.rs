//! From the tables of Redis deployments to targets.

use headwater_engine::{Kind, Subject};

use super::file::{LinkScope, RedisTable};
use super::http_access::{AccessKeys, client_certificate};
use super::place::Document;
use super::reach::{is_server_name, mapping};
use super::resolve::{Components, is_plain_name, readable_file, secret};
use super::target::RedisAddress;
use crate::sources::proxy::ProxySpec;
use crate::sources::redis::{RedisSpec, SentinelSpec, TlsSpec};

/// The target that a table names; what is wrong with it is complained of at its place.
pub(super) fn resolve(
    table: &RedisTable,
    index: &str,
    proxy: Option<&ProxySpec>,
    components: &mut Components,
    document: &mut Document<'_>,
) -> Option<RedisSpec> {
    let here = |key: &'static str| ["redis", index, key];
    let name = match table.name.as_deref() {
        None => {
            document.complain(
                &["redis", index],
                "[[redis]] has no 'name': write for example name = \"features\"",
            );
            return None;
        }
        Some(name) if !is_plain_name(name) => {
            document.wrong(&here("name"), "is not a name: use letters, digits, '.', '_' and '-'");
            return None;
        }
        Some(name) => name,
    };
    let subject = Subject::component(Kind::Redis, name);
    let component = components.entry(&subject);
    if component.has_source {
        document.wrong(
            &here("name"),
            "stands twice: give each [[redis]] its own name, or list its nodes in one 'urls'",
        );
        return None;
    }
    component.has_source = true;
    component.link = table.link.map(|link| link.0);
    component.link_shared_by_host = table.link_scope != Some(LinkScope::Node);

    let urls: Vec<(Vec<String>, &String)> = match (&table.url, table.urls.as_slice()) {
        (Some(url), []) => vec![(vec!["url".to_owned()], url)],
        (None, [_, ..]) => table
            .urls
            .iter()
            .enumerate()
            .map(|(i, url)| (vec!["urls".to_owned(), i.to_string()], url))
            .collect(),
        (Some(_), _) => {
            document.complain(&here("urls"), "'url' and 'urls' exclude each other: keep one of them");
            return None;
        }
        (None, []) => {
            document.complain(
                &["redis", index],
                format!("[[redis]] '{name}' has no 'url': write for example url = \"redis://10.0.0.1:6379\""),
            );
            return None;
        }
    };
    let mut spec = RedisSpec::new(subject, vec![]);
    spec.sentinel = sentinel(table, index, document);
    let mut uses_tls = None;
    for (key, url) in urls {
        let path: Vec<&str> = ["redis", index].into_iter().chain(key.iter().map(String::as_str)).collect();
        match RedisAddress::read(url) {
            Ok(address) => {
                if *uses_tls.get_or_insert(address.tls) != address.tls {
                    document
                        .wrong(&path, "mixes TLS and plain text: write rediss:// for all nodes or for none");
                }
                spec.seeds.extend(address.seeds);
                spec.username = spec.username.or(address.username);
                spec.password = spec.password.or(address.password);
                if let Some(primary) = address.sentinel {
                    let known = spec.sentinel.get_or_insert_with(|| SentinelSpec::new(String::new()));
                    if !known.primary.is_empty() && known.primary != primary {
                        document.wrong(&path, "asks Sentinels for another primary: keep one name");
                    }
                    known.primary = primary;
                }
            }
            Err(complaint) => document.wrong(&path, complaint),
        }
    }
    if spec.sentinel.as_ref().is_some_and(|sentinel| sentinel.primary.is_empty()) {
        document.complain(
            &["redis", index],
            "a key of Sentinels without 'sentinel_master': write the name by which they know the primary",
        );
    }
    spec.tls = tls(table, index, uses_tls == Some(true), document);
    spec.username = table.username.clone().or(spec.username);
    spec.password = secret(
        (table.password_env.as_deref(), &here("password_env")),
        (table.password_file.as_deref(), &here("password_file")),
        document,
    )
    .or(spec.password);
    for (announced, dialled) in &table.address_map {
        if let Err(complaint) = mapping(announced, dialled) {
            document.complain(&["redis", index, "address_map", announced], complaint);
        }
    }
    spec.address_map.clone_from(&table.address_map);
    spec.proxy = super::reach::proxy(table.proxy.as_deref(), proxy, &here("proxy"), document);
    spec.show_arguments = table.slow_arguments.unwrap_or(false);
    Some(spec)
}

/// How Sentinels are asked, where any of their keys is given.
fn sentinel(table: &RedisTable, index: &str, document: &mut Document<'_>) -> Option<SentinelSpec> {
    let here = |key: &'static str| ["redis", index, key];
    let password = secret(
        (table.sentinel_password_env.as_deref(), &here("sentinel_password_env")),
        (table.sentinel_password_file.as_deref(), &here("sentinel_password_file")),
        document,
    );
    let is_meant = table.sentinel_master.is_some() || table.sentinel_username.is_some() || password.is_some();
    is_meant.then(|| SentinelSpec {
        primary: table.sentinel_master.clone().unwrap_or_default(),
        username: table.sentinel_username.clone(),
        password,
    })
}

fn tls(table: &RedisTable, index: &str, is_used: bool, document: &mut Document<'_>) -> Option<TlsSpec> {
    let here = |key: &'static str| ["redis", index, key];
    if !is_used {
        let keys = [
            ("ca_file", table.ca_file.is_some()),
            ("insecure", table.insecure.is_some()),
            ("client_cert_file", table.client_cert_file.is_some()),
            ("client_key_file", table.client_key_file.is_some()),
            ("server_name", table.server_name.is_some()),
        ];
        if let Some((key, _)) = keys.into_iter().find(|(_, is_given)| *is_given) {
            document.wrong(&here(key), "needs TLS: write the url with rediss://");
        }
        return None;
    }
    let keys = AccessKeys {
        client_cert_file: table.client_cert_file.as_deref(),
        client_key_file: table.client_key_file.as_deref(),
        ..AccessKeys::default()
    };
    let client = client_certificate(keys, here, document);
    if table.server_name.as_deref().is_some_and(|name| !is_server_name(name)) {
        document
            .wrong(&here("server_name"), "is not a host name: write for example 'features.redis.example'");
    }
    Some(TlsSpec {
        ca_file: readable_file(table.ca_file.as_deref(), &here("ca_file"), document),
        insecure: table.insecure.unwrap_or(false),
        client,
        server_name: table.server_name.clone(),
    })
}
