"""A Kubernetes of one node, run from a folder and taken down at the end."""

# ruff: noqa: S310, S603, S607 (it runs daemons and asks the API server)

from __future__ import annotations

import json
import secrets
import shutil
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from trials import expect, until

from kubernetes_parts import image

NAME = "trial"
PODS = "10.85.0.0/16"
BRIDGE = "10.85.0.1"
SERVICES = "10.96.0.0/16"
FIRST_SERVICE = "10.96.0.1"
PORT = 16_443

CONTAINERD = """
version = 2
root = "{place}/containerd"
state = "{run}/containerd"
[grpc]
address = "{run}/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{image}"
disable_apparmor = true
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "{run}/cni"
"""

NETWORK = {
    "cniVersion": "0.4.0",
    "name": "trial",
    "plugins": [
        {
            "type": "bridge",
            "bridge": "accelflow0",
            "isGateway": True,
            "ipMasq": True,
            "hairpinMode": True,
            "ipam": {
                "type": "host-local",
                "ranges": [[{"subnet": PODS}]],
                "routes": [{"dst": "0.0.0.0/0"}],
                "dataDir": "",
            },
        }
    ],
}

KUBELET = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "kind": "KubeletConfiguration",
    "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": False}},
    "authorization": {"mode": "AlwaysAllow"},
    "cgroupDriver": "cgroupfs",
    "failSwapOn": False,
    "clusterDomain": "cluster.local",
    "clusterDNS": [BRIDGE],
    "imageMinimumGCAge": "24h",
    "evictionHard": {"memory.available": "100Mi"},
}

PROXY = {
    "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
    "kind": "KubeProxyConfiguration",
    "mode": "iptables",
    "clusterCIDR": PODS,
}

NAMES = """
.:53 {{
    bind {bridge}
    errors
    kubernetes cluster.local in-addr.arpa {{
        kubeconfig {kubeconfig}
    }}
}}
"""


