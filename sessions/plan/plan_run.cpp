#include "sessions/plan/plan_run.h"

#include <fmt/core.h>
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/fingerprint.h"
#include "sessions/plan/plan_figures.h"
#include "sessions/run/checked_run.h"
#include "sessions/run/drive.h"
#include "sessions/run/run_plan.h"
#include "sessions/scenario/engine_setup.h"
#include "sessions/scenario/hf_config.h"
#include "sessions/text/name_hash.h"

namespace hybridscope {
namespace {

std::uint64_t digest_of(std::uint64_t digest, const ArrivingRequest& arriving) {
  const AddRequest& request = arriving.request;
  const auto add = [&digest](auto value) {
    digest = mix(digest, static_cast<std::uint64_t>(value));
  };
  add(arriving.at_step);
  add(arriving.arrival_us);
  add(hash_name(NameKind::request, request.name));
  add(request.key);
  add(request.max_tokens);
  add(request.priority);
  add(request.cache_salt);
  for (const std::string& name : arriving.after) add(hash_name(NameKind::request, name));
  add(arriving.delay_us);
  add(request.prompt.size());
  for (const PromptSegment& segment : request.prompt) {
    add(segment.source);
    add(segment.content);
    add(segment.first);
    add(segment.length);
  }
  return digest;
}

}  // namespace

PlanTraffic::PlanTraffic(std::string name, Traffic traffic, std::int64_t limit,
                         std::size_t num_kept)
    : name_(std::move(name)), traffic_(std::move(traffic)), num_kept_(num_kept) {
  if (limit > 0 && static_cast<std::size_t>(limit) < traffic_.requests.size())
    traffic_.requests.resize(static_cast<std::size_t>(limit));
}

std::shared_ptr<PlanTraffic::Way> PlanTraffic::way_of(const PromptFolding& folding) {
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find_if(
      ways_, [&](const std::shared_ptr<Way>& way) { return way->folding == folding; });
  if (found != ways_.end()) {
    ways_.splice(ways_.begin(), ways_, found);
  } else {
    ways_.push_front(std::make_shared<Way>());
    ways_.front()->folding = folding;
    if (ways_.size() > num_kept_) ways_.pop_back();
  }
  return ways_.front();
}

FoldedPrompts PlanTraffic::folded(const EngineConfig& config) {
  const PromptFolding folding = prompt_folding(config);
  const std::shared_ptr<Way> way = way_of(folding);
  const std::scoped_lock lock(way->mutex);
  if (way->prompts == nullptr) {
    auto prompts = std::make_shared<std::vector<PrefixFingerprints>>();
    prompts->reserve(traffic_.requests.size());
    for (const ArrivingRequest& arriving : traffic_.requests)
      prompts->push_back(fold_prompt(folding, arriving.request));
    way->prompts = std::move(prompts);
    const std::scoped_lock counted(mutex_);
    ++num_folded_;
  }
  return way->prompts;
}

std::int64_t PlanTraffic::num_folded() const {
  const std::scoped_lock lock(mutex_);
  return num_folded_;
}

std::string PlanTraffic::digest() const {
  std::uint64_t digest = mix(0, traffic_.requests.size());
  for (const ArrivingRequest& arriving : traffic_.requests) digest = digest_of(digest, arriving);
  return fmt::format("{:016x}", digest);
}

namespace {

constexpr std::int64_t kStepsBetweenQuestions = 256;

// An error that another combination may not have.
PlanResult refused(const std::string& name, const Error& error) {
  return {.name = name, .refused = "not possible: " + error.message};
}

}  // namespace

Result<std::string> layout_digest(const std::string& model) {
  const auto setup = make_engine_setup(model, {});
  if (!setup.ok()) return setup.error();
  std::uint64_t digest = hash_name(NameKind::text, setup.value().layout.model.name);
  for (const KVCacheGroup& group : setup.value().config.kv_cache_config.groups)
    for (const std::int32_t layer : group.layers)
      digest = mix(digest, static_cast<std::uint64_t>(layer));
  const BlockSizeChoice& choice = setup.value().layout.page_size.choice;
  for (const std::int64_t size : {choice.mamba_page, choice.attn_bytes_per_token})
    digest = mix(digest, static_cast<std::uint64_t>(size));
  return fmt::format("{:016x}", digest);
}

PlanSizes plan_sizes_of(const EngineSetup& setup) {
  const EngineConfig& config = setup.config;
  return {.mamba_cache_mode = std::string(mamba_cache_mode_name(config.mamba_cache_mode)),
          .block_size = setup.layout.page_size.choice.block_size,
          .num_blocks = config.kv_cache_config.num_blocks,
          .block_bytes = setup.layout.page_size.choice.page_size *
                         setup.layout.page_size.layer_groups.group_size,
          .max_num_seqs = config.max_num_seqs,
          .num_speculative_tokens = config.num_speculative_tokens};
}

std::string leave_out_unserved(Traffic& traffic, const Sweep& sweep, const std::string& model) {
  constexpr std::int64_t kMostLookedAt = 10000;
  if (sweep.size() > kMostLookedAt) return {};
  std::vector<std::size_t> unserved;
  std::optional<EngineSetup> possible;
  for (std::int64_t index = 0; index < sweep.size(); ++index) {
    auto settings = sweep.settings(sweep.at(index), model);
    if (!settings.ok()) continue;
    auto setup = setup_for_traffic(traffic.requests, model, settings.value());
    if (!setup.ok()) continue;
    if (!possible)
      unserved = unfit_requests(setup.value(), traffic.requests);
    else
      std::erase_if(unserved, [&](std::size_t i) {
        return check_request_fits(setup.value(), traffic.requests[i].request).ok();
      });
    possible = std::move(setup).value();
    if (unserved.empty()) return {};
  }
  if (unserved.empty() || unserved.size() == traffic.requests.size()) return {};
  return leave_out(unserved, *possible, traffic.requests);
}

Result<RunPlan> run_plan_of(const Sweep& sweep, const PlanCase& of, const PlanTraffic& traffic,
                            const PlanRunOptions& options) {
  auto settings = sweep.settings(of, options.model);
  if (!settings.ok()) return settings.error();
  auto plan = plan_traffic(traffic.traffic(), {.name = traffic.name(),
                                               .model = options.model,
                                               .settings = std::move(settings).value(),
                                               .unfit = UnfitRequest::is_error});
  if (!plan.ok()) return plan;
  if (Status starts = check_release_starts(plan.value().setup); !starts.ok()) return starts.error();
  if (options.step_time)
    plan.value().step_clock = make_step_clock(*options.step_time, plan.value().setup.config);
  return plan;
}

Result<std::optional<PlanResult>> run_plan_case(const Sweep& sweep, const PlanCase& of,
                                                PlanTraffic& traffic,
                                                const PlanRunOptions& options) {
  if (const auto model = resolve_model(options.model); !model.ok()) return model.error();
  const std::string name = of.name + options.name_suffix;
  auto plan = run_plan_of(sweep, of, traffic, options);
  if (!plan.ok()) return std::optional(refused(name, plan.error()));
  PlanResult result{.name = name, .sizes = plan_sizes_of(plan.value().setup)};
  const EngineConfig config = plan.value().setup.config;
  auto run = CheckedRun::create(std::move(plan).value(),
                                {.check = std::nullopt, .folded_prompts = traffic.folded(config)});
  if (!run.ok()) return std::optional(refused(name, run.error()));
  PlanMeter meter(config);
  std::optional<LatencyMeter> latency;
  if (options.step_time) latency.emplace(run.value().plan().requests);
  const auto driven = drive(
      run.value(),
      [&](const CheckedStep& step) {
        meter.add(step.trace);
        if (latency) latency->add(step.trace, run.value().engine());
      },
      [&] {
        return options.go_on && run.value().num_steps() % kStepsBetweenQuestions == 0 &&
               !options.go_on();
      });
  if (!driven.ok()) return driven.error();
  if (driven.value() == Going::stop) return std::optional<PlanResult>();
  result.figures = meter.figures();
  if (latency) result.figures.latency = latency->latency();
  result.points = meter.points();
  if (run.value().end() == EndReason::no_progress)
    result.refused = fmt::format("{}from step {} on no request could progress", kDidNotEnd,
                                 run.value().num_steps());
  return std::optional(std::move(result));
}

}  // namespace hybridscope
