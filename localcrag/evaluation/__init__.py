"""Evaluation: labelled questions are put to the real pipeline under several configurations.

A plan (plan.py) names the questions of evaluation sets and the configurations to compare. A resumable runner
(app/evaluations.py) asks them, and whole runs are kept (results.py). Metrics (metrics.py) are computed from them
afterwards, with intervals and paired differences (wording.py), and shown as a report (analysis.py, report.py).
calibration.py fits relevances and thresholds to labels.
"""
