"""Reports of scans: a usual one, and one of the worst that a database can be."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from discreet.scanning.messages import RUNNABLE_PICKLES
from discreet.scanning.report import ErrorLine, GrowthStep, ScanReport, TableReport, ThreadSize, TypeCount, Usage
from discreet.scanning.usage import STEPS

AT = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
SCRIPT = "<script>alert(1)</script>"
TRILLION = 10**12


def report_of(*tables: TableReport, **more) -> ScanReport:
    told = {"database": "db.example.com/agents", "started_at": AT, "finished_at": AT + timedelta(minutes=4)}
    rest = {"seconds": 200, "sample": 1, "not_scanned": {}, "usage": None, "errors": []}
    return ScanReport(**(told | rest | {"tables": tables} | more))


def table_of(name: str, types: dict[str, int] | None = None, **more) -> TableReport:
    counts = {each: TypeCount(values=count, rows=count, threads=3) for each, count in (types or {}).items()}
    told = {"schema_name": "public", "table": name, "label": "store", "rows": 1_200, "bytes": 9_000_000}
    return TableReport(**(told | {"read_bytes": 7_000_000, "types": counts} | more))


def usage_of(**more) -> Usage:
    told = {"threads": 4_821, "checkpoints": 96_442, "bytes": 12_600_000_000, "prunable_bytes": 11_900_000_000}
    largest = [
        ThreadSize(thread=f"{n:012x}", checkpoints=1_000 - 70 * n, bytes=240_000_000 // (n + 1)) for n in range(10)
    ]
    steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000]
    growth = [GrowthStep(checkpoints=step, threads=3_000 // step, mean_bytes=240 * step * step) for step in steps]
    rest = {"open_threads": 12, "oldest": AT - timedelta(days=412), "newest": AT, "largest": largest, "growth": growth}
    return Usage(**(told | rest | more))


def usual() -> ScanReport:
    blobs = table_of(
        "checkpoint_blobs",
        {"EMAIL": 21_320, "PHONE": 6_360, "PERSON": 5_210, "IBAN": 1_204, "CARD": 412, "SECRET": 41},
        label="channel values",
        kinds={"user messages": 20_540, "model messages": 30_120, "tool results": 15_210, RUNNABLE_PICKLES: 4},
        unreadable=14,
    )
    writes = table_of("checkpoint_writes", {"EMAIL": 4_240, "PHONE": 972}, kinds={"user messages": 4_821})
    checkpoints = table_of("checkpoints", {"EMAIL": 1_300}, label="checkpoints", in_ids={"EMAIL": 144})
    clean = [table_of(name) for name in ("store", "store_vectors", "runs")]
    errors = [ErrorLine(table="channel values", column="blob", row=f"{n:012x}", reason="damaged") for n in range(14)]
    others = {"public.orders": 1_204_332, "public.customers": 32_000}
    return report_of(blobs, writes, checkpoints, *clean, usage=usage_of(), errors=errors, not_scanned=others)


def worst() -> ScanReport:
    """Return one of sixty tables with names that do harm, and as many of everything as there can be."""
    types = {f"TYPE_{n}": TRILLION // n for n in range(1, 26)} | {SCRIPT: TRILLION}
    names = [
        SCRIPT,
        '"><img src=x onerror=alert(1)>',
        "red\x1b[31m[bold]\u202e",
        *(f"long_name_{n}" * 5 for n in range(57)),
    ]
    much = {"rows": TRILLION, "bytes": TRILLION, "read_bytes": TRILLION, "unreadable": TRILLION}
    tables = [table_of(name, types, in_ids={SCRIPT: TRILLION}, kinds={SCRIPT: TRILLION}, **much) for name in names]
    error = ErrorLine(table=SCRIPT, column=SCRIPT, row=SCRIPT, reason=SCRIPT)
    usage = usage_of(threads=TRILLION, checkpoints=TRILLION, bytes=TRILLION, prunable_bytes=TRILLION - 1, oldest=None)
    steps = [*STEPS, STEPS[-1] * 10]
    usage.growth = [GrowthStep(checkpoints=step, threads=TRILLION, mean_bytes=100 * step * step) for step in steps]
    others = {f"{SCRIPT}{n}": TRILLION for n in range(60)}
    return report_of(
        *tables,
        database=SCRIPT,
        usage=usage,
        unkept={SCRIPT: TRILLION, "cart": 1, "*": 2},
        errors=[error],
        not_scanned=others,
        seconds=0,
        sample=0.0001,
    )


REPORTS = {
    "usual": usual,
    "worst": worst,
    "nothing found": lambda: report_of(table_of("store"), table_of("checkpoints")),
    "no table": report_of,
}
