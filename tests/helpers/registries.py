"""Package registries that the tests make themselves, of packages that they make themselves, on loopback.

Each is a folder of files served as they are: an index of PEP 503, an npm registry, a module proxy of Go,
a sparse registry of Cargo.
"""

import base64
import contextlib
import functools
import gzip
import hashlib
import http.server
import io
import json
import pathlib
import socket
import tarfile
import threading
import zipfile


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves files, also those whose name is a folder's too (`a` beside `a/b`), and counts requests."""

    def log_message(self, *args):
        pass

    def do_GET(self):
        self.server.asked.append(self.path)
        super().do_GET()


class Registry:
    """A folder, and the server of it."""

    def __init__(self, folder, server):
        self.folder = pathlib.Path(folder)
        self.server = server
        self.host, self.port = server.server_address[:2]

    @property
    def url(self):
        return f"http://{self.host}:{self.port}"

    @property
    def asked(self):
        """Paths that were asked for, in order."""
        return list(self.server.asked)

    def write(self, path, content):
        file = self.folder / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)


@contextlib.contextmanager
def serve(folder, host="127.0.0.1"):
    """Serves the folder while the block lasts."""
    server = http.server.ThreadingHTTPServer((host, 0), functools.partial(Handler, directory=folder))
    server.asked = []
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield Registry(folder, server)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def own_address():
    """An address of this machine that is not loopback, or None. Go never uses a proxy for loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("203.0.113.1", 9))  # Sends nothing: it only chooses a route.
            address = probe.getsockname()[0]
        except OSError:
            return None
    return None if address.startswith("127.") else address


def _tar(files):
    """A gzipped tar of {path: text}."""
    data = io.BytesIO()
    with gzip.GzipFile(fileobj=data, mode="wb", mtime=0) as packed, \
            tarfile.open(fileobj=packed, mode="w") as archive:
        for path, text in files.items():
            content = text.encode()
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content))
    return data.getvalue()


def _zip(files):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return data.getvalue()


# ---- Python ----

def python_environment(registry):
    return {"PIP_INDEX_URL": f"{registry.url}/simple", "PIP_CONFIG_FILE": "/dev/null"}


def _offer(registry, name, file, data):
    registry.write(f"files/{file}", data)
    page = registry.folder / "simple" / name / "index.html"
    old = page.read_text() if page.exists() else ""
    registry.write(f"simple/{name}/index.html", f'{old}<a href="{registry.url}/files/{file}">{file}</a>\n')


def add_wheel(registry, name, version, module):
    """A package of one module."""
    about = f"{name}-{version}.dist-info"
    _offer(registry, name, f"{name}-{version}-py3-none-any.whl", _zip({
        f"{name}.py": module,
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/RECORD": f"{name}.py,,\n{about}/METADATA,,\n{about}/WHEEL,,\n{about}/RECORD,,\n"}))


BUILDER = '''
import zipfile

{code}

def build_wheel(directory, settings=None, metadata=None):
    found = work()
    about = "{name}-{version}.dist-info"
    file = "{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(directory + "/" + file, "w") as wheel:
        wheel.writestr("{name}.py", "found = " + repr(found))
        wheel.writestr(about + "/METADATA", "Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n")
        wheel.writestr(about + "/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(about + "/RECORD", "{name}.py,,\\n")
    return file
'''


def add_source(registry, name, version, code):
    """A package whose build runs `work()` of the code; its module then has the answer as `found`."""
    top = f"{name}-{version}"
    _offer(registry, name, f"{top}.tar.gz", _tar({
        f"{top}/PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{top}/pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "builder"\nbackend-path = ["."]\n',
        f"{top}/builder.py": BUILDER.format(code=code, name=name, version=version)}))


# ---- JavaScript ----

def npm_environment(registry):
    return {"NPM_CONFIG_REGISTRY": f"{registry.url}/", "NPM_CONFIG_USERCONFIG": "/dev/null"}


def add_npm(registry, name, version, module, scripts=None, files=None):
    about = {"name": name, "version": version, "main": "index.js", "scripts": scripts or {}}
    data = _tar({"package/package.json": json.dumps(about), "package/index.js": module,
                 **{f"package/{path}": text for path, text in (files or {}).items()}})
    registry.write(f"tarballs/{name}-{version}.tgz", data)
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()
    dist = {"tarball": f"{registry.url}/tarballs/{name}-{version}.tgz", "integrity": integrity,
            "shasum": hashlib.sha1(data).hexdigest()}
    # "hasInstallScript" is what the registry notes of scripts.
    registry.write(name, json.dumps({"name": name, "dist-tags": {"latest": version}, "versions": {
        version: {**about, "dist": dist, "hasInstallScript": bool(scripts)}}}))


# ---- Go ----

def go_environment(registry):
    return {"GOPROXY": registry.url, "GOSUMDB": "off", "GOFLAGS": ""}


def add_go(registry, module, version, files):
    base = f"{module}/@v/{version}"
    registry.write(f"{module}/@v/list", f"{version}\n")
    registry.write(f"{base}.info", json.dumps({"Version": version, "Time": "2024-01-01T00:00:00Z"}))
    registry.write(f"{base}.mod", files["go.mod"])
    registry.write(f"{base}.zip", _zip({f"{module}@{version}/{path}": text for path, text in files.items()}))


# ---- Rust ----

def cargo_config(registry):
    """The text of a config.toml that puts the registry in the place of the default one."""
    return ('[source.crates-io]\nreplace-with = "test"\n'
            f'[source.test]\nregistry = "sparse+{registry.url}/"\n')


def add_crate(registry, name, version, code):
    """A library of one file; its name has four letters or more."""
    data = _tar({f"{name}-{version}/Cargo.toml": f'[package]\nname = "{name}"\nversion = "{version}"\n'
                                                 'edition = "2021"\n',
                 f"{name}-{version}/src/lib.rs": code})
    registry.write("config.json", json.dumps({"dl": f"{registry.url}/crates/{{crate}}-{{version}}.crate"}))
    registry.write(f"crates/{name}-{version}.crate", data)
    registry.write(f"{name[:2]}/{name[2:4]}/{name}", json.dumps({
        "name": name, "vers": version, "deps": [], "cksum": hashlib.sha256(data).hexdigest(),
        "features": {}, "yanked": False}) + "\n")
