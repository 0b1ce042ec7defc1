"""Choose how logits become chances on the tuning part, and print the figures of the test part.

    python tools/judge_model/calibrate.py FOLDER LOGITS.npz --out src/recall_bench/text/encoder/model

FOLDER holds what `prepare.py` wrote, LOGITS.npz what `train.py` did.
"""

import argparse
import json
import lzma
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize
from train import measure_auc

ROOT = Path(__file__).resolve().parents[2]
FALSE_ALARMS = 0.05
"""The share of grounded answers of the tuning part that may be called invented."""


def fit(columns: Any, labels: Any) -> Any:
    """Logistic regression with a little shrinkage; the last number is the offset."""
    known = labels >= 0
    columns, labels = np.c_[columns, np.ones(len(columns))][known], labels[known]

    def loss(weights: Any) -> float:
        odds = columns @ weights
        return float(
            np.mean(np.logaddexp(0, odds) - labels * odds) + 1e-3 * np.sum(weights[:-1] ** 2)
        )

    return minimize(loss, np.zeros(columns.shape[1])).x


def main() -> None:
    """Fit, write and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("logits", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    packed = np.load(options.folder / "rows.npz")
    names = [str(packed["sources"][n]) for n in packed["source"]]
    measured = np.load(options.logits)
    rows, logits = measured["rows"], measured["logits"].astype(float)
    labels = packed["labels"][rows].astype(float)
    sources = np.array([names[n] for n in rows])
    support = np.minimum(logits[:, 7], -1e-3)
    claims = support - np.log1p(-np.exp(support))
    tune = np.isin(sources, ["tune/row", "tune/run"])

    right = fit(logits[tune][:, [1]], labels[tune, 1])
    whole = fit(logits[tune][:, [4]], labels[tune, 4])
    both = np.c_[logits[:, 5], claims]
    ground = fit(both[tune], labels[tune, 5])
    scores = both @ ground[:2]
    true = tune & (labels[:, 5] == 1)
    offset = -float(np.quantile(scores[true], FALSE_ALARMS))
    with lzma.open(ROOT / "answers" / "train.jsonl.xz", "rt") as file:
        questions = {json.loads(line)["question"] for line in file}
    calibration = {
        "correctness": [round(float(w), 4) for w in right],
        "completeness": [round(float(w), 4) for w in whole],
        "grounded": [round(float(ground[0]), 4), round(float(ground[1]), 4), round(offset, 4)],
        "trained": sorted(sha256(q.strip().encode()).hexdigest()[:12] for q in questions),
    }
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "calibration.json").write_text(json.dumps(calibration) + "\n")
    for source in sorted(set(sources)):
        part = sources == source
        c, g = labels[part, 1], labels[part, 5]
        passed = logits[part, 1] * right[0] + right[1] > 0
        alarm = scores[part] + offset < 0
        with np.errstate(invalid="ignore"):
            print(
                f"{source:14s} {part.sum():5d}  AUC {measure_auc(logits[part, 1], c):.3f} {measure_auc(scores[part], g):.3f}"
                f"  right passed {passed[c == 1].mean():.3f}  wrong passed {passed[c == 0].mean():.3f}"
                f"  inventions found {alarm[g == 0].mean():.3f}  false alarms {alarm[g == 1].mean():.3f}"
            )


if __name__ == "__main__":
    main()
