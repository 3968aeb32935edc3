"""vllm_driver.py WHAT: the half of scripts/vllm_differential that runs where a release of vllm is
installed. It says which release that is, then reads plans from standard input, one JSON object a
line, makes their calls on the installed classes and answers with what came out, as one line of a
WHAT_<release>.jsonl. WHAT names the module that does it: vllm_driver_WHAT.py has `start()` and
`answer(plan)`.
"""

import importlib
import json
import os
import sys

# What is logged must not stand between the answers.
ANSWERS = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("TRITON_INTERPRET", "1")  # kernels run on the CPU
os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")
sys.dont_write_bytecode = True


def main() -> None:
    module = importlib.import_module(f"vllm_driver_{sys.argv[1]}")
    module.start()
    print(json.dumps({"release": module.RELEASE}), file=ANSWERS, flush=True)
    for text in sys.stdin:
        print(json.dumps(module.answer(json.loads(text)), separators=(",", ":")), file=ANSWERS,
              flush=True)


if __name__ == "__main__":
    main()
