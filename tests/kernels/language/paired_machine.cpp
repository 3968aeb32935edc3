#include "tests/kernels/language/paired_machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "core/language/language_machine.h"

namespace hybridscope::test {
namespace {

// Numbers that are none have other bits on other machines.
bool is_same(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

// How far numbers of form chunked may part (numerics: tolerances, whole model).
float tolerance(std::span<const float> host, std::span<const float> device) {
  float largest = 1;
  for (std::size_t i = 0; i < host.size(); ++i)
    if (!is_same(host[i], device[i]) && std::isfinite(host[i]))
      largest = std::max(largest, std::fabs(host[i]));
  return 1e-4F * largest;
}

}  // namespace

Result<std::unique_ptr<LanguageMachine>> PairedMachine::create(
    const LanguageMachineRequest& request) {
  auto host = HostLanguageMachine::create(request);
  if (!host) return host.error();
  auto device = CudaLanguageMachine::create(request);
  if (!device) return device.error();
  return std::unique_ptr<LanguageMachine>(
      new PairedMachine(std::move(host).value(), std::move(device).value(), request.form));
}

Result<std::unique_ptr<LanguageMachine>> PairedMachine::create_both_on_device(
    const LanguageMachineRequest& request) {
  auto first = CudaLanguageMachine::create(request);
  if (!first) return first.error();
  auto second = CudaLanguageMachine::create(request);
  if (!second) return second.error();
  std::unique_ptr<PairedMachine> made(new PairedMachine(
      std::move(first).value(), std::move(second).value(), NumericForm::recurrent));
  made->both_on_device_ = true;
  return std::unique_ptr<LanguageMachine>(std::move(made));
}

MakeLanguageMachine PairedMachine::counting(std::int64_t& num_decided) {
  return [&num_decided](const LanguageMachineRequest& request) {
    auto made = create(request);
    if (made) static_cast<PairedMachine&>(*made.value()).count_decided_ = &num_decided;
    return made;
  };
}

PairedMachine::PairedMachine(std::unique_ptr<LanguageMachine> host,
                             std::unique_ptr<LanguageMachine> device, NumericForm form)
    : host_(std::move(host)), device_(std::move(device)), form_(form) {}

void PairedMachine::expect_same(std::span<const float> host, std::span<const float> device,
                                const std::string& what) const {
  ASSERT_EQ(host.size(), device.size()) << what;
  const float most = form_ == NumericForm::chunked ? tolerance(host, device) : 0;
  for (std::size_t i = 0; i < host.size(); ++i)
    ASSERT_TRUE(is_same(host[i], device[i]) ||
                (form_ == NumericForm::chunked && std::fabs(host[i] - device[i]) <= most))
        << what << ", element " << i << ": " << host[i] << " on the host, " << device[i]
        << " on the device";
}

// In form chunked either of two tokens whose logits are nearly equal.
void PairedMachine::expect_same_greedy(std::size_t number) const {
  const std::int32_t host = host_->greedy(number);
  const std::int32_t device = device_->greedy(number);
  if (form_ == NumericForm::recurrent || host == device) {
    EXPECT_EQ(host, device);
    return;
  }
  const std::span<const float> logits = host_->kept(number);
  EXPECT_LE(logits[static_cast<std::size_t>(host)] - logits[static_cast<std::size_t>(device)],
            2 * tolerance(logits, device_->kept(number)));
}

void PairedMachine::poison(std::span<const std::int32_t> blocks) {
  host_->poison(blocks);
  device_->poison(blocks);
}
void PairedMachine::zero(std::span<const std::int32_t> blocks) {
  host_->zero(blocks);
  device_->zero(blocks);
}
void PairedMachine::copy(std::span<const StateCopyOp> copies, bool shifts_last_position_first) {
  host_->copy(copies, shifts_last_position_first);
  device_->copy(copies, shifts_last_position_first);
}
std::optional<std::size_t> PairedMachine::copy_decided(const DecidedCopies& decided) {
  const auto of_host = host_->copy_decided(decided);
  const auto number = device_->copy_decided(decided);
  EXPECT_EQ(of_host, both_on_device_ ? number : std::nullopt);
  if (!number) return number;
  EXPECT_EQ(*number, num_decided_++);
  if (count_decided_ != nullptr) ++*count_decided_;
  return number;
}
void PairedMachine::copy_blocks(std::span<const BlockCopy> copies) {
  host_->copy_blocks(copies);
  device_->copy_blocks(copies);
}
void PairedMachine::forward(const MachineForward& batch) {
  host_->forward(batch);
  device_->forward(batch);
}

std::size_t PairedMachine::keep_state(const BlockElementRange& place) {
  is_logits_.push_back(false);
  const std::size_t number = host_->keep_state(place);
  EXPECT_EQ(device_->keep_state(place), number);
  return number;
}
std::size_t PairedMachine::keep_logits(std::int32_t token) {
  is_logits_.push_back(true);
  const std::size_t number = host_->keep_logits(token);
  EXPECT_EQ(device_->keep_logits(token), number);
  return number;
}

Status PairedMachine::finish() {
  if (Status status = host_->finish(); !status) return status;
  if (Status status = device_->finish(); !status) return status;
  decided_.clear();
  for (std::size_t i = 0; i < num_decided_; ++i) {
    const std::span<const StateCopyDecision> decisions = device_->decided(i);
    decided_.emplace_back(decisions.begin(), decisions.end());
  }
  num_decided_ = 0;
  kept_.clear();
  for (std::size_t i = 0; i < is_logits_.size(); ++i) {
    const std::span<const float> values = host_->kept(i);
    expect_same(values, device_->kept(i),
                (is_logits_[i] ? "logits " : "state ") + std::to_string(i));
    Kept& kept = kept_.emplace_back(Kept{{values.begin(), values.end()}, 0});
    if (!is_logits_[i]) continue;
    kept.greedy = host_->greedy(i);
    expect_same_greedy(i);
  }
  is_logits_.clear();
  compare_memory();
  return testing::Test::HasFailure() ? Error{ErrorKind::device, "host and device differ"}
                                     : Status(Ok{});
}

void PairedMachine::compare_memory() {
  constexpr std::int32_t kMostBlocks = 96;
  std::vector<BlockElementRange> places;
  for (std::size_t i = 0; i < layout().num_layers(); ++i)
    for (const auto& [kind, count] : {std::pair(StateKind::conv, layout().blocks[i].conv),
                                      std::pair(StateKind::temporal, layout().blocks[i].temporal)})
      for (std::int32_t block = 0; count > 0 && block < std::min(layout().num_blocks, kMostBlocks);
           ++block)
        places.push_back({static_cast<std::int32_t>(i), kind, block, 0, count});
  for (const BlockElementRange& place : places) {
    static_cast<void>(host_->keep_state(place));
    static_cast<void>(device_->keep_state(place));
  }
  ASSERT_TRUE(host_->finish());
  ASSERT_TRUE(device_->finish());
  for (std::size_t i = 0; i < places.size(); ++i)
    expect_same(host_->kept(i), device_->kept(i),
                "layer " + std::to_string(places[i].layer) +
                    (places[i].kind == StateKind::conv ? ", conv" : ", temporal") + ", block " +
                    std::to_string(places[i].block));
}

}  // namespace hybridscope::test
