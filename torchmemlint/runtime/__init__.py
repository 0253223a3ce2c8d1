"""The verifier: runs what was flagged and says how many bytes stay. Findings in, verdicts out.

Only what runs in a child process imports torch: `ledger`, `look`, `holders`, `program`, `server`. The command
line talks to them through `client`, and judges their figures with `judge`.
"""
