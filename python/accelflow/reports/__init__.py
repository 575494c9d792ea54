"""HTML pages for answers other than comparisons: sizing, the paper's experiments, other models.

Each function takes an answer as printed by its command, and returns a page
(:class:`accelflow.page.Page`). Pages do not import each other, so that a command loads only its own
page.
"""
