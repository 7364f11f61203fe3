#!/usr/bin/env python3
"""Makes the dictionary of stored turns, crates/store/turns.dict, from the turns of the shipped scenarios.

Usage: bench/dictionary.py gabfest --out FILE

Stores refer to their dictionary by its number. One that has been released never changes: a better one gets another number,
and the program keeps both.

Needs Python's package zstandard."""
import argparse, pathlib, sqlite3, subprocess, tempfile

import zstandard

ROOT = pathlib.Path(__file__).parent.parent
# Private numbers begin at 32,768.
NUMBER = 32_769
BYTES = 4_096
LEVEL = 1


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("gabfest")
    arguments.add_argument("--out", required=True, type=pathlib.Path)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        command = [given.gabfest, "run", ROOT / "scenarios", "--repeats", "30", "--seed", "1", "--quiet", "--out", f"{folder}/run"]
        # Some scenarios fail on purpose.
        subprocess.run(command, cwd=folder)
        store = sqlite3.connect(f"{folder}/run/run.db")
        pieces = [payload for (payload,) in store.execute("select payload from piece order by key") if payload]
    turns = [unpacked(piece) for piece in pieces]
    dictionary = zstandard.train_dictionary(BYTES, turns, level=LEVEL, dict_id=NUMBER)
    given.out.write_bytes(dictionary.as_bytes())
    print(f"{given.out}: {len(dictionary)} bytes, made of {len(turns)} pieces of {sum(map(len, turns)) // len(turns)} bytes")


def unpacked(piece):
    number = zstandard.get_frame_parameters(piece).dict_id
    known = {NUMBER: ROOT / "crates/store/turns.dict"}
    dictionary = zstandard.ZstdCompressionDict(known[number].read_bytes()) if number else None
    return zstandard.ZstdDecompressor(dict_data=dictionary).decompress(piece)


if __name__ == "__main__":
    main()
