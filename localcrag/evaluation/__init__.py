"""Evaluation: labelled questions put to the real pipeline under several configurations; reports.

The questions of evaluation sets (plan.py) are asked under configurations (configurations.py) by a resumable runner
(app/evaluations.py), and whole runs are kept (store.py). Figures (metrics.py) are computed from them afterwards,
with intervals and paired differences (statistics.py), and shown as a report (report/). calibration/ fits relevances and
thresholds to labels.
"""
