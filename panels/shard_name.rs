//! What a shard is called in a cell: a long name gives way to the number, which tells one row from the next.

use headwater_engine::Subject;

/// `features#2`.
pub(crate) fn whole_name(shard: &Subject) -> String {
    match shard.shard_index() {
        Some(index) => format!("{}#{index}", shard.name()),
        None => shard.name().to_owned(),
    }
}

/// `features#2`, cut before the number where it has more than so many characters: `ranker-pro~#2`.
pub(crate) fn short_name(shard: &Subject, most: usize) -> String {
    let number = shard.shard_index().map(|index| format!("#{index}")).unwrap_or_default();
    let name = shard.name();
    let room = most.saturating_sub(number.len());
    if name.chars().count() <= room {
        return format!("{name}{number}");
    }
    let start: String = name.chars().take(room.saturating_sub(1)).collect();
    format!("{start}~{number}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_never_cut() {
        let shard: Subject = "redis/ranker-prod-features#12".parse().unwrap();
        assert_eq!(whole_name(&shard), "ranker-prod-features#12");
        assert_eq!(short_name(&shard, 12), "ranker-p~#12");
        assert_eq!(short_name(&shard, 30), "ranker-prod-features#12");
        assert_eq!(short_name(&shard, 2), "~#12");
    }
}