class Node:
    """A Kubernetes of one node with its own daemons, network and folders."""

    def __init__(self, place: Path, run: Path, programs: Path) -> None:
        """Plan a node; nothing runs yet.

        `place` is a folder on a disk, `run` is one for sockets, settings and logs, and `programs`
        has Kubernetes's programs.
        """
        self.place, self.run, self.programs = place, run, programs
        self.kubeconfig = run / "kubeconfig"
        self._token = secrets.token_hex(16)

    @contextmanager
    def running(self, archive: Path) -> Iterator[None]:
        """Run the daemons with the image of `archive`; stop them and all pods at the end."""
        self._write()
        with ExitStack() as stack:
            stack.callback(self._remove_network)
            self._start_containers(stack, archive)
            self._start_control_plane(stack)
            stack.callback(self._remove_pods)
            stack.enter_context(
                self._daemon(
                    "kubelet",
                    f"--config={self.run}/kubelet.json",
                    f"--kubeconfig={self.kubeconfig}",
                    f"--root-dir={self.place}/kubelet",
                    f"--cert-dir={self.run}/kubelet-certificates",
                    f"--container-runtime-endpoint=unix://{self.run}/containerd.sock",
                    f"--hostname-override={NAME}",
                )
            )
            stack.enter_context(
                self._daemon(
                    "kube-proxy",
                    f"--config={self.run}/proxy.json",
                    f"--hostname-override={NAME}",
                )
            )
            until(self._is_ready, "the node is ready", 60)
            until(
                lambda: self._exists("/api/v1/namespaces/default/serviceaccounts/default"),
                "the default service account exists",
                60,
            )
            yield

    def _write(self) -> None:
        values = {"place": self.place, "run": self.run, "image": image.NAME}
        (self.run / "containerd.toml").write_text(CONTAINERD.format(**values))
        network = json.loads(json.dumps(NETWORK))
        network["plugins"][0]["ipam"]["dataDir"] = str(self.run / "addresses")
        (self.run / "cni").mkdir()
        (self.run / "cni" / "10-trial.conflist").write_text(json.dumps(network))
        # Only the API server, whose certificate is of the authority, may use kubelet's port.
        kubelet = json.loads(json.dumps(KUBELET))
        kubelet["authentication"]["x509"] = {"clientCAFile": f"{self.run}/ca.crt"}
        (self.run / "kubelet.json").write_text(json.dumps(kubelet))
        proxy = {**PROXY, "clientConnection": {"kubeconfig": str(self.kubeconfig)}}
        (self.run / "proxy.json").write_text(json.dumps(proxy))
        names = NAMES.format(bridge=BRIDGE, kubeconfig=self.kubeconfig)
        (self.run / "names").write_text(names)
        (self.run / "tokens.csv").write_text(f'{self._token},trial,trial,"system:masters"\n')
        self._make_certificates()
        self.kubeconfig.write_text(
            json.dumps(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "clusters": [
                        {
                            "name": NAME,
                            "cluster": {
                                "server": f"https://127.0.0.1:{PORT}",
                                "certificate-authority": str(self.run / "ca.crt"),
                            },
                        }
                    ],
                    "users": [{"name": NAME, "user": {"token": self._token}}],
                    "contexts": [
                        {
                            "name": NAME,
                            "context": {"cluster": NAME, "user": NAME, "namespace": "default"},
                        }
                    ],
                    "current-context": NAME,
                }
            )
        )

    def _make_certificates(self) -> None:
        """Make an authority, the API server's certificate, and a key for service accounts."""
        key = ("-newkey", "rsa:2048", "-nodes", "-days", "7")
        signer = ("-CA", "ca.crt", "-CAkey", "ca.key")
        addresses = f"subjectAltName=DNS:kubernetes.default.svc,IP:127.0.0.1,IP:{FIRST_SERVICE}"
        made = {"ca": (), "server": (*signer, "-addext", addresses)}
        for name, options in made.items():
            files = ("-keyout", f"{name}.key", "-out", f"{name}.crt", "-subj", f"/CN={name}")
            self._openssl("req", "-x509", *key, *options, *files)
        self._openssl("genrsa", "-out", "accounts.key", "2048")

    def _openssl(self, *arguments: str) -> None:
        command = ["openssl", *arguments]
        done = subprocess.run(command, cwd=self.run, capture_output=True, text=True, check=False)
        expect(done.returncode == 0, "openssl makes keys", done.stderr)

    def _start_containers(self, stack: ExitStack, archive: Path) -> None:
        for left in ("containerd", "kubelet"):  # of a run that was killed
            shutil.rmtree(self.place / left, ignore_errors=True)
        stack.enter_context(self._daemon("containerd", "--config", f"{self.run}/containerd.toml"))
        until((self.run / "containerd.sock").exists, "containerd listens", 30)
        command = ["ctr", f"--address={self.run}/containerd.sock", "--namespace=k8s.io"]
        done = subprocess.run(
            [*command, "images", "import", archive], capture_output=True, text=True, check=False
        )
        expect(done.returncode == 0, "containerd takes the image", done.stdout, done.stderr)

    def _start_control_plane(self, stack: ExitStack) -> None:
        stack.enter_context(
            self._daemon(
                "etcd",
                f"--data-dir={self.run}/etcd",
                "--listen-client-urls=http://127.0.0.1:12379",
                "--advertise-client-urls=http://127.0.0.1:12379",
                "--listen-peer-urls=http://127.0.0.1:12380",
                "--unsafe-no-fsync",
            )
        )
        stack.enter_context(
            self._daemon(
                "kube-apiserver",
                "--etcd-servers=http://127.0.0.1:12379",
                f"--secure-port={PORT}",
                "--bind-address=0.0.0.0",
                f"--tls-cert-file={self.run}/server.crt",
                f"--tls-private-key-file={self.run}/server.key",
                f"--token-auth-file={self.run}/tokens.csv",
                "--authorization-mode=RBAC",
                "--kubelet-preferred-address-types=InternalIP",
                f"--kubelet-client-certificate={self.run}/server.crt",
                f"--kubelet-client-key={self.run}/server.key",
                f"--service-cluster-ip-range={SERVICES}",
                "--service-account-issuer=https://kubernetes.default.svc",
                f"--service-account-key-file={self.run}/accounts.key",
                f"--service-account-signing-key-file={self.run}/accounts.key",
            )
        )
        until(lambda: self._exists("/readyz"), "the API server is ready", 60)
        options = (f"--kubeconfig={self.kubeconfig}", "--leader-elect=false")
        stack.enter_context(
            self._daemon(
                "kube-controller-manager",
                *options,
                f"--root-ca-file={self.run}/ca.crt",
                f"--service-account-private-key-file={self.run}/accounts.key",
            )
        )
        stack.enter_context(self._daemon("kube-scheduler", *options))
        # CoreDNS answers at the bridge's address, so the bridge exists before the first pod.
        for arguments in (
            ("link", "add", "accelflow0", "type", "bridge"),
            ("address", "add", f"{BRIDGE}/16", "dev", "accelflow0"),
            ("link", "set", "accelflow0", "up"),
        ):
            subprocess.run(["ip", *arguments], check=True)
        stack.enter_context(self._daemon("coredns", "-conf", f"{self.run}/names"))

    @contextmanager
    def _daemon(self, name: str, *arguments: str) -> Iterator[None]:
        program = self.programs / name
        command = [str(program) if program.exists() else name, *arguments]
        with (self.run / f"{name}.log").open("w") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def asked(self, path: str, method: str = "GET", body: Any = None) -> Any:
        """Return the API server's answer for `path`. Raises URLError."""
        context = ssl.create_default_context(cafile=str(self.run / "ca.crt"))
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": kind}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"https://127.0.0.1:{PORT}{path}", data, headers, method=method
        )
        with urllib.request.urlopen(request, context=context, timeout=20) as answer:
            text = answer.read()
        return json.loads(text) if text.startswith(b"{") else text.decode()

    def _exists(self, path: str) -> bool:
        with suppress(OSError):
            self.asked(path)
            return True
        return False

    def _is_ready(self) -> bool:
        with suppress(OSError):
            conditions = self.asked(f"/api/v1/nodes/{NAME}")["status"]["conditions"]
            return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
        return False

    def pods(self) -> list[dict[str, Any]]:
        """Return all pods of the default namespace."""
        return list(self.asked("/api/v1/namespaces/default/pods")["items"])

    def _remove_pods(self) -> None:
        with suppress(OSError):
            self.asked("/api/v1/namespaces/default/pods?gracePeriodSeconds=0", "DELETE")
        command = ["ctr", f"--address={self.run}/containerd.sock", "--namespace=k8s.io"]
        tasks = subprocess.run(
            [*command, "tasks", "list", "-q"], capture_output=True, text=True, check=False
        )
        for task in tasks.stdout.split():
            subprocess.run([*command, "tasks", "kill", "-s", "KILL", task], check=False)
        time.sleep(1)
        for task in tasks.stdout.split():
            subprocess.run([*command, "tasks", "delete", task], capture_output=True, check=False)

    def _remove_network(self) -> None:
        for command in (
            [self.programs / "kube-proxy", "--cleanup"],
            ["ip", "link", "delete", "accelflow0"],
        ):
            subprocess.run(command, capture_output=True, check=False)
        mounts = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
        for mount in reversed(mounts):
            if mount.startswith((str(self.run), str(self.place))):
                subprocess.run(["umount", "-l", mount], check=False)
