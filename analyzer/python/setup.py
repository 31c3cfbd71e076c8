# SPDX-License-Identifier: Apache-2.0
"""Puts libplumb_sql.so into the package when there is a built one to be found, so that an installed package needs no tree."""
import importlib.util
import pathlib
import shutil

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

HERE = pathlib.Path(__file__).resolve().parent


def built_library():
    spec = importlib.util.spec_from_file_location("plumbline_find", HERE / "plumbline" / "_find.py")
    find = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(find)
    return find.find_library(start=HERE / "plumbline")


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        library = built_library()
        if library is None:
            print("plumbline: no built libplumb_sql.so was found; the package will look for one when it is used")
            return
        target = pathlib.Path(self.build_lib) / "plumbline" / "lib"
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy2(library, target / library.name)


class WithBinary(Distribution):
    def has_ext_modules(self):  # the wheel is for this platform when the library is in it
        return built_library() is not None


setup(cmdclass={"build_py": BuildWithLibrary}, distclass=WithBinary)
