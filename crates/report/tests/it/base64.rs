//! Reading base64: hashes in a policy, pictures from a browser.

pub(crate) fn decode(text: &str) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bits = 0_u32;
    let mut held = 0;
    let mut bytes = Vec::new();
    for digit in text.trim_end_matches('=').bytes() {
        bits = (bits << 6 | DIGITS.iter().position(|known| *known == digit).expect("base64") as u32) & 0xff_ffff;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    bytes
}
