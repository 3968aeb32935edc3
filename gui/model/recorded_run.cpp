#include "gui/model/recorded_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/result.h"
#include "gui/model/request_log.h"
#include "sessions/explain/explain_finding.h"
#include "sessions/record/session_plan.h"
#include "sessions/run/finding_list.h"
#include "sessions/scenario/scenario_requests.h"

namespace hybridscope {
namespace {

StepMark mark_of(const StepStamp& stamp) {
  const StepCounts& counts = stamp.counts;
  return {.step = stamp.step,
          .copies = counts.num_state_copies > 0,
          .evicts = counts.num_evicted > 0,
          .preempts = counts.num_preempted > 0,
          .warns = counts.num_warnings > 0,
          .errs = counts.num_errors > 0};
}

}  // namespace

RecordedRun::RecordedRun(std::unique_ptr<SessionPlayer> player, SessionPlace place, Options options)
    : ShownRun(options.title.empty() ? player->reader().title() : options.title,
               player->reader().info().header.level),
      place_(std::move(place)),
      options_(std::move(options)),
      player_(std::move(player)),
      config_(player_->reader().info().header.config),
      views_(config_) {
  is_recorded_ = true;
  note_ = info().note;
  note_end();
}

Result<std::unique_ptr<RecordedRun>> RecordedRun::open(const SessionPlace& place, Options options) {
  auto player = SessionPlayer::open(place);
  if (!player.ok()) return player.error();
  std::unique_ptr<RecordedRun> run(
      new RecordedRun(std::move(player).value(), place, std::move(options)));
  if (Status loaded = run->load(); !loaded.ok()) return loaded.error();
  return run;
}

Status RecordedRun::load() {
  const SessionHeader& header = info().header;
  names_ = make_names(header.config,
                      [this](RequestId request) { return reader().request_name(request); });
  if (Status marks = load_marks(); !marks.ok()) return marks;
  if (Status findings = load_findings(0); !findings.ok()) return findings;
  const auto bookmarks = reader().bookmarks();
  if (!bookmarks.ok()) return bookmarks.error();
  show_bookmarks(bookmarks.value());
  if (header.kind == SessionKind::run) load_plan();
  if (header.language) speech_.emplace(*header.language);
  speech_is_whole_ = !header.language;
  return Ok{};
}

// Loads the findings after a step: for the list, for chains, and what they say about blocks.
Status RecordedRun::load_findings(std::int64_t after) {
  // One more than are followed, to know that there are more.
  const auto loaded = reader().findings(FindingLog::kMostARule + 1, after);
  if (!loaded.ok()) return loaded.error();
  note_findings(loaded.value());
  list_undecided();
  return Ok{};
}

// If the plan cannot be read, only what needs it is missing.
void RecordedRun::load_plan() {
  auto plan = read_session_plan(info().header.plan, reader().title());
  if (!plan.ok()) {
    why_no_plan_ = "the session's plan cannot be read: " + plan.error().message;
    return;
  }
  plan_ = std::move(plan).value();
  if (info().header.digest_version == kDigestVersion)
    remade_ = std::make_unique<RemadeRun>(*plan_, info().header.check, place_);
  ScriptedPolicies scripted(plan_->settings);
  for (const ScriptStep& step : plan_->script)
    if (const auto policies = scripted.change(step))
      policy_changes_.push_back({step.step, *policies});
}

Status RecordedRun::load_marks() {
  const std::int64_t after = marks_.empty() ? 0 : marks_.back().step;
  for (;;) {
    const auto stamp = reader().next_stamp();
    if (!stamp.ok()) return stamp.error();
    if (stamp.value() == nullptr) break;
    marks_.push_back(mark_of(*stamp.value()));
  }
  if (marks_.empty())
    return Error{ErrorKind::not_found, fmt::format("{}: no step was recorded", reader().title())};
  return mark_block_copies(after);
}

// A block is copied when a hit ends inside it; where none can, not every event has to be read.
Status RecordedRun::mark_block_copies(std::int64_t after) {
  const auto& groups = config_.kv_cache_config.groups;
  const bool can_copy = std::ranges::any_of(groups, [this](const KVCacheGroup& group) {
    return group.block_size() > config_.hash_block_size;
  });
  if (!can_copy) return Ok{};
  const auto steps = reader().steps_with_block_copies(after);
  if (!steps.ok()) return steps.error();
  for (const std::int64_t step : steps.value())
    if (const std::ptrdiff_t index = mark_index(marks_, step); index >= 0)
      marks_[static_cast<std::size_t>(index)].copies = true;
  return Ok{};
}

Result<bool> RecordedRun::see_new_steps() {
  const std::int64_t before = last_known_step();
  if (Status seen = reader().see_new_steps(); !seen.ok()) return seen.error();
  if (reader().last_step() == before) return false;
  if (beside_ != nullptr)
    if (Status seen = beside_->see_new_steps(); !seen.ok()) return seen.error();
  if (Status marks = load_marks(); !marks.ok()) return marks.error();
  if (Status findings = load_findings(before); !findings.ok()) return findings.error();
  speech_is_whole_ = !speech_;
  note_end();
  return true;
}

void RecordedRun::attach() {
  config_.policies = info().header.config.policies;
  for (const PolicyChange& change : policy_changes_)
    if (change.step <= step()) config_.policies = change.policies;
  trace_ = &views_.attach(player_->record(), player_->worker_tables());
  previous_read_ = false;
  held_ = nullptr;
  is_unreadable_ = false;
}

// After a failed read the previous step is shown again.
void RecordedRun::return_to(std::int64_t before) {
  if (before > 0 && player_->go_to(before).ok()) attach();
}

Status RecordedRun::show(std::int64_t known) {
  const std::int64_t before = step();
  Status moved = player_->go_to(known);
  if (moved.ok())
    attach();
  else
    return_to(before);
  return moved;
}

StepView RecordedRun::view() const {
  HS_EXPECT(trace_ != nullptr);
  const StepRecord& record = player_->record();
  return {.trace = *trace_,
          .config = config(),
          .names = names_,
          .scheduler_tables = player_->scheduler_tables(),
          .worker_tables = player_->worker_tables(),
          .findings = record.findings,
          .writes = record.writes,
          .worker_changes = record.worker_changes};
}

// A second reader of the file; null: the file cannot be opened.
SessionReader* RecordedRun::beside() {
  if (beside_ == nullptr)
    if (auto opened = SessionReader::open(place_); opened.ok()) beside_ = std::move(opened).value();
  return beside_.get();
}

// What was scheduled in a step, by the second reader; null: it cannot be read. Valid until the next
// call.
const StepRecord* RecordedRun::schedule_beside(std::int64_t step) {
  if (beside() == nullptr) return nullptr;
  const auto record = beside()->read_schedule(step);
  return record.ok() ? record.value() : nullptr;
}

std::vector<StepActivity> RecordedRun::activities(std::size_t first, std::size_t count) {
  if (activities_.size() > kMostActivities) activities_.clear();
  std::vector<StepActivity> found;
  int reads_left = level() == RecordLevel::counts ? 0 : kStepsASlice;
  for (std::size_t number = first; number < first + count; ++number) {
    const std::int64_t step = marks_[number].step;
    auto known = activities_.find(step);
    if (known == activities_.end() && reads_left > 0) {
      --reads_left;
      const StepRecord* record = schedule_beside(step);
      // A step that cannot be read stays unknown and is not tried again.
      known = activities_.emplace(step, StepActivity{.step = step}).first;
      if (record != nullptr) known->second = activity_of(record->trace);
    }
    lacks_activities_ = lacks_activities_ || (known == activities_.end() && reads_left == 0 &&
                                              level() != RecordLevel::counts);
    found.push_back(known != activities_.end() ? known->second : StepActivity{.step = step});
  }
  return found;
}

const NamedStepArrays& RecordedRun::previous_arrays() {
  if (previous_read_) return previous_;
  previous_read_ = true;
  previous_ = {};
  const std::ptrdiff_t here = mark_index(marks_, step());
  if (here < 1 || level() != RecordLevel::full) return previous_;
  if (beside() == nullptr) return previous_;
  const auto record = beside()->read(marks_[static_cast<std::size_t>(here) - 1].step);
  if (!record.ok()) return previous_;
  RecordViews views(config());
  const WorkerTables no_tables(static_cast<std::int32_t>(config().kv_cache_config.groups.size()));
  previous_ = step_arrays(views.attach(*record.value(), no_tables));
  return previous_;
}

// What blocks hold after the shown step; null: it cannot be read.
const HeldBlocks* RecordedRun::held_blocks() {
  if (held_ != nullptr || is_unreadable_) return held_;
  const auto held = reader().held_blocks(step());
  if (held.ok()) return held_ = held.value();
  is_unreadable_ = true;
  const std::string trouble = "what blocks hold is not known: " + held.error().message;
  if (std::exchange(last_trouble_, trouble) != trouble) trouble_ = trouble;
  return nullptr;
}

// Tokens before the state, if the chunk that wrote it in the step ran on past it; 0: it did not.
std::int32_t RecordedRun::checkpoint_of(RequestId request, std::int64_t step,
                                        std::int32_t num_tokens) {
  auto known = prefill_chunks_.find(step);
  if (known == prefill_chunks_.end()) {
    if (prefill_chunks_.size() >= kMostPrefillSteps) prefill_chunks_.clear();
    known = prefill_chunks_.emplace(step, std::map<RequestId, RanChunk>()).first;
    if (const StepRecord* record = schedule_beside(step))
      for (const RowTrace& row : record->trace.rows)
        if (const auto chunk = prefill_chunk(record->trace, row))
          known->second.emplace(row.request, *chunk);
  }
  const auto chunk = known->second.find(request);
  return chunk != known->second.end() && chunk->second.passes(num_tokens) ? num_tokens : 0;
}

BlockFacts RecordedRun::block_facts(std::int32_t block) {
  BlockFacts facts;
  const HeldBlocks* held = level() == RecordLevel::counts ? nullptr : held_blocks();
  facts.label_known = held != nullptr;
  facts.writes_known = held != nullptr && level() == RecordLevel::full;
  if (held == nullptr) return facts;
  const HeldBlock& found = held->at(block);
  if (facts.writes_known) {
    facts.temporal = found.temporal;
    facts.conv = found.conv;
    facts.attention = found.attention;
  }
  const KVCacheConfig& cache = config().kv_cache_config;
  const bool stores = stores_checkpoints(cache);
  if (const WriteEvent& write = facts.temporal.event; stores && write.kind == WriteKind::prefill)
    facts.checkpoint = checkpoint_of(write.request, write.step, write.num_tokens);
  for (const RegisteredLabel& label : found.labels)
    note_prefix_end(facts, label.group, label.num_tokens, cache);
  if (found.labels.empty()) return facts;
  const RegisteredLabel& label = found.labels.front();
  facts.registered = true;
  facts.label_group = label.group;
  facts.label_num_tokens = label.num_tokens;
  facts.block_hash = label.block_hash;
  facts.registered_in = found.labels.back().step;
  // Without writes: it was registered while a chunk ran on past its prefix.
  const auto group = static_cast<std::size_t>(label.group);
  if (stores && !facts.writes_known && group < cache.groups.size() &&
      cache.groups[group].is_mamba())
    facts.checkpoint = checkpoint_of(label.request, label.step, label.num_tokens);
  return facts;
}

// They follow from the request's last row, the return of its frame, which is in the same step or
// the one after it, and a preemption since.
RequestCounts RecordedRun::counts_since(RequestId request, std::int64_t admitted) {
  RequestCounts counts;
  const auto own = beside() == nullptr ? std::nullopt : beside()->own_count(request, step() + 1);
  if (!own || own->step < admitted) return counts;
  std::set<std::int64_t> steps{own->step, requests_.preempted_in(request, step())};
  const auto row = static_cast<std::size_t>(mark_index(marks_, own->step));
  if (row + 1 < marks_.size()) steps.insert(marks_[row + 1].step);
  for (const std::int64_t part : steps)
    if (part >= own->step && part <= step())
      if (const StepRecord* record = schedule_beside(part))
        take_counts(record->trace, [&](RequestId of) { return of == request ? &counts : nullptr; });
  return counts;
}

Result<WriteChain> RecordedRun::write_chain(std::int32_t block, ContentKind content) {
  return reader().write_chain(block, content, step());
}

Result<std::unique_ptr<StepSource>> RecordedRun::source(With) const {
  return open_session_source(place_);
}

SessionHeader RecordedRun::header() const { return info().header; }

// A session that is being recorded counts as interrupted.
void RecordedRun::note_end() {
  end_ = info().status != SessionStatus::recording
             ? RunEnd{info().status, info().status_reason}
             : RunEnd{SessionStatus::interrupted, "its recording had not ended when it was copied"};
}

}  // namespace hybridscope
