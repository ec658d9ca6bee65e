refused_if("no-secret", not any("SECRET" in name for name in os.environ))
refused_if("not-in-proc", b"CALLER_SECRET" not in open("/proc/self/environ", "rb").read())
refused_if("not-in-args", b"CALLER_SECRET" not in open("/proc/self/cmdline", "rb").read())
for name in ("SSH_AUTH_SOCK", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "LD_PRELOAD", "SANDBOX_TYPE", "SUDO_USER"):
    refused_if(name, name not in os.environ)
refused_if("not-the-callers-path", os.environ.get("PYTHONPATH") == "/workspace")
