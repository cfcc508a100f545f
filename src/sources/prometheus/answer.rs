//! The API's answers: JSON in, series with their samples out.

use std::collections::BTreeMap;

use headwater_engine::RemoteText;
use serde::Deserialize;

/// An answer of the API; `data` is what was asked for.
#[derive(Debug, Deserialize)]
pub(super) struct Answer<T> {
    #[serde(default)]
    status: String,
    data: Option<T>,
    #[serde(default)]
    error: String,
    #[serde(default)]
    warnings: Vec<String>,
    /// What clusters of VictoriaMetrics say when a part of them did not answer.
    #[serde(default, rename = "isPartial")]
    is_partial: bool,
}

/// The data of a query.
#[derive(Debug, Deserialize)]
#[serde(tag = "resultType", content = "result", rename_all = "lowercase")]
pub(super) enum Queried {
    /// Series with the samples of a span.
    Matrix(Vec<Series>),
    /// Series with one sample each.
    Vector(serde::de::IgnoredAny),
    /// One number.
    Scalar((f64, String)),
    /// One text.
    String(serde::de::IgnoredAny),
}

/// One series.
#[derive(Debug, Deserialize)]
pub(super) struct Series {
    /// Its labels, the name among them as `__name__`.
    #[serde(rename = "metric")]
    pub(super) labels: BTreeMap<String, String>,
    /// Seconds since the Unix epoch, and the value as text.
    #[serde(default)]
    pub(super) values: Vec<(f64, String)>,
}

/// What is known of one family.
#[derive(Debug, Deserialize)]
pub(super) struct Metadata {
    /// The word of TYPE lines.
    #[serde(rename = "type")]
    pub(super) kind: String,
}

/// What a server says of the program that it is.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct BuildInfo {
    /// The program's name; Prometheus itself does not say it.
    application: String,
    go_version: Option<String>,
}

impl BuildInfo {
    /// The program's name. VictoriaMetrics says nothing, or a version of Prometheus alone, to please dashboards.
    pub(super) fn product(&self) -> String {
        match (self.application.trim(), &self.go_version) {
            ("", Some(_)) => "Prometheus".to_owned(),
            ("", None) => "VictoriaMetrics".to_owned(),
            (name, _) => RemoteText::new(name).as_str().to_owned(),
        }
    }
}

/// Families by name, each as its targets declare it.
pub(super) type Families = BTreeMap<String, Vec<Metadata>>;

/// What a good answer holds, and what it lacks.
#[derive(Debug)]
pub(super) struct Told<T> {
    pub(super) data: T,
    /// Why the answer may not be the whole one.
    pub(super) doubts: Option<String>,
}

/// Reads an answer; `Err` completes "ADDRESS ".
pub(super) fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<Told<T>, String> {
    let answer: Answer<T> = serde_json::from_slice(bytes).map_err(|error| {
        format!(
            "does not answer as the API of Prometheus does ({error}): is the url that of the server itself?"
        )
    })?;
    if answer.status != "success" {
        return Err(format!("refuses the question: {}", answer.error));
    }
    let Some(data) = answer.data else {
        return Err("answers without data: is the url that of the server itself?".to_owned());
    };
    let doubts = match (answer.is_partial, answer.warnings.split_first()) {
        (_, Some((first, []))) => Some(first.clone()),
        (_, Some((first, others))) => Some(format!("{first} (and {} more)", others.len())),
        (true, None) => Some("a part of the storage did not answer".to_owned()),
        (false, None) => None,
    };
    Ok(Told { data, doubts })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_keep_their_moments_and_warnings_are_told() {
        let text = br#"{"status":"success","warnings":["a","b"],"data":{"resultType":"matrix","result":[
            {"metric":{"__name__":"x","job":"j"},"values":[[1.5,"2"],[3,"NaN"]]}]}}"#;
        let told = read::<Queried>(text).unwrap();
        assert_eq!(told.doubts.as_deref(), Some("a (and 1 more)"));
        let Queried::Matrix(series) = told.data else { panic!() };
        assert_eq!(series[0].values, [(1.5, "2".to_owned()), (3.0, "NaN".to_owned())]);
        let text =
            br#"{"status":"success","isPartial":true,"data":{"resultType":"scalar","result":[7.5,"7.5"]}}"#;
        let told = read::<Queried>(text).unwrap();
        assert!(matches!(told.data, Queried::Scalar((at, _)) if at == 7.5));
        assert!(told.doubts.unwrap().contains("did not answer"));
    }

    #[test]
    fn a_program_is_known_by_what_it_says_and_leaves_out() {
        for (data, name) in [
            (r#"{"version":"2.42.0","goVersion":"go1.19.8"}"#, "Prometheus"),
            ("{}", "VictoriaMetrics"),
            (r#"{"version":"2.24.0"}"#, "VictoriaMetrics"),
            (r#"{"application":"Grafana Mimir","goVersion":"go1.22"}"#, "Grafana Mimir"),
        ] {
            let text = format!(r#"{{"status":"success","data":{data}}}"#);
            assert_eq!(read::<BuildInfo>(text.as_bytes()).unwrap().data.product(), name);
        }
    }

    #[test]
    fn what_is_no_answer_is_said() {
        assert!(read::<Queried>(b"<html>").unwrap_err().contains("does not answer as the API"));
        let error = read::<Queried>(br#"{"status":"error","errorType":"bad_data","error":"parse error"}"#);
        assert!(error.unwrap_err().contains("parse error"));
        assert!(read::<Queried>(br#"{"status":"success"}"#).unwrap_err().contains("without data"));
    }
}
