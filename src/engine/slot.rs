//! Redis Cluster's slot arithmetic: which of the 16 384 slots a key belongs to.

/// How many slots a Redis Cluster has.
pub const SLOTS: u16 = 16_384;

/// The slot of a key: CRC16/XMODEM of its hash tag, or of the whole key when it has none, modulo [`SLOTS`].
pub fn slot_of(key: &[u8]) -> u16 {
    let mut crc = 0_u16;
    for byte in hash_tag(key).unwrap_or(key) {
        crc = (crc << 8) ^ CRC16[usize::from((crc >> 8) ^ u16::from(*byte))];
    }
    crc % SLOTS
}

/// The part of a key between its first `{` and the next `}`, when there is anything between them; keys with the
/// same tag share a slot.
pub fn hash_tag(key: &[u8]) -> Option<&[u8]> {
    let start = key.iter().position(|byte| *byte == b'{')? + 1;
    let length = key[start..].iter().position(|byte| *byte == b'}')?;
    (length > 0).then(|| &key[start..start + length])
}

/// CRC16/XMODEM by byte: polynomial 0x1021, no reflection, initial value 0.
const CRC16: [u16; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = (byte as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_a_real_cluster() {
        let known: [(&[u8], u16); 12] = [
            (b"foo", 12_182),
            (b"a", 15_495),
            (b"", 0),
            (b"{user1000}.following", 3_443),
            (b"{user1000}.followers", 3_443),
            (b"foo{}{bar}", 8_363),
            (b"foo{{bar}}zap", 4_015),
            (b"foo{bar}{zap}", 5_061),
            (b"bar", 5_061),
            (b"{}x", 10_595),
            (b"123456789", 12_739),
            (b"\xac\xed\x00\x05t\x00\x0c", 11_038),
        ];
        for (key, slot) in known {
            assert_eq!(slot_of(key), slot, "key {}", key.escape_ascii());
        }
    }

    proptest::proptest! {
        #[test]
        fn keys_with_one_tag_share_a_slot(
            tag in "[^{}]{1,20}",
            before in "[^{}]{0,9}",
            after in proptest::collection::vec(proptest::num::u8::ANY, 0..20),
        ) {
            let mut key = format!("{before}{{{tag}}}").into_bytes();
            key.extend(after);
            proptest::prop_assert_eq!(slot_of(&key), slot_of(tag.as_bytes()));
        }

        #[test]
        fn a_slot_is_below_the_number_of_slots(key in proptest::collection::vec(proptest::num::u8::ANY, 0..64)) {
            proptest::prop_assert!(slot_of(&key) < SLOTS);
        }
    }
}
