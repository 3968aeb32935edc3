// preprocess_align: V1's copies before the forward pass, step by step on one memory.
#include <nlohmann/json.hpp>

#include "core/state/align_preprocess.h"
#include "core/state/mamba_groups.h"
#include "sessions/conformance/answer_json.h"
#include "sessions/conformance/recompute.h"
#include "sessions/conformance/request_block_tables.h"
#include "sessions/conformance/vector_memory.h"
#include "sessions/conformance/vector_requests.h"
#include "sessions/conformance/vector_states.h"

namespace hybridscope {
namespace {

using nlohmann::json;

class PreprocessRun {
 public:
  PreprocessRun(const VectorValue& config, ExecuteCopies execute_copies)
      : enable_prefix_caching_(config["enable_prefix_caching"].boolean()),
        max_num_reqs_(read_max_num_reqs(config)),
        tensors_(read_mamba_state_tensors(config)),
        memory_(config, tensors_),
        execute_copies_(execute_copies) {}

  json raw_crc32() const { return memory_.raw_crc32(); }
  std::int64_t capacity() const {
    return copy_buffer_capacity(
        {.max_num_reqs = max_num_reqs_,
         .num_mamba_layers = static_cast<std::int32_t>(tensors_.layers.size()),
         .num_state_types = static_cast<std::int32_t>(tensors_.state_kinds.size())});
  }

  json step(const VectorValue& step) {
    const std::vector<std::string> names = step["req_ids"].strings();
    const auto scheduled = counts_of(names, step["num_scheduled_tokens"]);
    if (!scheduled) return error_json(scheduled.error());
    const auto computed = counts_of(names, step["num_computed_tokens"]);
    if (!computed) return error_json(computed.error());
    const VectorGoneRequests gone(step, requests_);
    const auto req_ids = requests_.ids(names);
    const auto block_ids = read_block_ids(step["block_ids"], names);
    auto accepted = read_counts(step["num_accepted_tokens_cpu"], max_num_reqs_);
    cleanup_mamba_state_idx(gone.view(), mamba_state_idx_);
    std::vector<StateCopyDecision> decisions;
    const Status decided = preprocess_mamba({.enable_prefix_caching = enable_prefix_caching_,
                                             .block_size = tensors_.block_size,
                                             .req_ids = req_ids,
                                             .num_scheduled_tokens = scheduled.value(),
                                             .num_computed_tokens = computed.value()},
                                            mamba_state_idx_, accepted, decisions);
    if (!decided) return error_json(decided.error());
    const RequestBlockTables tables(block_ids, tensors_.mamba_group_ids);
    const auto copies = plan_batched_copies(tensors_, launch_of(decisions, tables.lists()));
    if (!copies) return error_json(copies.error());
    memory_.execute(copies.value(), execute_copies_);
    return {{"copies", state_copies_json(tensors_, copies.value())},
            {"num_accepted_tokens_cpu", accepted},
            {"mamba_state_idx", requests_.state_idx_json(mamba_state_idx_)},
            {"raw_crc32", memory_.raw_crc32()},
            {"state_crc32", memory_.state_crc32()}};
  }

 private:
  static std::vector<RequestBlockIds> read_block_ids(const VectorValue& block_ids,
                                                     const std::vector<std::string>& names) {
    std::vector<RequestBlockIds> result;
    for (const std::string& name : names) {
      result.emplace_back();
      for (const VectorValue& group : block_ids[name].elements())
        result.back().push_back(group.int32s());
    }
    return result;
  }

  bool enable_prefix_caching_;
  std::int32_t max_num_reqs_;
  MambaStateTensors tensors_;
  VectorMemory memory_;
  ExecuteCopies execute_copies_;
  VectorRequests requests_;
  MambaStateIdx mamba_state_idx_;
};

}  // namespace

json recompute_preprocess_align(const VectorCase& vector, ExecuteCopies execute_copies) {
  PreprocessRun run(vector.config, execute_copies);
  json answer{{"copy_buffer_capacity", run.capacity()}, {"raw_crc32_before", run.raw_crc32()}};
  answer["steps"] = answer_until_error(vector.input["steps"],
                                       [&](const VectorValue& step) { return run.step(step); });
  return answer;
}

}  // namespace hybridscope
