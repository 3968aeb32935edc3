"""The examples of the package's README.md run."""

import contextlib
import io
import os
import re
import unittest

from package_case import ROOT, PackageCase

try:
    import pandas
except ImportError:
    pandas = None


class Examples(PackageCase):
    def test_they_run_in_their_order(self):
        page = (ROOT / "integrations/python/README.md").read_text(encoding="utf-8")
        examples = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
        self.assertGreater(len(examples), 5)
        for name in ("scenarios", "tests"):
            (self.folder / name).symlink_to(ROOT / name)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        names = {}
        with contextlib.redirect_stdout(io.StringIO()):
            for example in examples:
                if pandas is not None or not example.startswith("# needs pandas"):
                    exec(compile(example, example.splitlines()[0], "exec"), names)


if __name__ == "__main__":
    unittest.main()
