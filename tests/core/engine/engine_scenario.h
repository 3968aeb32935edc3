// Random scenarios for the engine as plain data.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <vector>

#include "core/engine/engine.h"
#include "tests/support/naive_engine.h"

namespace hybridscope::test {

// What rapidcheck draws and shrinks. Everything else follows from it by keyed draws, so that a
// smaller shape is a similar scenario.
struct ScenarioShape {
  std::uint64_t seed = 1;
  MambaCacheMode mode = MambaCacheMode::align;
  MambaType mamba_type = MambaType::mamba2;
  int block_size = 4;              // B, tokens
  int num_speculative_tokens = 0;  // K; cut to B - 1 if blocks of B hold states
  bool ngram = false;
  int num_mamba_groups = 1;
  int second_attention_blocks = 0;  // block size of a second attention group in blocks, 0: none
  int conv_kernel = 4;
  int num_requests = 2;
  int longest_text = 12;    // tokens of a request's shared text
  int longest_output = 10;  // tokens
  int extra_blocks = 0;     // more than the smallest pool that the engine takes
  int max_num_seqs = 3;
  int extra_batched_tokens = 0;  // more than a block or a verify row
  int long_prefill_blocks = 0;   // long_prefill_token_threshold in blocks, 0: off
  int cut_model_len = 0;         // tokens by which max_model_len is below the longest request
  int steps_between_arrivals = 0;
  int num_budget_steps = 0;  // first steps, every second one with its own budget
  int num_preemptions = 0;
  int num_aborts = 0;
  int num_resets = 0;
  int acceptance_percent = 70;
  int watermark_percent = 0;
  bool reserve_full_isl = false;
  bool chunked_prefill = true;  // off: the budget is larger than every request
  bool priority = false;
  CUDAGraphMode graph_mode = CUDAGraphMode::full_and_piecewise;
  int capture_every = 0;      // capture sizes are its first multiples, 0: the default list
  bool asynchronous = false;  // never with ngram
  bool kv_consumer = false;   // defers frees when asynchronous
  bool runner_v2 = false;
};
std::ostream& operator<<(std::ostream& out, const ScenarioShape& shape);

// A shape from independent draws; `in(low, high)` gives a value in [low, high].
ScenarioShape draw_shape(MambaCacheMode mode, const std::function<int(int low, int high)>& in);

struct ScheduledCommand {
  int step = 0;  // before which it is given, from 0
  Command command;
};

struct EngineScenario {
  EngineConfig config;
  std::vector<ScheduledCommand> commands;  // by step; requests are numbered in order of addition
  int last_step() const { return commands.empty() ? 0 : commands.back().step; }
};

EngineScenario make_scenario(const ScenarioShape& shape);

// AddRequest::key of the request added as number `request`.
constexpr std::uint64_t key_of_request(int request) {
  return 1000 + static_cast<std::uint64_t>(request);
}

// An engine scenario as the slow oracle takes it.

// Modes none and align: the oracle's configuration and tokens. They share with core only which
// request repeats which part of which text.
NaiveConfig naive_config(const EngineScenario& scenario);
NaiveRequestSpec naive_request(const AddRequest& request, int arrival);

}  // namespace hybridscope::test
