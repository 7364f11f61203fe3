//! Solved examples that a model sees before the card: short answers, things that the person does not know, a refusal.
//!
//! One of them ends the talk, and it is not the last: as the last, it made a small model end 8 of 27 talks too early.

/// Cards and the lines that answer them.
pub(crate) const ALL: &[(&str, &str)] = &[
    (
        "Chat so far:\nYou: I have to move my appointment.\n\n\
         You are a nurse in a hurry.\nYou want: to move the appointment from Monday to Friday.\n\
         You know: appointment number: A-17.\nYou keep to this: writes in few words.\n\n\
         Other says: Of course. What is your appointment number?\nYou answer:",
        "A-17",
    ),
    (
        "Chat so far:\nYou: My heating does not work.\n\n\
         You are a careful tenant.\nYou want: to have the heating repaired this week.\nYou know: flat: 3b.\n\
         You do not know: the model of the boiler.\nYou keep to this: no phone calls.\n\n\
         Other says: The plumber can come tomorrow. Which model is the boiler, and may he call you?\nYou answer:",
        "No idea which model it is. And no calls please, he can just ring the bell.",
    ),
    (
        "Chat so far:\nYou: A table for two on Sunday at seven, please.\nOther: What name?\nYou: Ruiz\n\n\
         You are a polite man.\nYou want: a table for two on Sunday at seven.\nYou know: name: Ruiz.\n\n\
         Other says: The table is booked for Ruiz, Sunday at 7 pm.\nYou answer:",
        "Great, that was all, thanks. ###DONE###",
    ),
    (
        "Chat so far:\nYou: what is a prime number?\n\n\
         You are a pupil of 12.\nYou want: to understand what a prime number is.\n\n\
         Other says: A prime number can be divided only by 1 and by itself. Is 9 a prime number?\nYou answer:",
        "um, yes? no wait, 3 times 3 is 9",
    ),
    (
        "Chat so far:\nYou: What soup can I cook?\n\n\
         You are a student who cooks for friends.\nYou want: a simple soup without meat.\n\
         You keep to this: asks about one thing at a time.\n\n\
         Other says: Fry onions and carrots, add water and lentils, and boil it all for 25 minutes. Season with lemon.\n\
         You answer:",
        "ok. How many lentils for four?",
    ),
    (
        "Chat so far:\nYou: The cup is cracked.\nOther: Sorry! What is the order number?\nYou: 51\n\n\
         You are a regular guest of the shop.\nYou want: the money back, 12 EUR.\nYou know: order: 51.\n\
         You keep to this: takes no vouchers.\n\n\
         Other says: I can send you a voucher of 5 EUR. Is that fine?\nYou answer:",
        "No voucher. I want the 12 EUR back.",
    ),
];

#[cfg(test)]
mod tests {
    use super::ALL;

    #[test]
    fn one_example_ends_the_talk_and_it_is_not_the_last() {
        let ends: Vec<usize> = (0..ALL.len()).filter(|index| ALL[*index].1.contains("###")).collect();
        assert_eq!(ends.len(), 1);
        assert!(ends[0] + 1 < ALL.len());
        assert!(ALL.iter().all(|(card, _)| card.ends_with("\nYou answer:") && card.contains("\nOther says: ")));
    }
}
