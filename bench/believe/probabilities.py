#!/usr/bin/env python3
"""How well can the probabilities of a model's "Yes" and "No" tell the labels of judge_labels.jsonl apart?

Usage: bench/believe/probabilities.py [--url URL] [--answers FILE]

The bound of what a judge can reach with this model when it answers in one word, whatever threshold it uses: for each
form of the question, the area under the ROC curve (0.5 is chance), Cohen's kappa at a probability of one half, at the
threshold that is best in hindsight, and at a threshold that was chosen on the other half of the conversations. Items
that do not apply or cannot be decided are left out.

URL is a llama.cpp server (default http://127.0.0.1:18081; bench/small_model.sh starts one). The answers are kept in FILE
and are not asked for again."""
import argparse, collections, hashlib, json, math, pathlib, urllib.request

LABELS = pathlib.Path(__file__).parent / "judge_labels.jsonl"
SYSTEM = ("system", "You check conversations between a user and an agent. Answer with one word: Yes or No.")
EXAMPLES = [
    ("User: Is the pool open on Sunday?\nAgent: The pool is great for families! We also have a sauna.", "The agent answers the user's question.", "No"),
    ("User: Is the pool open on Sunday?\nAgent: Yes, from 9 to 6.", "The agent says when the pool opens.", "Yes"),
    ("User: I need a table for four at 7.\nAgent: Booked: a table for two at 7.\nUser: Thanks.\nAgent: See you at 7!", "The agent books the table that the user asked for.", "No"),
    ("User: Ich suche ein Buch über Vögel.\nAgent: Gern! Soll es für Kinder oder Erwachsene sein?", "The agent asks a question before it recommends a book.", "Yes"),
]
TRUE = "Is the statement true of this conversation? Answer Yes or No."
MISSING = "Does anything in this conversation speak against the statement, or is something missing for it to be true? Answer Yes or No."


def question(conversation, statement, asked):
    return ("user", f"<conversation>\n{conversation}\n</conversation>\n\nStatement: {statement}\n\n{asked}")


def plain(conversation, statement):
    return [SYSTEM, question(conversation, statement, TRUE)]


def empty(_, statement):
    return plain("User: …\nAgent: …", statement)


def inverted(conversation, statement):
    return [SYSTEM, question(conversation, statement, MISSING)]


def solved(conversation, statement):
    examples = [turn for c, s, answer in EXAMPLES for turn in (question(c, s, TRUE), ("assistant", answer))]
    return [SYSTEM, *examples, question(conversation, statement, TRUE)]


PROMPTS = {form.__name__: form for form in (plain, empty, inverted, solved)}
# The sum of log odds, with these weights.
FORMS = {
    "is it true?": {"plain": 1},
    "the same, less its answer about an empty conversation": {"plain": 1, "empty": -1},
    "the same, less half of that": {"plain": 1, "empty": -0.5},
    "does anything speak against it?": {"inverted": -1},
    "is it true?, less does anything speak against it?": {"plain": 1, "inverted": -1},
    "is it true?, after four solved examples": {"solved": 1},
    "with and without examples": {"plain": 1, "solved": 1},
}


def log_odds(url, messages):
    prompt = "".join(f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in messages) + "<|im_start|>assistant\n"
    body = {"prompt": prompt, "n_predict": 1, "n_probs": 20, "temperature": 0, "cache_prompt": True}
    request = urllib.request.Request(url + "/completion", json.dumps(body).encode(), {"content-type": "application/json"})
    answer = json.load(urllib.request.urlopen(request, timeout=600))
    words = collections.Counter()
    for token in answer["completion_probabilities"][0]["top_logprobs"]:
        words[token["token"].strip().lower()] += math.exp(token["logprob"])
    return math.log((words["yes"] + 1e-6) / (words["no"] + 1e-6))


def kappa(found, labels):
    count = len(found)
    agreed = sum(a == b for a, b in zip(found, labels)) / count
    chance = sum((sum(a == c for a in found) / count) * (sum(b == c for b in labels) / count) for c in (True, False))
    return (agreed - chance) / (1 - chance) if chance < 1 else 0.0


def area(scores, labels):
    met, not_met = ([s for s, label in zip(scores, labels) if label == of] for of in (True, False))
    return sum((a > b) + 0.5 * (a == b) for a in met for b in not_met) / (len(met) * len(not_met))


def best(scores, labels):
    return max((kappa([s > t for s in scores], labels), t) for t in set(scores))


def crossed(scores, labels, halves):
    thresholds = {}
    for half in (0, 1):
        others = [at for at, of in enumerate(halves) if of != half]
        thresholds[half] = best([scores[at] for at in others], [labels[at] for at in others])[1]
    return kappa([score > thresholds[half] for score, half in zip(scores, halves)], labels)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--url", default="http://127.0.0.1:18081")
    arguments.add_argument("--answers", type=pathlib.Path, default=pathlib.Path("answers.jsonl"))
    given = arguments.parse_args()
    items = [json.loads(line) for line in LABELS.read_text().splitlines()]
    items = [item for item in items if item["label"] in ("met", "not_met")]
    known = {}
    if given.answers.exists():
        known = {(one["id"], one["prompt"]): one["log_odds"] for one in map(json.loads, given.answers.read_text().splitlines())}
    with given.answers.open("a") as kept:
        for item in items:
            conversation = "\n".join(f"User: {turn['user']}\nAgent: {turn['agent']}" for turn in item["turns"])
            for name, prompt in PROMPTS.items():
                if (item["id"], name) not in known:
                    known[item["id"], name] = log_odds(given.url, prompt(conversation, item["criterion"]))
                    kept.write(json.dumps({"id": item["id"], "prompt": name, "log_odds": known[item["id"], name]}) + "\n")
                    kept.flush()
    labels = [item["label"] == "met" for item in items]
    halves = [hashlib.sha256(json.dumps(item["turns"]).encode()).digest()[0] % 2 for item in items]
    print(f"{len(items)} items, {sum(labels)} of them met\n")
    print("| the question | area | kappa at one half | best in hindsight | threshold of the other half |\n|---|---|---|---|---|")
    for name, weights in FORMS.items():
        scores = [sum(weight * known[item["id"], prompt] for prompt, weight in weights.items()) for item in items]
        figures = (area(scores, labels), kappa([s > 0 for s in scores], labels), best(scores, labels)[0], crossed(scores, labels, halves))
        print(f"| {name} | {' | '.join(f'{figure:.2f}' for figure in figures)} |")


if __name__ == "__main__":
    main()
