// Times steps of 256 decodes of a language model on a GPU, from the first call of a step to the end
// of finish(): hybridscope_language_bench MODEL_DIR.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "kernels/language/cuda_language_machine.h"
#include "sessions/weights/load_model.h"

namespace hybridscope {
namespace {

constexpr std::int32_t kRows = 256;
constexpr std::int32_t kBlockSize = 16;
constexpr int kSteps = 101;

template <class T>
T must(Result<T> result) {
  if (result) return std::move(result).value();
  std::fprintf(stderr, "%s\n", result.error().message.c_str());
  std::exit(4);
}

// Rows of one token that each continue a sequence of `context` tokens, all in blocks of their own.
class DecodeBatch {
 public:
  explicit DecodeBatch(std::int32_t context)
      : columns_(context / kBlockSize + 1),
        token_ids_(kRows),
        positions_(kRows, context),
        starts_(kRows + 1),
        lengths_(kRows, context + 1),
        table_(static_cast<std::size_t>(kRows * columns_)),
        states_(kRows) {
    for (std::int32_t row = 0; row < kRows; ++row)
      token_ids_[static_cast<std::size_t>(row)] = 32 + row % 64;
    std::iota(starts_.begin(), starts_.end(), 0);
    std::iota(states_.begin(), states_.end(), 1);
    std::iota(table_.begin(), table_.end(), kRows + 1);
    attention_.attention = {.query_start_loc = starts_,
                            .seq_lens = lengths_,
                            .block_table = matrix_view(table_.data(), kRows, columns_)};
    attention_.block_size = kBlockSize;
    DecodePart part;
    part.rows = {.state_indices = matrix_view(states_.data(), kRows, 1),
                 .query_start_loc = starts_};
    part.tokens.resize(kRows);
    std::iota(part.tokens.begin(), part.tokens.end(), 0);
    recurrent_.decodes.push_back(std::move(part));
    groups_ = {attention_, recurrent_};
  }
  MachineForward forward(bool replays_graph) const {
    return {.token_ids = token_ids_,
            .positions = positions_,
            .groups = groups_,
            .replays_graph = replays_graph};
  }
  std::int32_t num_blocks() const { return kRows * (1 + columns_) + 1; }

 private:
  std::int32_t columns_;
  std::vector<std::int32_t> token_ids_, positions_, starts_, lengths_, table_, states_;
  ForwardGroup attention_, recurrent_;
  std::vector<ForwardGroup> groups_;
};

KVCacheConfig config_of(const HybridModel& model, std::int32_t num_blocks) {
  KVCacheConfig config{.num_blocks = num_blocks, .groups = {}};
  config.groups.push_back({.spec = FullAttentionSpec{.block_size = kBlockSize}, .layers = {}});
  config.groups.push_back({.spec = MambaSpec{.block_size = kBlockSize}, .layers = {}});
  for (std::size_t i = 0; i < model.layers.size(); ++i)
    config.groups[model.layers[i].is_attention() ? 0 : 1].layers.push_back(
        static_cast<std::int32_t>(i));
  return config;
}

// The median of the steps' times, microseconds.
template <class Step>
double step_us(Step&& step) {
  std::vector<double> times;
  for (int i = 0; i < kSteps; ++i) {
    const auto start = std::chrono::steady_clock::now();
    step();
    times.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
            .count());
  }
  std::ranges::nth_element(times, times.begin() + kSteps / 2);
  return times[kSteps / 2];
}

void must_finish(LanguageMachine& machine) {
  if (const Status status = machine.finish(); !status) {
    std::fprintf(stderr, "%s\n", status.error().message.c_str());
    std::exit(4);
  }
}

void time_context(const HybridModel& model, std::int32_t context) {
  const DecodeBatch batch(context);
  const KVCacheConfig config = config_of(model, batch.num_blocks());
  const auto machine = must(CudaLanguageMachine::create(
      {.model = model, .kv_cache_config = config, .max_num_tokens = kRows}));
  const auto keep_states = [&] {
    for (std::int32_t row = 0; row < kRows; ++row)
      for (std::size_t i = 0; i < model.layers.size(); ++i) {
        const BlockElements& block = machine->layout().blocks[i];
        const auto layer = static_cast<std::int32_t>(i);
        if (block.conv > 0) machine->keep_state({layer, StateKind::conv, row + 1, 0, block.conv});
        if (block.temporal > 0)
          machine->keep_state({layer, StateKind::temporal, row + 1, 0, block.temporal});
      }
  };
  const auto keep_logits = [&] {
    for (std::int32_t row = 0; row < kRows; ++row) machine->keep_logits(row);
  };
  const auto time = [&](bool replays, bool logits, bool states) {
    return step_us([&] {
      if (states) keep_states();
      machine->forward(batch.forward(replays));
      if (states) keep_states();
      if (logits) keep_logits();
      must_finish(*machine);
    });
  };
  const double launched = time(false, false, false);
  const double replayed = time(true, false, false);
  const double logits = time(true, true, false);
  const double judged = time(true, true, true);
  std::printf("| %d | %.0f | %.0f | %.0f | %.0f |\n", context, launched, replayed, logits, judged);
}

}  // namespace
}  // namespace hybridscope

int main(int argc, char** argv) {
  using namespace hybridscope;
  if (argc != 2) {
    std::fprintf(stderr, "usage: hybridscope_language_bench MODEL_DIR\n");
    return 2;
  }
  const auto loaded = must(load_model(argv[1]));
  std::printf(
      "a step of %d decodes, us\n"
      "| tokens before | launched | graph | graph and logits | the same, states kept before and "
      "after |\n|---|---|---|---|---|\n",
      kRows);
  for (const std::int32_t context : {64, 256, 1024}) time_context(loaded.model, context);
}
