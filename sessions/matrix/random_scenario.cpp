#include "sessions/matrix/random_scenario.h"

#include <fmt/core.h>

#include <algorithm>
#include <initializer_list>
#include <random>
#include <utility>
#include <vector>

#include "core/base/math.h"
#include "core/base/result.h"
#include "core/caching/hybrid_coordinator_policies.h"
#include "core/caching/manager_policies.h"
#include "core/engine/engine.h"
#include "core/model/model_policies.h"
#include "sessions/scenario/engine_setup.h"
#include "sessions/text/name_hash.h"

namespace hybridscope {
namespace {

constexpr std::int32_t kAmpleBlocks = 400;
constexpr std::int32_t kAmpleBudget = 256;  // tokens per step
constexpr std::int32_t kLastJoin = 14;      // last step at which a request joins

// Random draws that are the same with every standard library.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : engine_(seed) {}

  // From `least` to `most`, both included.
  std::int32_t between(std::int32_t least, std::int32_t most) {
    HS_EXPECT(least <= most);
    const auto size = static_cast<std::uint64_t>(most - least) + 1;
    return least + static_cast<std::int32_t>(engine_() % size);
  }
  bool one_in(std::int32_t times) { return between(1, times) == 1; }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return element_of(values);
  }
  template <class List>
  const auto& element_of(const List& list) {
    return list.begin()[between(0, static_cast<std::int32_t>(list.size()) - 1)];
  }

 private:
  std::mt19937_64 engine_;
};

class Generator {
 public:
  Generator(const MatrixCell& cell, std::uint64_t seed) : cell_(cell), draws_(seed) {}
  Scenario make() {
    choose_engine();
    choose_prefix_cache();
    choose_requests();
    choose_lengths();
    choose_pool();
    choose_script();
    return std::move(scenario_);
  }

 private:
  EngineSettings& settings() { return scenario_.settings; }
  std::int32_t k() const { return scenario_.settings.num_speculative_tokens.value_or(0); }

  void choose_engine() {
    const bool all = cell_.mamba_cache_mode() == MambaCacheMode::all;
    scenario_.model = all ? draws_.one_of({"tiny-mamba2", "tiny-mamba2-groups"})
                          : draws_.one_of({"tiny-mamba2", "tiny-gdn", "tiny-gdn"});
    if (cell_.checkpoints() == Checkpoints::in_prefills) scenario_.model = "tiny-mamba2";
    settings() = cell_settings(cell_);
    if (cell_.speculative_method() == SpeculativeMethod::ngram)
      settings().num_speculative_tokens = draws_.between(1, *settings().num_speculative_tokens);
    // Mode all stores states at chunk ends; the tiny models have chunks of 4 tokens.
    block_size_ = all ? draws_.one_of({4, 8, 8}) : draws_.between(kSmallestRandomBlock, 9);
    if (cell_.match_unit() == MatchUnit::finer) block_size_ = draws_.one_of({4, 6, 8, 9});
    settings().block_size = block_size_;
    settings().seed = draws_.between(0, 1 << 30);
    settings().acceptance_rate = draws_.one_of({0.0, 0.3, 0.6, 0.8, 1.0});
    if (k() == 0) settings().acceptance_rate.reset();
    settings().max_num_seqs = draws_.between(2, 6);
    if (draws_.one_in(3)) settings().scheduling_policy = SchedulingPolicy::priority;
    if (draws_.one_in(8)) settings().scheduler_reserve_full_isl = false;
    if (cell_.async_scheduling() && draws_.one_in(4)) settings().kv_consumer = true;
    if (draws_.one_in(8)) settings().data_parallel_size = 2;
    settings().max_num_batched_tokens = kAmpleBudget;
    // With other pressures a third of the scenarios has a small budget as well, so that preempted
    // requests are recomputed in several chunks.
    if (cell_.pressure() == Pressure::budget ||
        (cell_.pressure() != Pressure::none && draws_.one_in(3))) {
      const std::int32_t least = std::max(block_size_, k() + 1);
      settings().max_num_batched_tokens = draws_.between(least, least + 12);
    }
    // Few capture sizes, so that more batches are padded.
    const std::int32_t window = 1 + k();
    if (has_full_cudagraphs(cell_.cudagraph_mode()) && draws_.one_in(2) &&
        3 * window <= *settings().max_num_batched_tokens)
      settings().cudagraph_capture_sizes = {3 * window, 8 * window, 16 * window};
  }

  void choose_prefix_cache() {
    if (cell_.match_unit() == MatchUnit::finer) {
      std::vector<std::int32_t> units;
      for (std::int32_t unit = 1; unit < block_size_; ++unit)
        if (block_size_ % unit == 0) units.push_back(unit);
      settings().prefix_match_unit = draws_.element_of(units);
    }
    if (cell_.retention() == Retention::interval_0) settings().prefix_cache_retention_interval = 0;
    if (cell_.retention() == Retention::interval_2B)
      settings().prefix_cache_retention_interval = 2 * block_size_;
  }

  void choose_requests() {
    const std::int32_t count = draws_.between(2, 7);
    for (std::int32_t i = 0; i < count; ++i) {
      ScenarioRequest request;
      request.id = std::string(1, static_cast<char>('A' + i));
      request.prompt.tokens = prompt_tokens();
      request.max_tokens = draws_.between(1, 2 * block_size_ + 4);
      if (i > 0 && !draws_.one_in(3)) request.at_step = draws_.between(1, kLastJoin);
      if (settings().scheduling_policy) request.priority = draws_.between(0, 2);
      choose_sharing(request);
      longest_ = std::max(longest_, request.prompt.tokens + request.max_tokens);
      scenario_.requests.push_back(std::move(request));
    }
  }

