# SPDX-License-Identifier: Apache-2.0
"""The Python package against a sample recording. PLUMB_HOME has lib/libplumb_sql.so, PLUMB_SAMPLE makes the recording."""
import contextlib
import importlib.util
import io
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

TREE = pathlib.Path(__file__).resolve().parents[3]
PACKAGE = TREE / "analyzer" / "python"
sys.path.insert(0, str(PACKAGE))

import plumbline  # noqa: E402


def has(module):
    return importlib.util.find_spec(module) is not None


LOADS_EXTENSIONS = hasattr(sqlite3.Connection, "enable_load_extension")


class WithSample(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.file = str(pathlib.Path(cls.folder.name) / "a run #1?.sqlite")
        subprocess.run([os.environ["PLUMB_SAMPLE"], cls.file, "2", "2", "3"], check=True)
        os.environ["XDG_CONFIG_HOME"] = cls.folder.name

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()


class Queries(WithSample):
    def setUp(self):
        self.run_ = plumbline.open(self.file)
        self.addCleanup(self.run_.close)

    def test_rows_are_dicts(self):
        rows = self.run_.query("SELECT rank, count(*) AS n FROM kernels GROUP BY rank")
        self.assertEqual(rows.columns, ["rank", "n"])
        self.assertEqual([row["rank"] for row in rows], [0, 1])
        self.assertEqual(rows[0]["n"], rows.tuples[0][1])
        self.assertEqual(len(rows[:1]), 1)
        self.assertEqual(rows.column("rank"), [0, 1])

    def test_parameters_by_place_and_name(self):
        self.assertEqual(self.run_.query("SELECT ? + 1 AS x", (2,))[0]["x"], 3)
        self.assertEqual(self.run_.query("SELECT :a || 'b' AS x", {"a": "a"})[0]["x"], "ab")

    def test_columns_of_one_name_are_kept_apart(self):
        self.assertEqual(self.run_.query("SELECT 1 AS a, 2 AS a, 3 AS a")[0], {"a": 1, "a_2": 2, "a_3": 3})

    def test_reports_take_filters(self):
        every, one = self.run_.report("kernels"), self.run_.report("kernels", rank=1)
        self.assertEqual({row["rank"] for row in one}, {1})
        self.assertEqual(one.tuples, [row for row in every.tuples if row[0] == 1])
        self.assertLess(sum(self.run_.report("kernels", rank=1, step=1).column("calls")), sum(one.column("calls")))

    def test_reports_are_listed(self):
        kernels = next(report for report in self.run_.reports() if report.name == "kernels")
        self.assertIn("--step", kernels.filters)
        for report in self.run_.reports():
            self.run_.report(report.name, by=report.by[-1] if report.by else None)

    def test_functions_of_plumb_query(self):
        row = self.run_.query("SELECT median(duration_ns) AS m, interval_union_ns(start_ns, duration_ns) AS b FROM kernels")
        self.assertGreater(row[0]["b"], row[0]["m"])

    def test_errors_are_sentences(self):
        for call, part in [
            (lambda: self.run_.query("SELEC"), "syntax error"),
            (lambda: self.run_.report("kernel"), "There is no report 'kernel'; the nearest are kernels"),
            (lambda: self.run_.report("zzz"), "there are api, "),
            (lambda: self.run_.report("clock_offsets", by="grid"), "takes no --by"),
            (lambda: self.run_.report("kernels", rank=99), "There is no rank 99"),
            (lambda: self.run_.query("DELETE FROM kernel"), "read"),
            (lambda: self.run_.query("CREATE TABLE t(x)"), "read"),
        ]:
            with self.assertRaises(plumbline.Error) as caught:
                call()
            self.assertIn(part, str(caught.exception))

    @unittest.skipUnless(has("pandas"), "pandas is not installed")
    def test_every_report_is_a_frame(self):
        for report in self.run_.reports():
            frame = self.run_.report(report.name).frame()
            self.assertEqual(list(frame.columns), self.run_.report(report.name).columns, report.name)

    @unittest.skipUnless(has("pandas"), "pandas is not installed")
    def test_frames(self):
        frame = self.run_.report("kernels", rank=0).frame()
        self.assertEqual(list(frame.columns)[:3], ["rank", "pid", "name"])
        nulls = self.run_.frame("SELECT 9007199254740993 AS big UNION ALL SELECT NULL")
        self.assertEqual(int(nulls["big"].max()), 9007199254740993)

    @unittest.skipUnless(has("pyarrow"), "pyarrow is not installed")
    def test_arrow(self):
        table = self.run_.arrow("SELECT 1 AS a, 0.5 AS b, NULL AS c UNION ALL SELECT 2, 1, 'x'")
        self.assertEqual(table.column("a").to_pylist(), [1, 2])
        self.assertEqual(table.column("b").to_pylist(), [0.5, 1.0])
        self.assertEqual(table.column("c").to_pylist(), [None, "x"])

    def test_without_pandas_the_message_says_so(self):
        hidden = {name: sys.modules.get(name) for name in ("pandas", "pyarrow")}
        for name in hidden:
            sys.modules[name] = None
        try:
            for method in ("frame", "arrow"):
                with self.assertRaisesRegex(ImportError, "pip install"):
                    getattr(self.run_.query("SELECT 1"), method)()
        finally:
            for name, module in hidden.items():
                if module is None:
                    del sys.modules[name]
                else:
                    sys.modules[name] = module


class WithTheProgram(WithSample):
    """A Python whose sqlite3 loads no extensions asks `plumb query`, and gets the same."""

    def test_answers_are_the_same(self):
        program = plumbline._trace.find_program()
        if program is None:
            self.skipTest("plumb is not built")
        asked = plumbline.Trace(plumbline._backend.Program(pathlib.Path(self.file), program), self.file)
        with plumbline.open(self.file) as run:
            for sql, params in [
                ("SELECT rank, name, calls, avg_ns FROM report_kernels(:rank)", {"rank": 1}),
                ("SELECT ? AS a, ? AS b, ? AS c, ? AS d", (1, "it's 5", None, 0.1)),
                ("SELECT 1 AS a, 2 AS a WHERE 0", ()),
                ("SELECT -5 AS x --", ()),
            ]:
                ours, theirs = run.query(sql, params), asked.query(sql, params)
                self.assertEqual((ours.columns, ours.tuples), (theirs.columns, theirs.tuples))
        with self.assertRaisesRegex(plumbline.Error, "takes no --by"):
            asked.report("clock_offsets", by="grid")
        asked.close()
        with self.assertRaisesRegex(plumbline.Error, "closed"):
            asked.query("SELECT 1")


class Opening(WithSample):
    def test_context_manager_closes(self):
        with plumbline.open(pathlib.Path(self.file)) as run:
            rows = run.query("SELECT 1 AS a")
        self.assertEqual(rows[0]["a"], 1)
        with self.assertRaises(plumbline.Error):
            run.query("SELECT 1")

    def test_what_is_no_recording_is_refused_with_a_sentence(self):
        other = str(pathlib.Path(self.folder.name) / "other.sqlite")
        with contextlib.closing(sqlite3.connect(other)) as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS t(x)")
            connection.commit()
        text = pathlib.Path(self.folder.name) / "text.sqlite"
        text.write_text("hello " * 1000)
        folder = pathlib.Path(self.folder.name)
        for path, part in [
            (other, "not a Plumbline file"),
            (text, "text.sqlite is not a Plumbline file: it is not an SQLite database"),
            ("/nowhere/x.sqlite", "There is no file /nowhere/x.sqlite"),
            (folder, "is a folder: name a trace file in it"),
            ("", "the path is empty"),
        ]:
            with self.assertRaisesRegex(plumbline.Error, part):
                plumbline.open(path)
        if not LOADS_EXTENSIONS:
            return
        junk = folder / "libplumb_sql.so"
        junk.write_text("no library")
        with self.assertRaisesRegex(plumbline.Error, "libplumb_sql.so cannot be loaded"):
            plumbline.open(self.file, library=junk)

    def test_compressed_recordings(self):
        packed = pathlib.Path(self.folder.name) / "a run #1?.sqlite.zst"
        program = pathlib.Path(os.environ["PLUMB_HOME"]) / "bin" / "plumb"
        subprocess.run([program, "pack", self.file, "-o", packed], check=True, stdout=subprocess.DEVNULL)
        with plumbline.open(self.file) as plain, plumbline.open(packed) as run:
            self.assertEqual(run.report("kernels").tuples, plain.report("kernels").tuples)
            self.assertEqual(run.query("SELECT * FROM kernel").tuples, plain.query("SELECT * FROM kernel").tuples)
        cut = packed.with_name("cut.zst")
        cut.write_bytes(packed.read_bytes()[: packed.stat().st_size // 2])
        with self.assertRaisesRegex(plumbline.Error, "ends early, at byte"):
            plumbline.open(cut)
        damaged = bytearray(packed.read_bytes())
        damaged[len(damaged) // 2] ^= 0x40
        cut.write_bytes(damaged)
        with self.assertRaisesRegex(plumbline.Error, "is damaged in frame"):
            with plumbline.open(cut) as run:
                for (table,) in run.query("SELECT name FROM sqlite_schema WHERE rootpage > 0 AND type = 'table'").tuples:
                    run.query(f"SELECT * FROM main.{table} NOT INDEXED")

    def test_locks_of_this_process_stay(self):
        file = str(pathlib.Path(self.folder.name) / "locked.sqlite")
        shutil.copy(self.file, file)

        def others_error():
            code = (
                "import sqlite3, sys\n"
                "try: sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None).execute('UPDATE meta SET value = value')\n"
                "except sqlite3.OperationalError as error: print(error)"
            )
            return subprocess.run([sys.executable, "-c", code, file], check=True, capture_output=True, text=True).stdout

        with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as writer:
            writer.execute("BEGIN IMMEDIATE")
            writer.execute("UPDATE kernel SET duration_ns = 5")
            self.assertIn("locked", others_error())
            with plumbline.open(file):
                self.assertIn("locked", others_error())
            self.assertIn("locked", others_error())
            writer.execute("COMMIT")
        self.assertEqual(others_error(), "")

    def test_a_file_left_in_a_change_says_what_undoes_it(self):
        file = pathlib.Path(self.folder.name) / "changed.sqlite"
        shutil.copy(self.file, file)
        journal = pathlib.Path(f"{file}-journal")
        with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as writer:
            writer.execute("PRAGMA cache_size = 1")  # so that the change is in the file before its end
            writer.execute("BEGIN IMMEDIATE")
            writer.execute("UPDATE string SET text = text || 'x'")
            writer.execute("UPDATE kernel SET duration_ns = 5")
            left = file.read_bytes(), journal.read_bytes()
        file.write_bytes(left[0])
        journal.write_bytes(left[1])
        with self.assertRaisesRegex(plumbline.Error, "in the middle of a change.*plumb index"):
            plumbline.open(file)
        program = pathlib.Path(os.environ["PLUMB_HOME"]) / "bin" / "plumb"
        subprocess.run([program, "index", file], check=True, stdout=subprocess.DEVNULL)
        with plumbline.open(file) as run, plumbline.open(self.file) as sample:
            self.assertEqual(run.query("SELECT * FROM kernel").tuples, sample.query("SELECT * FROM kernel").tuples)

    @unittest.skipUnless(LOADS_EXTENSIONS, "this Python's sqlite3 loads no extensions")
    def test_without_the_library_the_message_says_what_to_do(self):
        with self.assertRaisesRegex(plumbline.Error, "PLUMB_HOME"):
            plumbline.open(self.file, library="/nowhere/libplumb_sql.so")

    def test_the_users_own_reports(self):
        folder = pathlib.Path(self.folder.name) / "plumb" / "reports"
        folder.mkdir(parents=True)
        (folder / "mine.sql").write_text("-- Mine\n-- How many?\n-- n: rows\nSELECT count(*) AS n FROM kernel\n")
        with plumbline.open(self.file) as run:
            self.assertGreater(run.report("mine")[0]["n"], 0)
        shutil.rmtree(folder)


class Example(WithSample):
    def test_the_notebooks_cells_run(self):
        notebook = json.loads((PACKAGE / "example.ipynb").read_text())
        scope = {"FILE": self.file}
        ran = 0
        for cell in notebook["cells"]:
            if cell["cell_type"] != "code":
                continue
            code = "".join(cell["source"])
            needs = cell["metadata"].get("needs", [])
            if code.startswith("FILE =") or not all(has(module) for module in needs):
                continue
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(code, "example.ipynb", "exec"), scope)
            ran += 1
        self.assertGreaterEqual(ran, 4)


class Types(unittest.TestCase):
    @unittest.skipUnless(has("mypy"), "mypy is not installed")
    def test_hints_hold(self):
        checked = subprocess.run(
            [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", "--cache-dir", os.devnull, str(PACKAGE / "plumbline")],
            capture_output=True, text=True, check=False)
        self.assertEqual(checked.returncode, 0, checked.stdout)


if __name__ == "__main__":
    unittest.main()
