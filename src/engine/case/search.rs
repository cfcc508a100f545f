//! Words to cases.

use super::Case;

/// A case in which all words were found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit<'a> {
    /// The case.
    pub case: &'a Case,
    /// The sum over the words of the weight of the best field in which each was found.
    pub score: u32,
    /// The fields in which words were found, the weightiest first.
    pub fields: Vec<&'static str>,
}

/// Cases in which every word is the beginning of a word of some field, upper and lower case alike. A title tells more
/// of a case than a remark in it: the best hits come first, and of equal ones the order of the cases stays.
pub fn search<'a>(cases: &'a [Case], words: &str) -> Vec<Hit<'a>> {
    let wanted = words_of(words);
    let mut hits: Vec<Hit<'a>> = cases.iter().filter_map(|case| hit(case, &wanted)).collect();
    hits.sort_by_key(|hit| std::cmp::Reverse(hit.score));
    hits
}

fn hit<'a>(case: &'a Case, wanted: &[String]) -> Option<Hit<'a>> {
    let fields = fields(case);
    let mut score = 0;
    let mut found: Vec<usize> = vec![];
    for word in wanted {
        // Fields stand in the order of their weight.
        let place = fields
            .iter()
            .position(|(_, _, text)| words_of(text).iter().any(|known| known.starts_with(word.as_str())))?;
        score += fields[place].1;
        if !found.contains(&place) {
            found.push(place);
        }
    }
    found.sort_unstable();
    Some(Hit { case, score, fields: found.into_iter().map(|place| fields[place].0).collect() })
}

/// Every field with its name, its weight and its text; the weightiest first.
fn fields(case: &Case) -> Vec<(&'static str, u32, String)> {
    let rules: Vec<&str> = case.findings.iter().map(|finding| finding.rule.as_str()).collect();
    let seen: Vec<&str> = case.findings.iter().map(|finding| finding.seen.as_str()).collect();
    vec![
        ("title", 8, format!("{} {}", case.id, case.title)),
        ("tags", 6, case.tags.join(" ")),
        ("findings", 6, rules.join(" ")),
        ("symptoms", 4, case.symptoms.join(" ")),
        ("root cause", 3, case.root_cause.clone()),
        ("fix", 2, case.fix.join(" ")),
        ("tried", 1, case.tried.join(" ")),
        ("what was seen", 2, seen.join(" ")),
        ("verification", 1, case.verification.join(" ")),
        ("prevention", 1, case.prevention.join(" ")),
        ("avoid", 1, case.avoid.join(" ")),
        ("when", 1, case.when.clone()),
        ("source", 1, case.source.clone()),
    ]
}

fn words_of(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(id: &str, title: &str, cause: &str) -> Case {
        Case { id: id.to_owned(), title: title.to_owned(), root_cause: cause.to_owned(), ..Case::default() }
    }

    fn found(cases: &[Case], words: &str) -> Vec<(String, u32)> {
        search(cases, words).into_iter().map(|hit| (hit.case.id.clone(), hit.score)).collect()
    }

    #[test]
    fn every_word_must_be_found_and_a_title_tells_more_than_a_remark() {
        let cases = [
            case("a", "Queue full", "the cache expired at once"),
            case("b", "Cache herd", "a queue of retries"),
            case("c", "GPU leak", ""),
        ];
        assert_eq!(found(&cases, "cach"), [("b".to_owned(), 8), ("a".to_owned(), 3)]);
        assert_eq!(found(&cases, "QUEUE cache"), [("a".to_owned(), 11), ("b".to_owned(), 11)]);
        assert_eq!(found(&cases, "queue gpu"), []);
        assert_eq!(found(&cases, "ache"), [], "the beginning of a word, not its end");
        assert_eq!(found(&cases, " - ").len(), 3, "no word keeps all");
        assert_eq!(search(&cases, "retries herd")[0].fields, ["title", "root cause"]);
    }
}
