#include "sessions/live/live_player.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include "core/base/result.h"

namespace hybridscope {

void take_counts(const StepTrace& trace, const std::function<RequestCounts*(RequestId)>& of) {
  // A reset may preempt a request in the step that admits it again.
  for (const RequestId preempted : trace.preempted)
    if (RequestCounts* counts = of(preempted)) {
      counts->num_computed_tokens = 0;
      if (counts->num_preemptions >= 0) ++counts->num_preemptions;
    }
  for (const ScheduledTrace& scheduled : trace.scheduled)
    if (RequestCounts* counts = of(scheduled.request))
      *counts = {
          .num_prompt_tokens = scheduled.num_prompt_tokens,
          .num_computed_tokens = scheduled.num_computed_tokens + scheduled.num_scheduled_tokens,
          .num_generated = std::max(scheduled.num_tokens - scheduled.num_prompt_tokens, 0),
          .num_preemptions = scheduled.run};
  for (const CommitTrace& commit : trace.committed) {
    RequestCounts* counts =
        commit.outcome == CommitOutcome::left_the_engine ? nullptr : of(commit.request);
    if (counts == nullptr) continue;
    counts->num_computed_tokens = commit.num_computed_tokens;
    if (counts->num_prompt_tokens >= 0)
      counts->num_generated = std::max(commit.num_tokens - counts->num_prompt_tokens, 0);
  }
}

Result<std::unique_ptr<LivePlayer>> LivePlayer::create(RunPlan plan, Options options) {
  HS_EXPECT(options.max_snapshots >= 3 && options.spacing >= 1);
  auto run = CheckedRun::create(std::move(plan), {.check = options.scope});
  if (!run.ok()) return run.error();
  StepTables tables(run.value().engine().config());
  Stand start{std::move(run).value(), std::move(tables)};
  return std::unique_ptr<LivePlayer>(new LivePlayer(std::move(start), std::move(options)));
}

LivePlayer::LivePlayer(Stand start, Options options)
    : options_(std::move(options)), live_(std::move(start)) {
  snapshots_.push_back(live_.clone());
}

const StepTrace& LivePlayer::trace() const {
  HS_EXPECT(step_.has_value());
  return step_->trace;
}

std::span<const Finding> LivePlayer::findings() const {
  return step_ ? step_->findings : std::span<const Finding>();
}

std::span<const StateWrite> LivePlayer::writes() const {
  return step_ ? step_->writes : std::span<const StateWrite>();
}

std::int64_t LivePlayer::number_of(std::int64_t position) const {
  return position == 0 ? 0 : numbers_[static_cast<std::size_t>(position - 1)];
}

Status LivePlayer::step() {
  if (done())
    return Error{ErrorKind::not_found,
                 "the run ends with step " + std::to_string(number_of(live_.position))};
  return run_next();
}

Status LivePlayer::go_to(std::int64_t step) {
  const std::int64_t from = position_;
  if (numbers_.empty() || numbers_.back() < step) {
    if (Status moved = move_to(static_cast<std::int64_t>(numbers_.size())); !moved.ok())
      return moved;
    if (Status stepped = run_until([&] { return number() >= step; }); !stepped.ok()) return stepped;
  }
  const auto found = std::lower_bound(numbers_.begin(), numbers_.end(), step);
  if (found != numbers_.end() && *found == step) return move_to(found - numbers_.begin() + 1);
  std::string message = "there is no step " + std::to_string(step);
  if (found != numbers_.begin()) message += ": after " + std::to_string(*(found - 1)) + " comes ";
  if (found != numbers_.begin())
    message += found == numbers_.end() ? "none" : std::to_string(*found);
  if (Status moved = move_to(from); !moved.ok()) return moved;
  return Error{ErrorKind::not_found, message};
}

// The last snapshot before step number `position`; the start is always there.
const LivePlayer::Stand& LivePlayer::snapshot_before(std::int64_t position) const {
  const auto behind = std::upper_bound(
      snapshots_.begin(), snapshots_.end(), std::max<std::int64_t>(position - 1, 0),
      [](std::int64_t wanted, const Stand& snapshot) { return wanted < snapshot.position; });
  return *(behind - 1);
}

// The snapshot from which to run to another step; null when the current position is nearer.
const LivePlayer::Stand* LivePlayer::restart_for(std::int64_t position) const {
  const Stand& nearest = snapshot_before(position);
  return position_ >= position || nearest.position > position_ ? &nearest : nullptr;
}

std::int64_t LivePlayer::position_of(std::int64_t step) const {
  const auto found = std::lower_bound(numbers_.begin(), numbers_.end(), step);
  HS_EXPECT(found != numbers_.end() && *found == step);
  return found - numbers_.begin() + 1;
}

std::int64_t LivePlayer::num_steps_to(std::int64_t step) const {
  const std::int64_t position = position_of(step);
  if (position == position_) return 0;
  const Stand* restart = restart_for(position);
  return position - (restart != nullptr ? restart->position : position_);
}

// A snapshot has no trace to show, so one step is run after it.
Status LivePlayer::begin_go_to(std::int64_t step) {
  const Stand* restart = restart_for(position_of(step));
  if (restart == nullptr) return Ok{};
  stand_on(*restart);
  return run_next();
}

Status LivePlayer::move_to(std::int64_t position) {
  if (position == position_) return Ok{};
  if (const Stand* restart = restart_for(position)) stand_on(*restart);
  return run_until([&] { return position_ >= position; });
}

void LivePlayer::stand_on(const Stand& snapshot) {
  live_ = snapshot.clone();
  position_ = live_.position;
  step_.reset();
  worker_changes_.clear();
  refused_.reset();
}

Status LivePlayer::run_next() {
  return run_until([this, from = position_] { return position_ > from; });
}

// Runs steps until this holds, or the run has ended.
Status LivePlayer::run_until(const StopAsked& reached) {
  if (refused_) return *refused_;
  StepSink* const sinks[] = {this};
  try {
    const Driven driven = drive(live_.run, sinks, [&] {
      if (reached()) return true;
      keep_snapshot();
      return false;
    });
    if (driven.ok()) return Ok{};
    refused_ = driven.error();
    return driven.error();
  } catch (...) {
    // A failed step leaves no usable state, so this returns to the step before it.
    const std::int64_t position = position_;
    stand_on(snapshot_before(position));
    (void)drive(live_.run, sinks, [&] { return position_ >= position; });
    refused_ = Error{ErrorKind::corrupt, "the next step ended in a fault of the program"};
    throw;
  }
}

Result<Going> LivePlayer::take(const CheckedStep& step) {
  step_.emplace(step);
  worker_changes_.clear();
  live_.tables.take(step.trace, TableReach::whole_row, worker_changes_);
  live_.own_counts.take(step.trace);
  take_counts(step.trace, [this](RequestId request) {
    const auto id = static_cast<std::size_t>(request.value);
    if (id >= live_.counts.size()) live_.counts.resize(id + 1);
    return &live_.counts[id];
  });
  ++num_steps_run_;
  ++live_.position;
  Driven handed = Going::on;
  if (static_cast<std::size_t>(live_.position) > numbers_.size()) {
    handed = hand_on(step, options_.sinks);
    if (!handed.ok()) return handed;
    numbers_.push_back(step.trace.step);
  }
  position_ = live_.position;
  return handed;
}

void LivePlayer::continue_with(const RunPlan& plan) {
  HS_EXPECT(can_continue());
  const auto shared = std::make_shared<const RunPlan>(plan);
  numbers_.resize(static_cast<std::size_t>(position_));
  std::erase_if(snapshots_, [&](const Stand& stand) { return stand.position > position_; });
  for (Stand& snapshot : snapshots_) snapshot.run.follow(shared);
  live_.run.follow(shared);
}

std::size_t LivePlayer::snapshot_bytes(const EngineConfig& config) {
  // The pool's entry and key, what the checker keeps of three contents, label and references.
  constexpr std::size_t kBytesOfABlock = 320;
  constexpr std::size_t kBytesBesides = 1 << 16;
  const std::size_t conv =
      sizeof(Fingerprint) *
      static_cast<std::size_t>(config.conv_kernel - 1 + config.num_speculative_tokens);
  return static_cast<std::size_t>(config.kv_cache_config.num_blocks) * (kBytesOfABlock + conv) +
         kBytesBesides;
}

void LivePlayer::set_max_snapshots(std::size_t most) {
  options_.max_snapshots = std::max<std::size_t>(most, 3);
  while (snapshots_.size() > options_.max_snapshots) thin_snapshots();
}

void LivePlayer::keep_snapshot() {
  if (live_.position % options_.spacing != 0) return;
  const auto place = std::lower_bound(
      snapshots_.begin(), snapshots_.end(), live_.position,
      [](const Stand& snapshot, std::int64_t wanted) { return snapshot.position < wanted; });
  if (place != snapshots_.end() && place->position == live_.position) return;
  snapshots_.insert(place, live_.clone());
  if (snapshots_.size() > options_.max_snapshots) thin_snapshots();
}

// Drops the snapshot whose loss leaves the smallest gap relative to the distance from the current
// step.
void LivePlayer::thin_snapshots() {
  std::size_t least = 1;
  double least_loss = 0;
  for (std::size_t i = 1; i < snapshots_.size(); ++i) {
    const std::int64_t before = snapshots_[i - 1].position;
    const std::int64_t after = i + 1 < snapshots_.size()
                                   ? snapshots_[i + 1].position
                                   : snapshots_[i].position + options_.spacing;
    const std::int64_t distance = std::abs(live_.position - before) + options_.spacing;
    const double loss = static_cast<double>(after - before) / static_cast<double>(distance);
    if (i == 1 || loss < least_loss) {
      least = i;
      least_loss = loss;
    }
  }
  snapshots_.erase(snapshots_.begin() + static_cast<std::ptrdiff_t>(least));
}

}  // namespace hybridscope
