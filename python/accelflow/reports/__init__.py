"""HTML pages with the results of commands other than `accelflow compare`.

Each function takes the result of a command, in the form that the command prints as JSON, and
returns a page (:class:`accelflow.page.Page`). The modules of the pages do not import each other, so
that a command loads only its own page.
"""
