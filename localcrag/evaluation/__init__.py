"""Evaluation: labelled questions put to the real pipeline under several configurations, and what came of them.

An evaluation set (evaluation_set.py) is asked under configurations (configurations.py) by a resumable runner
(runner.py), which keeps whole runs. Figures (metrics.py) are functions of a question and its run, made afterwards, with
intervals and paired differences (statistics.py); report.py writes them down.
"""
