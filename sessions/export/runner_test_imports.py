import inspect
import os
import sys
from contextlib import contextmanager
from types import SimpleNamespace

# Read when vllm and triton are imported: no GPU, and vLLM's copy kernels run on the CPU.
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("TRITON_INTERPRET", "1")
os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")

import numpy as np
import pytest
import torch

pytest.importorskip("triton")

from vllm.model_executor.layers.mamba.mamba_utils import (
    get_conv_copy_spec,
    get_temporal_copy_spec,
)
from vllm.sampling_params import SamplingParams
from vllm.v1.core.sched.output import CachedRequestData, NewRequestData, SchedulerOutput
from vllm.v1.kv_cache_interface import (
    FullAttentionSpec,
    KVCacheConfig,
    KVCacheGroupSpec,
    MambaSpec,
)
from vllm.v1.worker import block_table, gpu_model_runner, mamba_utils
from vllm.v1.worker.gpu_input_batch import InputBatch

pytestmark = pytest.mark.cpu_test
