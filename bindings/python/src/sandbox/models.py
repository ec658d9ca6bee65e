"""What is asked for and what comes back, as typed and validated models."""

from __future__ import annotations

import base64
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional, Union, cast

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    ValidationError,
    field_validator,
    model_serializer,
    model_validator,
)

from . import _native
from .errors import PolicyValidationError

Bytes = Annotated[int, Field(gt=0)]
AbsolutePath = Annotated[str, Field(pattern=r"^/[^\x00]*$")]


WASM_PAGE = 65536

# The languages whose imports static analysis knows.
ANALYSED = ("python", "javascript", "typescript", "go", "rust", "java", "c", "cpp")


class RuntimeType(str, Enum):
    """Every language that the library knows of itself."""

    PYTHON = "python"
    JAVASCRIPT = "javascript"
    TYPESCRIPT = "typescript"
    SHELL = "shell"
    SH = "sh"
    GO = "go"
    RUST = "rust"
    JAVA = "java"
    C = "c"
    CPP = "c++"
    RUBY = "ruby"
    PERL = "perl"
    LUA = "lua"
    PHP = "php"
    AWK = "awk"
    MAKE = "make"
    SCHEME = "scheme"
    TCL = "tcl"

    def __str__(self) -> str:
        return self.value


class ReadOnlyMount(BaseModel):
    """A directory of the host's that the program sees and cannot change."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: str = Field(min_length=1)
    target: AbsolutePath


class ExecutionPolicy(BaseModel):
    """What a program may use. Every field has a default; a field that is not here is refused."""

    model_config = ConfigDict(extra="forbid", validate_assignment=True)

    fuel_budget: Optional[int] = Field(5_000_000_000, gt=0, description="instructions; wasm backend")
    memory_bytes: Bytes = Field(128_000_000, description="memory of all processes together")
    stdout_max_bytes: Bytes = Field(2_000_000, description="standard output kept")
    stderr_max_bytes: Bytes = Field(1_000_000, description="standard error kept")
    mount_host_dir: Optional[str] = Field(None, description="the workspace: a directory of the host's")
    guest_mount_path: AbsolutePath = Field("/app", description="where the program sees its workspace")
    mount_data_dir: Optional[str] = Field(None, description="a directory of the host's, read-only")
    guest_data_path: Optional[AbsolutePath] = Field(None, description="where; /data unless said otherwise")
    argv: list[str] = Field(default_factory=list, description="words for every program")
    env: dict[str, str] = Field(default_factory=dict, description="variables, beside those of the language")
    timeout_seconds: float = Field(30.0, gt=0, le=86400, description="wall-clock time")
    preserve_logs: bool = Field(False, description="whether code and output are kept with the record of a run")
    additional_readonly_mounts: list[ReadOnlyMount] = Field(default_factory=list)

    cpu_time_seconds: Optional[float] = Field(None, gt=0, le=86400, description="CPU time of all processes")
    cpus: float = Field(1.0, gt=0, description="share of the CPUs")
    processes: int = Field(64, gt=0, description="processes and threads")
    disk_bytes: Bytes = Field(100_000_000, description="bytes writable in workspace and /tmp")
    open_files: int = Field(256, gt=0, description="descriptors per process")
    network: Literal["none", "localhost", "dns", "allowlist", "host"] = "none"
    network_allow: list[str] = Field(default_factory=list, description="hosts, for network 'allowlist'")
    network_deny: list[str] = Field(default_factory=list, description="hosts that are refused even where allowed")
    network_dns: bool = Field(False, description="whether all names resolve, for network 'allowlist'")
    network_connections: Optional[int] = Field(None, gt=0, description="TCP connections at once")
    network_bytes: Optional[Bytes] = Field(None, description="in and out together")
    network_rate: Optional[Bytes] = Field(None, description="a second, in and out together")
    analysis: Literal["off", "warn", "block"] = "warn"
    forbidden_imports: list[str] = Field(default_factory=list, description="refused where analysis is 'block'")
    enforcement: Literal["strict", "best-effort"] = "strict"
    backend: Literal["auto", "container", "local", "docker", "wasm"] = "auto"
    record: bool = Field(True, description="whether runs are recorded (see 'sandbox history')")

    def __init__(self, **data: Any) -> None:
        try:
            super().__init__(**data)
        except ValidationError as error:
            raise PolicyValidationError.from_pydantic(error) from None

    def __setattr__(self, name: str, value: Any) -> None:
        try:
            super().__setattr__(name, value)
        except ValidationError as error:
            raise PolicyValidationError.from_pydantic(error) from None

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> ExecutionPolicy:
        """As pydantic's, with this package's error."""
        try:
            return super().model_validate(obj, **options)
        except ValidationError as error:
            raise PolicyValidationError.from_pydantic(error) from None

    @classmethod
    def model_validate_json(cls, json_data: Union[str, bytes, bytearray], **options: Any) -> ExecutionPolicy:
        """As pydantic's, with this package's error."""
        try:
            return super().model_validate_json(json_data, **options)
        except ValidationError as error:
            raise PolicyValidationError.from_pydantic(error) from None

    @field_validator("argv", "env", "mount_host_dir", "mount_data_dir", mode="after")
    @classmethod
    def _no_nul(cls, value: Any) -> Any:
        """A NUL would cut what the library is given."""
        for text in [value] if isinstance(value, str) else [*(value or ()), *getattr(value, "values", list)()]:
            if "\0" in text:
                raise ValueError("a NUL character is in it")
        return value

    @model_validator(mode="before")
    @classmethod
    def _data_has_a_place(cls, values: Any) -> Any:
        if isinstance(values, dict) and values.get("mount_data_dir") and not values.get("guest_data_path"):
            return {**values, "guest_data_path": "/data"}
        return values

    def to_native(self) -> dict[str, Any]:
        """The same as the document that the library reads (docs/POLICY.md)."""
        analysis: dict[str, Any] = {"mode": self.analysis}
        if self.forbidden_imports:
            for language in ANALYSED:
                analysis[language] = {"forbidden_imports": self.forbidden_imports}
        network: dict[str, Any] = {"mode": self.network}
        for name in ("allow", "deny", "dns", "connections", "bytes", "rate"):
            value = getattr(self, f"network_{name}")
            if value:
                network[name] = value
        limits: dict[str, Any] = {
            "timeout": self.timeout_seconds,
            "cpu_time": self.cpu_time_seconds or self.timeout_seconds,
            "memory": self.memory_bytes,
            "cpus": self.cpus,
            "processes": self.processes,
            "disk": self.disk_bytes,
            "open_files": self.open_files,
            "stdout": self.stdout_max_bytes,
            "stderr": self.stderr_max_bytes,
        }
        # Whoever sets a budget gets the backend that counts it, or is told; the default asks for nothing.
        if self.fuel_budget is not None and (self.backend == "wasm" or "fuel_budget" in self.model_fields_set):
            limits["fuel"] = self.fuel_budget
        return {
            "version": 1,
            "backend": self.backend,
            "enforcement": self.enforcement,
            "limits": limits,
            "network": network,
            "env": self.env,
            "analysis": analysis,
            "records": {"mode": "on" if self.record else "off",
                        "store_code": "always" if self.preserve_logs else "never"},
        }


# Fields of a result that are taken from the library when somebody looks at them.
_LATER = ("fuel_consumed", "files_created", "files_modified", "files_deleted", "metadata", "raw")


class SandboxResult(BaseModel):
    """What became of a program. `success` is true for a program that ended by itself with 0, alone."""

    model_config = ConfigDict(extra="forbid")

    success: bool
    status: str
    stdout: str = ""
    stderr: str = ""
    exit_code: Optional[int] = None
    fuel_consumed: int = Field(0, description="instructions; 0 where the backend does not count them")
    memory_used_bytes: int = 0
    duration_ms: float = 0.0
    files_created: list[str] = Field(default_factory=list)
    files_modified: list[str] = Field(default_factory=list)
    files_deleted: list[str] = Field(default_factory=list)
    workspace_path: Optional[Path] = None
    message: Optional[str] = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    raw: dict[str, Any] = Field(default_factory=dict, repr=False)
    _ran: Optional[_native.Result] = PrivateAttr(None)

    @property
    def duration_seconds(self) -> float:
        """Wall-clock time."""
        return self.duration_ms / 1000

    @property
    def mem_pages(self) -> int:
        """Memory in pages of WebAssembly, 64 KiB each."""
        return -(-self.memory_used_bytes // WASM_PAGE)

    @classmethod
    def from_native(cls, raw: dict[str, Any], workspace: Optional[Path] = None) -> SandboxResult:
        """The library's result (SPEC: docs), with the names of this package."""
        files = raw.get("files") or {}
        return cls(
            success=raw["success"],
            status=raw["status"],
            stdout=_decoded(raw, "stdout"),
            stderr=_decoded(raw, "stderr"),
            exit_code=raw.get("exit_code"),
            fuel_consumed=raw.get("fuel_consumed") or 0,
            memory_used_bytes=raw.get("memory_used") or 0,
            duration_ms=round((raw.get("execution_time") or 0.0) * 1000, 3),
            files_created=files.get("created") or [],
            files_modified=files.get("modified") or [],
            files_deleted=files.get("deleted") or [],
            workspace_path=workspace,
            message=raw.get("message"),
            metadata=_metadata(raw),
            raw=raw,
        )

    @classmethod
    def from_run(cls, ran: _native.Result, workspace: Optional[Path] = None) -> SandboxResult:
        """The same of a run. What few callers look at is taken from the library when somebody does: that takes longer
        than all the rest. Nothing is validated: it is the library's own word."""
        result = cls.__new__(cls)
        fields: dict[str, Any] = {
            "success": ran.success,
            "status": ran.status,
            "stdout": ran.output(1),
            "stderr": ran.output(2),
            "exit_code": ran.exit_code,
            "memory_used_bytes": ran.memory_used,
            "duration_ms": round(ran.execution_time * 1e9) // 1000 / 1000,  # whole microseconds, as in `raw`
            "workspace_path": workspace,
            "message": ran.message,
        }
        # What model_construct() does, without looking at the defaults of all fields.
        for name, value in (("__dict__", fields), ("__pydantic_fields_set__", set(_FIELDS)),
                            ("__pydantic_extra__", None), ("__pydantic_private__", {"_ran": ran})):
            object.__setattr__(result, name, value)
        return result

    def _complete(self) -> None:
        """Takes the rest, if it is not there yet. Where two threads do, both take the same."""
        ran = self._ran
        if ran is None:
            return
        whole = SandboxResult.from_native(ran.whole())
        for name in _LATER:
            self.__dict__.setdefault(name, whole.__dict__[name])
        self._ran = None

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Only what is missing comes here."""
            if name in _LATER:
                self._complete()
                if name in self.__dict__:
                    return self.__dict__[name]
            return super().__getattr__(name)

    def __eq__(self, other: object) -> bool:
        self._complete()
        if isinstance(other, SandboxResult):
            other._complete()
        return super().__eq__(other)

    def __repr_args__(self) -> Any:
        self._complete()
        return super().__repr_args__()

    def __iter__(self) -> Any:
        self._complete()
        return super().__iter__()

    def __getstate__(self) -> dict[Any, Any]:
        self._complete()
        return super().__getstate__()

    def __copy__(self) -> SandboxResult:
        self._complete()
        return super().__copy__()

    def __deepcopy__(self, memo: Optional[dict[int, Any]] = None) -> SandboxResult:
        self._complete()
        return super().__deepcopy__(memo)

    @model_serializer(mode="wrap")
    def _serialize(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        self._complete()
        return cast("dict[str, Any]", handler(self))


_FIELDS = frozenset(SandboxResult.model_fields)


def _decoded(raw: dict[str, Any], stream: str) -> str:
    text = raw.get(stream) or ""
    if raw.get("encoding") == "base64":
        return base64.b64decode(text).decode("utf-8", "replace")
    return str(text)


_OURS = ("refused", "internal_error")


def _metadata(raw: dict[str, Any]) -> dict[str, Any]:
    analysis = raw.get("analysis") or {}
    blocked = [finding["what"] for finding in analysis.get("findings", [])
               if raw["status"] == "blocked" and finding.get("kind") == "import"]
    ended_by_us = raw["status"] not in ("ok", "failed", "compile_error", *_OURS)
    return {
        "id": raw.get("id"),
        "runtime": raw.get("language"),
        "backend": raw.get("backend"),
        "stdout_truncated": bool(raw.get("stdout_truncated")),
        "stderr_truncated": bool(raw.get("stderr_truncated")),
        "limits": raw.get("limits") or {},
        "protections": raw.get("protections") or [],
        "violations": raw.get("violations") or [],
        "blocked_imports": blocked,
        "trap_reason": raw["status"] if ended_by_us else None,
        "fuel_analysis": raw.get("fuel"),
        "signal": raw.get("signal"),
        "warm": (raw.get("metrics") or {}).get("warm"),
    }
