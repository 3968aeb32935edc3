#include <gtest/gtest.h>

#include <optional>

#include "core/state/align_preprocess.h"
#include "core/state/mamba_groups.h"
#include "tests/kernels/golden_replay.h"

namespace hybridscope::test {
namespace {

class PreprocessRun {
 public:
  explicit PreprocessRun(const Json& config)
      : config_(config), tensors_(state_tensors(config)), memory_(config.at("memory")) {}

  Json before() const { return memory_.raw_crc32(); }
  std::int64_t capacity() const {
    return copy_buffer_capacity(
        {.max_num_reqs = config_.at("max_num_reqs").get<std::int32_t>(),
         .num_mamba_layers = static_cast<std::int32_t>(tensors_.layers.size()),
         .num_state_types = static_cast<std::int32_t>(tensors_.state_kinds.size())});
  }

  // nullopt: the step was refused.
  std::optional<Json> step(const Json& step) {
    const Json& req_names = step.at("req_ids");
    const auto finished = names_.ids(step.at("finished_req_ids"));
    const auto preempted = names_.ids(step.at("preempted_req_ids"));
    const auto resumed = names_.ids(step.at("resumed_req_ids"));
    const auto req_ids = names_.ids(req_names);
    const auto scheduled = by_name(req_names, step.at("num_scheduled_tokens"));
    const auto computed = by_name(req_names, step.at("num_computed_tokens"));
    std::vector<RequestBlockIds> block_ids;
    for (const Json& name : req_names)
      block_ids.push_back(step.at("block_ids").at(name.get<std::string>()).get<RequestBlockIds>());
    const auto accepted = ints(step.at("num_accepted_tokens_cpu"));
    auto result =
        preprocess_mamba(tensors_,
                         {.enable_prefix_caching = config_.at("enable_prefix_caching").get<bool>(),
                          .gone = {finished, preempted, resumed},
                          .req_ids = req_ids,
                          .num_scheduled_tokens = scheduled,
                          .num_computed_tokens = computed,
                          .block_ids = block_ids,
                          .num_accepted_tokens_cpu = accepted},
                         mamba_state_idx_);
    if (!result) return std::nullopt;
    mamba_state_idx_ = result.value().mamba_state_idx;
    execute(result.value().copies, memory_);
    return Json{{"copies", copies(result.value().copies)},
                {"num_accepted_tokens_cpu", result.value().num_accepted_tokens_cpu},
                {"mamba_state_idx", names_.state_idx_json(mamba_state_idx_)},
                {"raw_crc32", memory_.raw_crc32()},
                {"state_crc32", state_crc32(tensors_, memory_)}};
  }

 private:
  Json copies(const std::vector<StateCopy>& planned) const {
    const std::size_t num_types = tensors_.state_kinds.size();
    Json json = Json::array();
    for (const StateCopy& copy : planned) {
      const auto index = static_cast<std::size_t>(copy.state_index);
      const MambaLayerStates& layer = tensors_.layers[index / num_types];
      json.push_back({tensors_.mamba_group_ids[static_cast<std::size_t>(layer.group_index)],
                      index / num_types, index % num_types, copy.src_byte_offset,
                      copy.dst_byte_offset, copy.row_bytes});
    }
    return json;
  }

  const Json& config_;
  MambaStateTensors tensors_;
  GoldenMemory memory_;
  RequestNames names_;
  MambaStateIdx mamba_state_idx_;
};

std::string check_case(const Json& test_case) {
  PreprocessRun run(test_case.at("config"));
  const Json& output = test_case.at("output");
  if (output.at("copy_buffer_capacity") != run.capacity()) return "copy_buffer_capacity";
  if (auto text = first_difference(output.at("raw_crc32_before"), run.before()); !text.empty())
    return "before: " + text;
  const Json& expected = output.at("steps");
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto got = run.step(test_case.at("input").at("steps").at(i));
    const bool refused = expected[i].contains("error");
    if (refused != !got) return "step " + std::to_string(i) + ": error or not";
    if (refused) continue;
    if (auto text = first_difference(expected[i], *got); !text.empty())
      return "step " + std::to_string(i) + ": " + text;
  }
  return "";
}

TEST(PreprocessAlignGolden, EveryCaseOfPreprocessAlign) {
  HS_NEED_GOLDEN();
  int failures = 0;
  const int cases = for_each_case("preprocess_align.jsonl", [&](const Json& test_case) {
    if (failures >= 5) return;
    const std::string difference = check_case(test_case);
    if (difference.empty()) return;
    ++failures;
    ADD_FAILURE() << test_case.at("id") << ": " << difference;
  });
  EXPECT_GT(cases, 0);
}

}  // namespace
}  // namespace hybridscope::test
