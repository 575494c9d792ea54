"""Pages of the answers that are no comparisons: sizing, the paper's experiments, other models.

Each function takes an answer as its command prints it and returns a page
(:class:`accelflow.page.Page`); nothing here computes one. Each file stands for itself, so that a
command loads its own alone.
"""
