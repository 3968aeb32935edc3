// The golden vectors of V2's align steps with every launch made on the device: advance, pre-copy
// and post-copy decide for themselves, and leave the slots and bytes that the reference's kernels
// left.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "kernels/cuda/describe_cuda.h"
#include "kernels/cuda/fused_align.h"
#include "sessions/conformance/conformance.h"
#include "sessions/conformance/recognise.h"
#include "sessions/conformance/vector_states.h"
#include "tests/kernels/cuda/golden_device.h"
#include "tests/support/golden.h"

namespace hybridscope::test::golden_precopy_cuda_test {
namespace {

using Counts = std::vector<std::int32_t>;

// The steps of one vector of precopy_align. Every step asks for its copies once before the forward
// pass and, where it says so, once behind it; each time the device does what the host has planned.
class DeviceSteps {
 public:
  DeviceSteps(const VectorCase& vector, const nlohmann::json& answer)
      : vector_(&vector),
        answer_(&answer),
        num_slots_(static_cast<std::size_t>(read_max_num_reqs(vector.config))),
        src_col_(num_slots_, -1),
        src_off_(num_slots_, 0) {}

  void launch(HostStates states) {
    const VectorValue step = vector_->input["steps"][step_];
    const GoldenDevice device(vector_->config, step["block_tables"], states);
    if (before_forward_)
      advance_and_precopy(step, device);
    else
      postprocess(step, device);
    device.download();
    before_forward_ = !before_forward_ || !step["run_postprocess"].boolean();
    if (before_forward_) ++step_;
  }
  int num_precopies() const { return num_precopies_; }
  int num_postcopies() const { return num_postcopies_; }

 private:
  Counts by_slot(const VectorValue& array) const {
    return read_counts(array, static_cast<std::int64_t>(num_slots_));
  }
  void expect(const char* name, const Counts& seen) const {
    EXPECT_EQ(nlohmann::json(seen), answer_->at("steps").at(step_).at(name))
        << name << " of step " << step_;
  }

  void advance_and_precopy(const VectorValue& step, const GoldenDevice& device) {
    const DeviceArray rows = on_device(read_counts(step["idx_mapping"]));
    const DeviceArray computed = on_device(by_slot(step["num_computed_tokens"]));
    const DeviceArray query_start_loc = on_device(read_counts(step["query_start_loc"]));
    const DeviceArray state_idx = on_device(by_slot(step["state_idx_before"]));
    const DeviceArray accepted = on_device(by_slot(step["num_accepted_tokens_before"]));
    const DeviceArray src_col = on_device(src_col_);
    const DeviceArray src_off = on_device(src_off_);
    const std::int32_t num_reqs = step["num_reqs"].int32();
    must(launch_align_advance({.num_reqs = num_reqs,
                               .block_size = vector_->config["block_size"].int32(),
                               .idx_mapping = rows.data(),
                               .num_computed_tokens = computed.data(),
                               .query_start_loc = query_start_loc.data(),
                               .state_idx = state_idx.data(),
                               .num_accepted_tokens = accepted.data(),
                               .src_col = src_col.data(),
                               .src_off = src_off.data()},
                              nullptr));
    const DeviceArray precopy_rows = on_device(read_counts(step["precopy_idx_mapping"]));
    must(device.fused().precopy({.num_reqs = num_reqs,
                                 .idx_mapping = precopy_rows.data(),
                                 .state_idx = state_idx.data(),
                                 .src_col = src_col.data(),
                                 .src_off = src_off.data(),
                                 .block_tables = device.block_tables()},
                                nullptr));
    ++num_precopies_;
    state_idx_ = on_host(state_idx);
    src_col_ = on_host(src_col);
    src_off_ = on_host(src_off);
    expect("state_idx", state_idx_);
    expect("src_col", src_col_);
    expect("src_off", src_off_);
    expect("num_accepted_tokens", on_host(accepted));
  }

  void postprocess(const VectorValue& step, const GoldenDevice& device) {
    const DeviceArray rows = on_device(read_counts(step["idx_mapping"]));
    const DeviceArray accepted = on_device(by_slot(step["num_accepted_tokens_sampled"]));
    const DeviceArray state_idx = on_device(state_idx_);
    const DeviceArray computed = on_device(by_slot(step["new_num_computed_tokens"]));
    const DeviceArray out = on_device(Counts(num_slots_, 77));
    must(device.fused().postprocess_align({.num_reqs = step["num_reqs"].int32(),
                                           .num_slots = static_cast<std::int32_t>(num_slots_),
                                           .idx_mapping = rows.data(),
                                           .num_accepted_tokens = accepted.data(),
                                           .state_idx = state_idx.data(),
                                           .new_num_computed_tokens = computed.data(),
                                           .block_tables = device.block_tables(),
                                           .num_accepted_tokens_out = out.data()},
                                          nullptr));
    ++num_postcopies_;
    expect("num_accepted_tokens_after_postprocess", on_host(out));
  }

  const VectorCase* vector_;
  const nlohmann::json* answer_;
  std::size_t num_slots_ = 0;
  std::size_t step_ = 0;
  bool before_forward_ = true;
  // [slots] as the last launches left them; src_col and src_off of slots without a row stay.
  Counts state_idx_, src_col_, src_off_;
  int num_precopies_ = 0;
  int num_postcopies_ = 0;
};

// Of the case that is being checked: ExecuteCopies is a plain function.
DeviceSteps* current = nullptr;

void launch_on_device(std::span<const StateCopy>, HostStates states) { current->launch(states); }

TEST(GoldenFusedCuda, AdvanceAndPrecopyLeaveTheSlotsAndBytesOfTheReference) {
  if (const auto description = describe_cuda(); !description)
    GTEST_SKIP() << description.error().message;
  const VectorKind* kind = recognise_by_name("precopy_align");
  ASSERT_NE(kind, nullptr);
  int num_precopies = 0;
  int num_postcopies = 0;
  for_each_case("precopy_align", [&](const nlohmann::json& vector) {
    SCOPED_TRACE(vector["id"].get<std::string>());
    const VectorCase opened = open_vector(*kind, vector);
    DeviceSteps steps(opened, vector["output"]);
    current = &steps;
    const auto difference = check_vector(*kind, vector, &launch_on_device);
    EXPECT_FALSE(difference.has_value()) << difference->pointer << ": expected "
                                         << difference->expected << ", got " << difference->got;
    num_precopies += steps.num_precopies();
    num_postcopies += steps.num_postcopies();
  });
  EXPECT_GT(num_precopies, 600);
  EXPECT_GT(num_postcopies, 450);
}

}  // namespace
}  // namespace hybridscope::test::golden_precopy_cuda_test
