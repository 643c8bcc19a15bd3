"""What the fast and the slow tests of `test_verify_alone.py` share."""

# What a checker may leave out, by the names of the modules.
LEFT_OUT = [
    "rapidfuzz",
    "numba",
    "llvmlite",
    "scipy",
    "sklearn",
    "altair",
    "vl_convert",
    "pooch",
    "pandas",
]

PROGRAM = """
import contextlib, io, json, sys
hidden, lines = json.loads(sys.argv[1])

class Hidden:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in hidden:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
from recveil.cli import main

told = []
for line in lines:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(line)
        except SystemExit as ended:
            told.append([ended.code, out.getvalue(), err.getvalue()])
loaded = {name.partition(".")[0] for name in sys.modules}
print(json.dumps([told, sorted(loaded - set(sys.stdlib_module_names))]))
"""
