// preprocess_align: V1's copies before the forward pass, step by step on one memory.
#include <nlohmann/json.hpp>

#include "core/state/align_preprocess.h"
#include "core/state/mamba_groups.h"
#include "sessions/conformance/answer_json.h"
#include "sessions/conformance/recompute.h"
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
    const auto accepted = read_counts(step["num_accepted_tokens_cpu"], max_num_reqs_);
    auto result = preprocess_mamba(tensors_,
                                   {.enable_prefix_caching = enable_prefix_caching_,
                                    .gone = gone.view(),
                                    .req_ids = req_ids,
                                    .num_scheduled_tokens = scheduled.value(),
                                    .num_computed_tokens = computed.value(),
                                    .block_ids = block_ids,
                                    .num_accepted_tokens_cpu = accepted},
                                   mamba_state_idx_);
    if (!result) return error_json(result.error());
    mamba_state_idx_ = result.value().mamba_state_idx;
    memory_.execute(result.value().copies, execute_copies_);
    return {{"copies", state_copies_json(tensors_, result.value().copies)},
            {"num_accepted_tokens_cpu", result.value().num_accepted_tokens_cpu},
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
