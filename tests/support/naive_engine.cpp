#include "tests/support/naive_engine.h"

#include <stdexcept>

#include "tests/support/naive_engine_parts.h"

namespace hybridscope::test {

NaiveEngine::NaiveEngine(NaiveConfig config) {
  if (config.mode == NaiveCacheMode::align && config.num_speculative_tokens + 1 > config.block_size)
    throw std::invalid_argument("naive engine: align needs K + 1 <= B");
  if (!config.output_token) throw std::invalid_argument("naive engine: no output_token");
  if (config.num_speculative_tokens > 0 &&
      (!config.num_accepted || (!config.num_drafts && !config.async_scheduling)))
    throw std::invalid_argument("naive engine: no num_accepted or num_drafts");
  parts_ = std::make_unique<NaiveEngineParts>(std::move(config));
}

NaiveEngine::~NaiveEngine() = default;
NaiveEngine::NaiveEngine(NaiveEngine&&) noexcept = default;
NaiveEngine& NaiveEngine::operator=(NaiveEngine&&) noexcept = default;

int NaiveEngine::add_request(NaiveRequestSpec spec) {
  const int id = static_cast<int>(parts_->requests.size());
  NaiveRequest& request = parts_->requests.emplace_back();
  request.id = id;
  request.history = {parts_->tree.root(spec.cache_salt)};
  for (const std::uint64_t token : spec.prompt) parts_->scheduler.append(request, token);
  request.spec = std::move(spec);
  parts_->scheduler.add(id);
  return id;
}

bool NaiveEngine::preempt(int request) {
  if (parts_->get(request).status != NaiveStatus::running) return false;
  parts_->scheduler.preempt(request);
  return true;
}

void NaiveEngine::abort(int request) {
  if (parts_->get(request).status != NaiveStatus::finished) parts_->scheduler.finish(request);
}

bool NaiveEngine::reset_prefix_cache(bool reset_running_requests) {
  return parts_->scheduler.reset_prefix_cache(reset_running_requests);
}

NaiveStep NaiveEngine::step(std::optional<int> budget) {
  return parts_->turn(budget.value_or(parts_->config.max_num_batched_tokens));
}

int NaiveEngine::num_requests() const { return static_cast<int>(parts_->requests.size()); }

bool NaiveEngine::finished() const {
  return parts_->scheduler.running.empty() && parts_->scheduler.waiting.empty();
}

int NaiveEngine::num_computed_tokens(int request) const {
  return parts_->get(request).num_computed_tokens;
}

int NaiveEngine::num_output_placeholders(int request) const {
  return parts_->get(request).num_output_placeholders;
}

const std::vector<std::uint64_t>& NaiveEngine::tokens(int request) const {
  return parts_->get(request).tokens;
}

}  // namespace hybridscope::test
