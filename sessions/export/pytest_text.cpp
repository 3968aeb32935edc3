#include "sessions/export/pytest_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/engine/scheduler_setup.h"
#include "sessions/export/python_text.h"
#include "sessions/scenario/settings.h"

namespace hybridscope {
namespace {

// The part that does not depend on the run. Written for this project; the names are vLLM's.
constexpr std::string_view kImports = R"py(import inspect
from types import SimpleNamespace

import pytest
import torch

from vllm.sampling_params import SamplingParams
from vllm.utils.hashing import sha256
from vllm.v1.core.kv_cache_manager import KVCacheManager
from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.kv_cache_interface import (
    FullAttentionSpec,
    KVCacheConfig,
    KVCacheGroupSpec,
    MambaSpec,
)
from vllm.v1.request import Request, RequestStatus

pytestmark = pytest.mark.cpu_test
)py";

constexpr std::string_view kBody = R"py(

def known_arguments(function, **arguments):
    """Those that this version of the function takes."""
    known = inspect.signature(function).parameters
    return {name: value for name, value in arguments.items() if name in known}


def make_group(number, group):
    if group["type"] == "full_attention":
        spec = FullAttentionSpec(
            block_size=group["block_size"], num_kv_heads=1, head_size=1, dtype=torch.float32
        )
    else:
        spec = MambaSpec(
            block_size=group["block_size"],
            shapes=((1, 1),),
            dtypes=(torch.float32,),
            mamba_cache_mode=CONFIG["mamba_cache_mode"],
            num_speculative_blocks=group["num_speculative_blocks"],
        )
    flags = known_arguments(KVCacheGroupSpec, is_eagle_group=group["is_eagle_group"])
    return KVCacheGroupSpec([f"layer{number}"], spec, **flags)


def make_manager():
    groups = [make_group(number, group) for number, group in enumerate(GROUPS)]
    return KVCacheManager(
        KVCacheConfig(
            num_blocks=CONFIG["num_blocks"], kv_cache_tensors=[], kv_cache_groups=groups
        ),
        **known_arguments(
            KVCacheManager.__init__,
            max_model_len=CONFIG["max_model_len"],
            scheduler_block_size=CONFIG["scheduler_block_size"],
            hash_block_size=CONFIG["hash_block_size"],
            enable_caching=CONFIG["enable_prefix_caching"],
            use_eagle=CONFIG["use_eagle"],
            watermark=CONFIG["watermark"],
        ),
    )


def make_request(name):
    told = REQUESTS[name]
    return Request(
        request_id=name,
        prompt_token_ids=told["tokens"][: told["num_prompt_tokens"]],
        sampling_params=SamplingParams(max_tokens=told["max_tokens"]),
        pooling_params=None,
        cache_salt=told["cache_salt"],
        block_hasher=get_request_block_hasher(CONFIG["hash_block_size"], sha256),
    )


def split(request, row):
    """Scheduler._mamba_block_aligned_split of a scheduler that is nothing but its settings."""
    scheduler = SimpleNamespace(
        cache_config=SimpleNamespace(block_size=CONFIG["block_size"]),
        use_eagle=CONFIG["use_eagle"],
    )
    return Scheduler._mamba_block_aligned_split(
        scheduler,
        request,
        row["wanted"],
        **known_arguments(
            Scheduler._mamba_block_aligned_split,
            num_new_local_computed_tokens=row["hit"] if row["admitted"] else 0,
            num_external_computed_tokens=0,
            num_uncached_common_prefix_tokens=row["uncached"] if row["admitted"] else 0,
        ),
    )


def blocks_of(manager, request):
    return [
        single.req_to_blocks[request.request_id]
        for single in manager.coordinator.single_type_managers
    ]


def preempt(manager, request):
    manager.free(request)
    request.status = RequestStatus.PREEMPTED


def schedule(manager, request, row, where):
    hit_blocks = None
    hit = 0
    if row["admitted"]:
        request.num_computed_tokens = 0
        hit_blocks, hit = manager.get_computed_blocks(request)[:2]
        assert hit == row["hit"], f"{where}: tokens of the prefix hit"
        uncached = getattr(manager.coordinator, "num_uncached_common_prefix_tokens", None)
        if uncached is not None:
            assert uncached == row["uncached"], f"{where}: tokens behind the hit that a group has"
    else:
        request.num_computed_tokens = row["computed"]
    if CONFIG["mamba_cache_mode"] == "align" and not row["placeholders"]:
        assert split(request, row) == row["scheduled"], f"{where}: tokens after the split"
    allocated = manager.allocate_slots(
        request,
        row["scheduled"],
        hit,
        hit_blocks,
        **known_arguments(
            manager.allocate_slots,
            num_lookahead_tokens=CONFIG["num_lookahead_tokens"],
            full_sequence_must_fit=row["admitted"] and CONFIG["scheduler_reserve_full_isl"],
        ),
    )
    assert allocated is not None, f"{where}: no room for its blocks"
    request.status = RequestStatus.RUNNING
    tables = blocks_of(manager, request)
    held = [[int(not block.is_null) for block in table] for table in tables]
    assert held == row["held"], f"{where}: blocks that are held, a list a group"
    labelled = [
        [int(not block.is_null and block.block_hash is not None) for block in table]
        for table in tables
    ]
    assert labelled == row["labelled"], f"{where}: blocks with a hash, a list a group"


def test_hits_split_blocks_and_labels():
    init_none_hash(sha256)
    manager = make_manager()
    requests = {}
    for step in STEPS:
        if step["reset_prefix_cache"]:
            for request in requests.values() if step["reset_running_requests"] else []:
                manager.free(request)
            assert manager.reset_prefix_cache()
        for name in step["aborted"]:
            if name in requests:
                manager.free(requests[name])
        for name in step["preempted"]:
            preempt(manager, requests[name])
        if hasattr(manager, "new_step_starts"):
            manager.new_step_starts()
        for row in step["rows"]:
            for name in row["preempts"]:
                preempt(manager, requests[name])
            name = row["request"]
            if name not in requests:
                requests[name] = make_request(name)
            schedule(manager, requests[name], row, f"step {step['step']} {name}")
        for name in step["preempted_last"]:
            preempt(manager, requests[name])
        for row in step["rows"]:
            request = requests[row["request"]]
            known = request.num_tokens
            sampled = REQUESTS[row["request"]]["tokens"][known : known + row["sampled"]]
            if sampled:
                request.append_output_token_ids(sampled)
            if row["finished"]:
                manager.free(request)
)py";

