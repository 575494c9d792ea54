"""Forecasts of a service's response times on this machine, and their errors.

One recorded workload is forecast in three ways (rungs): by the closed form of
:mod:`accelflow.sizing`, by the simulator with medians, and by the simulator with distributions.
The forecasts are compared with the live server. docs/prediction.md describes the inputs of each
rung. ::

    from accelflow import prediction

    subject = prediction.Subject(
        handlers="app:setup", interface="app.thrift", certificate="cert.pem", key="key.pem",
        function="App.get", service="UniqId", arguments=[{"key": "a"}],
    )
    answer = prediction.predict(subject, prediction.Options(loads=(0.1, 0.5)))
    print(prediction.text(answer))
"""

from accelflow.prediction.forecast import Forecast, Workload, forecast
from accelflow.prediction.ladder import MOST_LOAD, SCHEMA, Options, predict
from accelflow.prediction.live import Subject
from accelflow.prediction.table import markdown, text

__all__ = [
    "MOST_LOAD",
    "SCHEMA",
    "Forecast",
    "Options",
    "Subject",
    "Workload",
    "forecast",
    "markdown",
    "predict",
    "text",
]
