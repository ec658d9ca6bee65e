"""The extension module over the library's header, and the helper programs that travel with it."""

import shutil
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

sys.path.insert(0, str(Path(__file__).parent))
import build_native


class BuildWithHelpers(build_py):
    """Lays the helper programs of a source tree beside the package; an installed library has its own."""

    def run(self) -> None:
        """As ever, and then the programs."""
        super().run()
        target = Path(self.build_lib, "sandbox", "_helpers")
        for folder, files in ((target, build_native.helpers()), (target / "wasm", build_native.wasm_parts())):
            for file in files:
                folder.mkdir(parents=True, exist_ok=True)
                shutil.copy2(file, folder / file.name)


setup(cffi_modules=["build_native.py:ffibuilder"], cmdclass={"build_py": BuildWithHelpers},
      options={"bdist_wheel": {"py_limited_api": "cp39"}})  # one wheel for all versions
