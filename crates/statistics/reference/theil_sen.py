"""The reference values of crates/statistics/src/theil_sen.rs: run with SciPy 1.17 and compare.

    python3 -m venv venv && venv/bin/pip install scipy && venv/bin/python theil_sen.py
"""

from scipy.stats import theilslopes

SETS = {
    "a line": ([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], [5, 7, 9, 11, 13, 15, 17, 19, 21, 23]),
    "one outlier": ([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], [5, 7, 9, 11, 13, 15, 17, 19, 21, 400]),
    "ties": ([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], [1, 1, 1, 0.9, 1, 1, 0.9, 0.9, 1, 0.9, 0.9, 0.8]),
    "noise and a gap": ([0, 1, 2, 3, 5, 8, 9, 10, 11, 12], [3.1, 2.7, 3.3, 2.9, 3.0, 3.4, 2.8, 3.2, 2.6, 3.05]),
    "noise and a slope": (list(range(30)), [100 + 2 * i + (i * 7919 % 101 - 50) / 10 for i in range(30)]),
}

for name, (x, y) in SETS.items():
    slope, _, low, high = theilslopes(y, x, 0.99)
    print(f"{name}: {slope:.12g} {low:.12g} {high:.12g}")
