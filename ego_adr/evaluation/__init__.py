"""Runs, scores and comparisons.

runner.py        one run: a line a sample on disk, resumed after any end
history.py       the earlier steps of a recording, joined to its clips' verdicts
running.py       several runs, and the grids of the ablations
results.py       the log of a run: checksums, mending
merging.py       shards put together
predictions.py   predictions of any tool -> outcomes
outcomes.py      one row: its truth beside what was said
counting.py      the published metric as sums
metrics.py       a score, and what the published metric hides
intervals.py     the bootstrap over videos
paired.py        two runs, row by row
constants.py     predictors that look at nothing
open_end.py      questions answered in words
judging.py       judges and how their replies are read
open_scores.py   judged runs scored
agreement.py     judges and people
published.py     the figures of papers/002 (published.yaml)
comparing.py     runs side by side
showing.py       ... on a terminal
report.py        ... in one HTML file (plots.py, pictures.py, sample_data.py, templates/)
"""
