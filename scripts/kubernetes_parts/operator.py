"""The operator of dask-kubernetes, as its Helm chart installs it."""

from pathlib import Path
from typing import Any

import yaml
from trials import until

from kubernetes_parts import image
from kubernetes_parts.node import Node

NAME = "dask-operator"
CHART = "dask_kubernetes/operator/deployment/helm/dask-kubernetes-operator"


def install(node: Node, packages: Path) -> None:
    """Install the operator's resources on the node, and wait until it runs.

    `packages` is the folder of Python's packages that has dask-kubernetes.
    """
    chart = packages / CHART
    for file in sorted((chart / "crds").glob("*.yaml")):
        for definition in yaml.safe_load_all(file.read_text()):
            path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
            node.asked(path, "POST", definition)
    rules = (chart / "templates/clusterrole.yaml").read_text().partition("rules:")[2]
    role = {
        "metadata": {"name": NAME},
        "rules": yaml.safe_load(rules.partition("{{")[0]),
    }
    account = {"kind": "ServiceAccount", "name": NAME, "namespace": "default"}
    binding = {
        "metadata": {"name": NAME},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": NAME,
        },
        "subjects": [account],
    }
    node.asked("/api/v1/namespaces/default/serviceaccounts", "POST", {"metadata": {"name": NAME}})
    node.asked("/apis/rbac.authorization.k8s.io/v1/clusterroles", "POST", role)
    node.asked("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", "POST", binding)
    node.asked("/apis/apps/v1/namespaces/default/deployments", "POST", _deployment())
    until(lambda: _runs(node), "the operator runs", 60)


def _deployment() -> dict[str, Any]:
    module = "dask_kubernetes.operator.controller"
    container = {
        "name": NAME,
        "image": image.NAME,
        "imagePullPolicy": "IfNotPresent",
        "command": ["python3", "-m", "kopf", "run", "-m", module, "--all-namespaces"],
    }
    labels = {"app": NAME}
    return {
        "metadata": {"name": NAME},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"serviceAccountName": NAME, "containers": [container]},
            },
        },
    }


def _runs(node: Node) -> bool:
    path = f"/apis/apps/v1/namespaces/default/deployments/{NAME}"
    return bool(node.asked(path)["status"].get("readyReplicas"))
