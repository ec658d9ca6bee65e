"""Small C programs for the tests, compiled statically so that they run as `binary`."""

import pathlib
import subprocess


def compile_static(source, output, *flags):
    """Compiles a C file, or C text, to a static program and returns its path."""
    output = pathlib.Path(output)
    if isinstance(source, str):
        text = source
        source = output.with_suffix(".c")
        source.write_text(text)
    subprocess.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O1", "-static", "-pthread", "-w",
                    *flags, "-o", output, source], check=True)
    output.chmod(0o755)
    return output
