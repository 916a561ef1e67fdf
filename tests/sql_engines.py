"""Engines that run a query on given rows: DuckDB, SQLite, and PostgreSQL where there is one."""

import os
import pwd
import shutil
import sqlite3
import subprocess
import tempfile
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

TYPES = {
    "duckdb": {"f": "DOUBLE", "i": "BIGINT", "b": "BOOLEAN", "O": "VARCHAR"},
    "postgres": {"f": "DOUBLE PRECISION", "i": "BIGINT", "b": "BOOLEAN", "O": "TEXT"},
    "sqlite": {"f": "REAL", "i": "INTEGER", "b": "INTEGER", "O": "TEXT"},
}


def quote(name):
    return '"' + name.replace('"', '""') + '"'


def column_type(values):
    """The type of a column of Python values: float, int, bool or text."""
    present = [value for value in values if value is not None]
    for kind, letter in ((bool, "b"), (int, "i"), (float, "f")):
        if present and all(isinstance(value, kind) for value in present):
            return letter
    if present and all(isinstance(value, (int, float)) for value in present):
        return "f"
    return "O"


class Engine:
    """A database with one table at a time."""

    def __init__(self, dialect, connection, mark):
        self.dialect = dialect
        self.connection = connection
        self.mark = mark

    def run(self, records, query, table="t"):
        """Put the rows into the table and return the result of the query as a frame."""
        cursor = self.connection.cursor()
        cursor.execute(f"DROP TABLE IF EXISTS {quote(table)}")
        columns = {name: [record[name] for record in records] for name in records[0]}
        types = {name: TYPES[self.dialect][column_type(values)] for name, values in columns.items()}
        said = ", ".join(f"{quote(name)} {kind}" for name, kind in types.items())
        cursor.execute(f"CREATE TABLE {quote(table)} ({said})")
        marks = ", ".join([self.mark] * len(columns))
        self.insert(cursor, f"INSERT INTO {quote(table)}", columns, marks)
        cursor.execute(query)
        names = [column[0] for column in cursor.description]
        return pd.DataFrame(cursor.fetchall(), columns=names)

    def insert(self, cursor, into, columns, marks):
        if self.dialect == "duckdb":  # which takes a second for a hundred rows one by one
            cursor.register("arrow_rows", pa.table(columns))
            cursor.execute(f"{into} SELECT * FROM arrow_rows")
        else:
            rows = list(zip(*columns.values(), strict=True))
            cursor.executemany(f"{into} VALUES ({marks})", rows)


def open_duckdb():
    duckdb = pytest.importorskip("duckdb")
    return Engine("duckdb", duckdb.connect(), "?")


def open_sqlite():
    return Engine("sqlite", sqlite3.connect(":memory:"), "?")


# --------------------------------------------------------------------------------- PostgreSQL


class Server:
    """A PostgreSQL server of its own, in a temporary folder and without a network port."""

    def __init__(self):
        self.programs = find_programs()
        self.user = None
        if os.geteuid() == 0:  # the server refuses to run as root
            names = [entry.pw_name for entry in pwd.getpwall()]
            self.user = next((name for name in ("postgres", "nobody") if name in names), None)
            if self.user is None:
                pytest.skip("PostgreSQL cannot be started as root, and there is no other user")
        self.folder = Path(tempfile.mkdtemp(prefix="pg"))
        if self.user:
            shutil.chown(self.folder, self.user)

    def call(self, program, *arguments):
        command = [str(self.programs / program), *arguments]
        subprocess.run(
            command, check=True, user=self.user, cwd=self.folder, timeout=60,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"},
        )  # fmt: skip

    def start(self):
        data = str(self.folder / "data")
        self.call("initdb", "-D", data, "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-sync")
        options = f"-k {self.folder} -c listen_addresses='' -c fsync=off"
        log = str(self.folder / "log")
        self.call("pg_ctl", "-D", data, "-o", options, "-l", log, "-w", "start")

    def stop(self):
        if (self.folder / "data" / "postmaster.pid").exists():
            self.call("pg_ctl", "-D", str(self.folder / "data"), "-m", "immediate", "stop")
        shutil.rmtree(self.folder, ignore_errors=True)


def find_programs():
    """The folder of initdb and pg_ctl."""
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    folder = next((f for f in folders if (f / "initdb").exists()), None)
    if folder is None:
        pytest.skip("there is no PostgreSQL on this machine")
    return folder


def open_postgres(server):
    psycopg = pytest.importorskip("psycopg")
    connection = psycopg.connect(
        host=str(server.folder), user="tester", dbname="postgres", autocommit=True
    )
    return Engine("postgres", connection, "%s")