std::string_view python_bool(bool value) { return value ? "True" : "False"; }

std::string python_names(const std::vector<std::string>& names) {
  std::vector<std::string> literals;
  for (const std::string& name : names) literals.push_back(python_string(name));
  return fmt::format("[{}]", fmt::join(literals, ", "));
}

std::string python_lists(const std::vector<std::vector<std::int32_t>>& lists) {
  std::vector<std::string> literals;
  for (const std::vector<std::int32_t>& list : lists)
    literals.push_back(fmt::format("[{}]", fmt::join(list, ", ")));
  return fmt::format("[{}]", fmt::join(literals, ", "));
}

// The date of 61ab70ec3.
constexpr std::string_view kProfileOfReference = "vllm@2026-06-29";

std::string heading(const ExportedRun& run) {
  const std::string profile = profile_name(run.scenario.settings);
  std::string text = fmt::format("# {}: {}, profile {}\n", python_comment(run.scenario.name),
                                 run.setup.layout.model.name, profile);
  text +=
      "# The KV-cache manager and the split of mode align, with budgets, hits and labels as\n"
      "# hybridscope's engine decided them. ";
  if (profile == "reference")
    text += "Profile reference does what the reference does: this is to pass.\n";
  else if (profile == kProfileOfReference)
    text += "This profile has the faults of the reference's day: this is to pass.\n";
  else
    text += "Where this profile does other than the reference,\n# this is to fail.\n";
  return text +
         "# Written for vLLM main at 61ab70ec3 (2026-06-29, between releases 0.24.0 and 0.25.0).\n";
}

