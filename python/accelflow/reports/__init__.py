"""Pages of answers other than comparisons: sizing, the paper's experiments, other models.

Each function takes an answer as its command prints it and returns a page
(:class:`accelflow.page.Page`); nothing here computes one. No file imports another, so that a
command loads only its own.
"""
