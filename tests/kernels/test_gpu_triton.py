"""The Triton kernels without a card: interpreted in a process of their own, and compiled for a Hopper card."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.kernels.engines_here import INTERPRETING

HERE = Path(__file__).parent
COMPILE = """
import subprocess
from pathlib import Path
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from wordveil.kernels.gpu import screen_kernels, selection_kernels
from wordveil.kernels.gpu.screening import Tiles
from wordveil.kernels.gpu.selection import COLUMNS, DEPTH, ROWS

TYPES = {"i32": "groups tiles span room count d n blocks width", "*i64": "rows", "*fp64": "queries table least second",
         "*fp32": "maxima scales facts floors allowance shares out", "*i32": "hits counts own names",
         "fp32": "scale floor"}
types = {name: kind for kind, names in TYPES.items() for name in names.split()}

def build(kernel, warps=4, stages=3, sizes=None, **special):
    given = {**types, **special}
    signature = {name: "constexpr" if name in sizes else given[name] for name in kernel.arg_names}
    # As at a launch: PyTorch's arrays begin at multiples of 16 bytes, and block widths are multiples of 16.
    known = {(i,): [["tt.divisibility", 16]] for i, n in enumerate(signature) if signature[n][0] == "*" or n == "width"}
    source = ASTSource(fn=kernel, signature=signature, constexprs=sizes, attrs=known)
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": warps, "num_stages": stages})
    Path("made.cubin").write_bytes(made.asm["cubin"])
    tool = Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"
    used = subprocess.run([tool, "--dump-resource-usage", "made.cubin"], capture_output=True, text=True, check=True)
    stack = used.stdout.split("STACK:")[1].split()[0]
    wide = made.asm["ptx"].count("wgmma.mma_async.sync.aligned.m64n256k16")
    double = made.asm["ptx"].count("mma.sync.aligned.m8n8k4.row.col.f64") + made.asm["ptx"].count(".f64.f64.f64.f64")
    print(kernel.__name__, "stack", stack, "shared", made.metadata.shared, "wide", wide, "double", double)

t = Tiles()
block = f"tensordesc<bf16[{{}},{t.depth}]>"
screen = {"COLUMNS": 320, "ROWS": t.rows, "WORDS": t.words, "DEPTH": t.depth, "LANES": t.lanes, "WIDEN": False}
build(screen_kernels.screen, t.warps, t.stages, screen, left=block.format(t.rows), right=block.format(t.words))
build(screen_kernels.collect, sizes={"GIVEN": False, "WIDE": 1024})
build(screen_kernels.collect, sizes={"GIVEN": True, "WIDE": 1024})
rescore = {"WORDS": t.words, "LANES": t.lanes, "DEPTH": 32}
build(screen_kernels.rescore, sizes=rescore, table="*fp32", chosen="*i64")
build(screen_kernels.rescore, sizes={**rescore, "d": 1}, table="*fp32", chosen="*i64")
arrays = {"left": "*fp64", "right": "*fp64", "chosen": "*i64"}
tile = {"K": 64, "ROWS": ROWS, "COLUMNS": COLUMNS, "DEPTH": DEPTH}
build(selection_kernels.block_masses, sizes=tile, **arrays)
build(selection_kernels.block_weights, sizes={"K": 64, "WIDE": 512}, **arrays)
"""


def run(*command, cwd=None, **variables):
    environment = {**{k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}, **variables}
    paths = [str(HERE.parent.parent / "src"), *filter(None, [environment.get("PYTHONPATH")])]
    environment["PYTHONPATH"] = os.pathsep.join(paths)
    return subprocess.run([sys.executable, *command], env=environment, cwd=cwd, capture_output=True, text=True)


@pytest.fixture(autouse=True)
def triton():
    pytest.importorskip("torch", reason="PyTorch is not installed (extra gpu)")
    from wordveil.kernels.gpu.backend import HAS_TRITON

    if not HAS_TRITON:
        pytest.skip("Triton 3.4 or later is not installed")


@pytest.mark.slow
@pytest.mark.skipif(INTERPRETING, reason="this is the interpreter's own process")
def test_every_check_of_the_card_passes_in_the_interpreter():
    files = [str(HERE / "test_gpu_nearest.py"), str(HERE / "test_gpu_selection.py")]
    root = HERE.parent.parent
    done = run("-m", "pytest", "-q", "-p", "no:cacheprovider", *files, cwd=root, TRITON_INTERPRET="1")
    assert done.returncode == 0, done.stdout[-3000:]
    assert "skipped" not in done.stdout


@pytest.mark.slow
def test_kernels_compile_for_a_hopper_card_without_spilling(tmp_path):
    """Machine code says what no card is needed for: the widest matrix instruction, no spilled register, room to run."""
    done = run("-c", COMPILE, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    lines = [dict(re.findall(r"(stack|shared|wide|double) (\d+)", line)) for line in done.stdout.splitlines()]
    names = [line.split()[0] for line in done.stdout.splitlines()]
    assert names == ["screen", "collect", "collect", "rescore", "rescore", "block_masses", "block_weights"]
    assert all(line["stack"] == "0" for line in lines)
    assert all(int(line["shared"]) <= 227 << 10 for line in lines)
    assert int(lines[0]["wide"]) > 0
    assert int(lines[5]["double"]) > 0
