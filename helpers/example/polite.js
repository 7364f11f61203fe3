// The agent thanks, greets or apologizes in a share of its replies.

import { check } from "../typescript/gabfest-check.js";

const WORDS = /\b(hello|please|sorry|thank|thanks|welcome)\b/i;

const polite = check((transcript) => {
  const replies = transcript.turns.filter((turn) => turn.agent !== null);
  const count = replies.filter((turn) => WORDS.test(turn.agent)).length;
  return [replies.length === 0 ? null : count / replies.length, `${count} of ${replies.length} replies are polite`];
});

await polite.run();
