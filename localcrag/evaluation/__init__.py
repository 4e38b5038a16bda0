"""Evaluation: ask the real pipeline labelled questions under several configurations.

A plan (plan.py) names the questions of evaluation sets and the configurations to compare. A resumable runner
(app/evaluations.py) asks them, and whole runs are stored (results.py). Metrics (metrics.py) are computed from the runs
afterwards, with intervals and paired differences (wording.py), and shown as a report (analysis.py, report.py).
calibration.py fits relevances and thresholds to labels.
"""