std::string config_text(const ExportedRun& run) {
  const EngineConfig& config = run.setup.config;
  const SchedulerConfig scheduler = scheduler_config(config);
  const bool eagle = scheduler.aligned_split.use_eagle;
  std::string text = "\nCONFIG = {\n";
  const auto add = [&](std::string_view key, const auto& value) {
    text += fmt::format("    \"{}\": {},\n", key, value);
  };
  add("mamba_cache_mode", fmt::format("\"{}\"", mamba_cache_mode_name(config.mamba_cache_mode)));
  add("num_blocks", config.kv_cache_config.num_blocks);
  add("block_size", config.block_size);
  add("scheduler_block_size", config.scheduler_block_size);
  add("hash_block_size", config.hash_block_size);
  add("max_model_len", config.max_model_len);
  add("enable_prefix_caching", python_bool(config.enable_prefix_caching));
  add("use_eagle", python_bool(eagle));
  add("num_lookahead_tokens", scheduler.num_lookahead_tokens);
  add("scheduler_reserve_full_isl", python_bool(config.scheduler_reserve_full_isl));
  add("watermark", config.watermark);
  text += "}\nGROUPS = [\n";
  for (const KVCacheGroup& group : config.kv_cache_config.groups)
    text += fmt::format(
        "    {{\"type\": \"{}\", \"block_size\": {}, \"num_speculative_blocks\": {}, "
        "\"is_eagle_group\": {}}},\n",
        group.is_mamba() ? "mamba" : "full_attention", group.block_size(),
        group.is_mamba() ? std::get<MambaSpec>(group.spec).num_speculative_blocks : 0,
        python_bool(group.is_eagle_group));
  return text + "]\n";
}

std::uint64_t salt_of(const ExportedRun& run, const std::string& id) {
  for (const ScenarioRequest& request : run.scenario.requests)
    if (request.id == id) return request.cache_salt;
  return 0;
}

std::string requests_text(const ExportedRun& run) {
  std::string text = "REQUESTS = {\n";
  for (const ExportedRequest& request : run.requests) {
    const std::uint64_t salt = salt_of(run, request.id);
    text += fmt::format("    {}: {{\n        \"tokens\": [{}],\n", python_string(request.id),
                        fmt::join(request.tokens, ", "));
    text += fmt::format(
        "        \"num_prompt_tokens\": {},\n        \"max_tokens\": {},\n        \"cache_salt\": "
        "{},\n    }},\n",
        request.num_prompt_tokens, request.max_tokens,
        salt == 0 ? "None" : fmt::format("\"{}\"", salt));
  }
  return text + "}\n";
}

std::string row_text(const ExportedRow& row) {
  const bool admitted = row.admission != Admission::running;
  std::string text = fmt::format(
      "            {{\"request\": {}, \"preempts\": {}, \"admitted\": {}, \"placeholders\": {}, "
      "\"hit\": {}, \"uncached\": {}, \"computed\": {},\n",
      python_string(row.request), python_names(row.preempts), python_bool(admitted),
      python_bool(row.placeholder_drafts), row.num_hit_tokens,
      row.num_uncached_common_prefix_tokens, row.num_computed_tokens);
  text += fmt::format(
      "             \"wanted\": {}, \"scheduled\": {}, \"sampled\": {}, \"finished\": {},\n",
      row.num_wanted_tokens, row.num_scheduled_tokens, row.num_sampled_tokens,
      python_bool(row.finished));
  return text + fmt::format("             \"held\": {},\n             \"labelled\": {}}},\n",
                            python_lists(row.held), python_lists(row.labelled));
}

std::string steps_text(const ExportedRun& run) {
  std::string text = "STEPS = [\n";
  for (const ExportedStep& step : run.steps) {
    text += fmt::format(
        "    {{\"step\": {}, \"preempted\": {}, \"aborted\": {}, \"preempted_last\": {},\n"
        "     \"reset_prefix_cache\": {}, \"reset_running_requests\": {}, \"rows\": [\n",
        step.step, python_names(step.preempted), python_names(step.aborted),
        python_names(step.preempted_last), python_bool(step.reset_prefix_cache),
        python_bool(step.reset_running_requests));
    for (const ExportedRow& row : step.rows) text += row_text(row);
    text += "    ]},\n";
  }
  return text + "]\n";
}

}  // namespace

Result<std::string> pytest_text(const ExportedRun& run) {
  if (run.setup.config.async_scheduling)
    return invalid_input(
        "a test of the KV-cache manager is made of a synchronous run: async_scheduling is true "
        "(expected false: --no-async-scheduling)");
  return heading(run) + std::string(kImports) + config_text(run) + requests_text(run) +
         steps_text(run) + std::string(kBody);
}

}  // namespace hybridscope