  // The prompt begins like an earlier request's sequence, sometimes including its answer.
  void choose_sharing(ScenarioRequest& request) {
    if (scenario_.requests.empty() || draws_.one_in(4)) return;
    const ScenarioRequest& earlier = draws_.element_of(scenario_.requests);
    PromptSpec& prompt = request.prompt;
    prompt.share = earlier.id;
    const std::int32_t whole = earlier.prompt.tokens + earlier.max_tokens;
    if (draws_.one_in(2)) {  // a later turn of a conversation
      prompt.share_tokens = draws_.between(std::max(1, earlier.prompt.tokens), whole);
      prompt.tokens = prompt.share_tokens + draws_.between(0, block_size_);
    } else {
      prompt.share_tokens = std::min(prompt.tokens, draws_.between(1, whole));
    }
    if (draws_.one_in(12)) request.cache_salt = 1;
  }

  std::int32_t prompt_tokens() {
    const std::int32_t b = block_size_;
    switch (draws_.between(0, 5)) {
      case 0: return draws_.one_of({1, k() + 1, k() + 2});
      case 1: return b * draws_.between(1, 3) + draws_.between(0, 1);
      case 2: return std::max(1, b * draws_.between(1, 3) - draws_.between(1, k() + 1));
      default: return draws_.between(1, 4 * b);
    }
  }

  // In half of the scenarios max_model_len ends the longest request early or cuts its last drafts.
  void choose_lengths() {
    settings().max_model_len = draws_.one_in(2) ? longest_ : longest_ + 4 * block_size_;
    if (cell_.pressure() == Pressure::budget && draws_.one_in(4)) {
      const std::int32_t least = std::max(block_size_, k() + 1);
      const std::int32_t threshold = draws_.between(least, least + block_size_);
      if (threshold <= *settings().max_model_len)
        settings().long_prefill_token_threshold = threshold;
    }
    const std::int32_t longest_prompt =
        std::ranges::max(scenario_.requests, {}, [](const ScenarioRequest& one) {
          return one.prompt.tokens;
        }).prompt.tokens;
    const bool ample = *settings().max_num_batched_tokens == kAmpleBudget;
    if (ample && draws_.one_in(10) && longest_prompt < kAmpleBudget)
      settings().enable_chunked_prefill = false;
  }

  // Under preemption the pool holds little more than the longest request needs, in any engine
  // profile: some keep one more state while a frame is in flight.
  void choose_pool() {
    settings().num_gpu_blocks_override = kAmpleBlocks;
    if (cell_.pressure() != Pressure::preemption) return;
    EngineSettings most = settings();
    most.policies.set(CheckpointLayers::mamba2_and_gdn);
    auto setup = make_engine_setup(scenario_.model, most);
    HS_EXPECT(setup.ok());
    EngineConfig& config = setup.value().config;
    config.policies.set(SkippedBasis::processed);
    config.policies.set(HitsInsideBlocks::with_smaller_hash_blocks);
    const auto least = static_cast<std::int32_t>(blocks_one_request_needs(config, longest_)) + 1;
    settings().num_gpu_blocks_override = least + draws_.between(0, least);
    if (draws_.one_in(8)) settings().watermark = 0.05;
    settings().max_num_seqs =
        std::min(*settings().max_num_seqs, *settings().num_gpu_blocks_override);
  }

  // Commands of the cell's pressure; also shorter draft lists when drafts are known on the host.
  void choose_script() {
    const bool drafts_can_be_set = k() > 0 && !cell_.async_scheduling();
    for (std::int32_t step = 2; step <= kLastJoin + 6; ++step) {
      const std::vector<std::string> joined = joined_by(step);
      ScriptStep entry;
      entry.step = step;
      if (draws_.one_in(4)) add_command(entry, draws_.element_of(joined));
      if (drafts_can_be_set && draws_.one_in(4)) {
        const bool none_at_all = draws_.one_in(2);
        for (const std::string& id : joined)
          if (none_at_all || draws_.one_in(2))
            entry.drafts.push_back(
                {.request = id, .count = none_at_all ? 0 : draws_.between(0, k())});
      }
      ScriptStep empty;
      empty.step = step;
      if (!(entry == empty)) scenario_.script.push_back(std::move(entry));
    }
  }

  void add_command(ScriptStep& step, const std::string& request) {
    switch (cell_.pressure()) {
      case Pressure::none: break;
      case Pressure::budget:
        step.budget = draws_.between(1, *settings().max_num_batched_tokens);
        if (draws_.one_in(2)) step.budget = std::min(*step.budget, k() + 2);
        break;
      case Pressure::preemption: step.preempt.push_back(request); break;
      case Pressure::reset:
        if (draws_.one_in(4))
          step.abort.push_back(request);
        else
          step.reset_prefix_cache = draws_.one_in(4) ? PrefixCacheReset::unless_running
                                                     : PrefixCacheReset::preempting_running;
        break;
    }
  }

  std::vector<std::string> joined_by(std::int32_t step) const {
    std::vector<std::string> ids;
    for (const ScenarioRequest& request : scenario_.requests)
      if (request.at_step <= step) ids.push_back(request.id);
    return ids;
  }

  const MatrixCell& cell_;
  Draws draws_;
  Scenario scenario_;
  std::int32_t block_size_ = 0;
  std::int32_t longest_ = 0;  // tokens of a request, prompt and output
};

}  // namespace

Scenario random_scenario(const MatrixCell& cell, std::uint64_t seed) {
  return Generator(cell, seed).make();
}

}  // namespace hybridscope
