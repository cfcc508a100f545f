//! Another decoder's opinion, for pages that it is known to read right.

use prometheus_parse::{Scrape, Value};

/// One number of a page: name with suffix, labels sorted by name (`le` and `quantile` as numbers), value's bits.
pub type Number = (String, Vec<(String, String)>, u64);

/// All numbers of a page as `prometheus-parse` reads them, sorted.
///
/// # Panics
/// When it refuses the page, which it never does for text.
pub fn numbers(text: &str) -> Vec<Number> {
    let scrape = parse(text);
    let mut numbers = vec![];
    for sample in &scrape.samples {
        let labels: Vec<_> =
            sample.labels.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        match &sample.value {
            Value::Counter(value) | Value::Gauge(value) | Value::Untyped(value) => {
                numbers.push(number(&sample.metric, labels, *value));
            }
            Value::Histogram(buckets) => {
                for bucket in buckets {
                    let labels = with(&labels, "le", bucket.less_than);
                    numbers.push(number(&format!("{}_bucket", sample.metric), labels, bucket.count));
                }
            }
            Value::Summary(quantiles) => {
                for quantile in quantiles {
                    let labels = with(&labels, "quantile", quantile.quantile);
                    numbers.push(number(&sample.metric, labels, quantile.count));
                }
            }
        }
    }
    numbers.sort();
    numbers
}

/// Reads a page as `prometheus-parse` does; the lines are copied because it wants to own them.
///
/// # Panics
/// When it refuses the page, which it never does for text.
pub fn parse(text: &str) -> Scrape {
    Scrape::parse(text.lines().map(|line| Ok(line.to_owned()))).expect("lines from memory cannot fail")
}

/// A number in comparable form.
pub fn number(name: &str, mut labels: Vec<(String, String)>, value: f64) -> Number {
    for (name, value) in &mut labels {
        if let Some(number) = value.parse::<f64>().ok().filter(|_| matches!(name.as_str(), "le" | "quantile"))
        {
            *value = number.to_string();
        }
    }
    labels.sort();
    let value = if value.is_nan() { f64::NAN } else { value };
    (name.to_owned(), labels, value.to_bits())
}

fn with(labels: &[(String, String)], name: &str, value: f64) -> Vec<(String, String)> {
    let mut labels = labels.to_vec();
    labels.push((name.to_owned(), value.to_string()));
    labels
}
