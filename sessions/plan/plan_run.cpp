#include "sessions/plan/plan_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "core/base/fingerprint.h"
#include "sessions/run/checked_run.h"
#include "sessions/run/drive.h"
#include "sessions/scenario/engine_setup.h"
#include "sessions/scenario/hf_config.h"
#include "sessions/text/input_file.h"
#include "sessions/text/json_value.h"
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

std::int64_t PlanTraffic::arrivals_us() const {
  const std::vector<ArrivingRequest>& requests = traffic_.requests;
  const auto waits = [](const ArrivingRequest& one) { return !one.after.empty(); };
  if (requests.empty() || std::ranges::any_of(requests, waits)) return 0;
  const auto [first, last] = std::ranges::minmax(requests, {}, &ArrivingRequest::arrival_us);
  return last.arrival_us - first.arrival_us;
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
  PlanResult result{.name = name,
                    .sizes = plan_sizes_of(plan.value().setup),
                    .num_changes = sweep.num_changes(of, options.model)};
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

StepWork StepWorkCounter::count(const StepTrace& trace) const {
  StepWork work;
  for (const ScheduledTrace& row : trace.scheduled) {
    const std::int32_t of_prompt =
        std::clamp(row.num_prompt_tokens - row.num_computed_tokens, 0, row.num_scheduled_tokens);
    work.prefill += of_prompt;
    work.decode += row.num_scheduled_tokens - of_prompt;
  }
  for (const CopyLaunch* launch : {&trace.pre_copies, &trace.post_copies})
    for (const StateCopyTrace& copy : launch->copies)
      work.copied_bytes += bytes_.copy_bytes(copy.group, copy.accept_token_bias);
  return work;
}

namespace {

constexpr double kMostUs = 1e12;

struct Term {
  std::string_view name;  // empty: the base
  double StepTime::*value;
};
constexpr Term kTerms[] = {
    {"", &StepTime::base_us},
    {"prefill", &StepTime::prefill_us},
    {"decode", &StepTime::decode_us},
    {"copied_bytes", &StepTime::copied_byte_us},
};

struct Unit {
  std::string_view name;
  double us;
};
constexpr Unit kUnits[] = {{"us", 1}, {"ms", 1e3}, {"ns", 1e-3}, {"s", 1e6}};

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// "30us"; empty: no such number.
std::optional<double> microseconds(std::string_view text) {
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value) || value < 0) return std::nullopt;
  const std::string_view unit = trimmed(text.substr(static_cast<std::size_t>(stop - text.data())));
  if (unit.empty()) return value;
  const auto found = std::ranges::find(kUnits, unit, &Unit::name);
  return found == std::end(kUnits) ? std::nullopt : std::optional(value * found->us);
}

class Clock : public StepClock {
 public:
  Clock(const StepTime& time, const EngineConfig& config) : time_(time), work_(config) {}

  std::int64_t duration_us(const StepTrace& trace) const override {
    return std::llround(std::min(time_.of(work_.count(trace)), kMostUs));
  }

 private:
  StepTime time_;
  StepWorkCounter work_;
};

}  // namespace

double StepTime::of(const StepWork& work) const {
  return base_us + prefill_us * static_cast<double>(work.prefill) +
         decode_us * static_cast<double>(work.decode) +
         copied_byte_us * static_cast<double>(work.copied_bytes);
}

Result<StepTime> parse_step_time(std::string_view text) {
  StepTime time;
  std::array<bool, std::size(kTerms)> seen{};
  for (std::string_view rest = text;;) {
    const std::size_t plus = rest.find('+');
    const std::string_view term = trimmed(rest.substr(0, plus));
    const std::size_t star = term.find('*');
    const std::string_view number = trimmed(term.substr(0, star));
    const std::string_view name =
        star == term.npos ? std::string_view() : trimmed(term.substr(star + 1));
    const auto kind = std::ranges::find(kTerms, name, &Term::name);
    const auto value = microseconds(number);
    if (kind == std::end(kTerms) || (star != term.npos && name.empty()) || !value ||
        *value > kMostUs)
      return invalid_input(fmt::format(
          "step time: {} is no term (expected a sum such as 20000 + 30*prefill + 30*decode + "
          "0.0002*copied_bytes, in microseconds or with units: 20ms + 30us*prefill)",
          quoted_text(term)));
    if (std::exchange(seen[static_cast<std::size_t>(kind - std::begin(kTerms))], true))
      return invalid_input(
          fmt::format("step time: two terms of {}", name.empty() ? "a number alone" : name));
    time.*kind->value = *value;
    if (plus == rest.npos) return time;
    rest.remove_prefix(plus + 1);
  }
}

Result<StepTime> read_step_time_file(const std::string& file) {
  const auto wrong = [](std::string message) {
    return Error{ErrorKind::corrupt, std::move(message)};
  };
  auto lines = LineSource::open(file);
  if (!lines.ok()) return lines.error();
  std::optional<StepTime> time;
  for (;;) {
    const auto line = lines.value().next();
    if (!line.ok()) return line.error();
    if (!line.value()) break;
    std::string_view text = line.value()->text;
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (trimmed(text).empty() || trimmed(text).starts_with('#')) continue;
    const std::string at = fmt::format("{}:{}: ", file, lines.value().line_number());
    if (time) return wrong(at + "a second step time (expected one line beside those with #)");
    const auto read = parse_step_time(text);
    if (!read.ok()) return wrong(at + read.error().message);
    time = read.value();
  }
  if (!time) return wrong(file + ": no step time (expected a line with a sum)");
  return *time;
}

std::string step_time_text(const StepTime& time) {
  std::string text = fmt::format("{}", time.base_us);
  for (const Term& term : kTerms)
    if (!term.name.empty() && time.*term.value > 0)
      text += fmt::format(" + {}*{}", time.*term.value, term.name);
  return text;
}

std::shared_ptr<const StepClock> make_step_clock(const StepTime& time, const EngineConfig& config) {
  return std::make_shared<Clock>(time, config);
}

}  // namespace hybridscope
