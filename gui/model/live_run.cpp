#include "gui/model/live_run.h"
#include "gui/model/finding_chains.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "sessions/explain/explain_finding.h"
#include "sessions/live/fork.h"
#include "sessions/record/session_plan.h"
#include "sessions/record/step_recorder.h"
#include "sessions/run/drive.h"
#include "storage/session_rows.h"

namespace hybridscope {
namespace {

StepMark mark_of(const StepTrace& trace, std::span<const Finding> findings) {
  StepMark mark;
  mark.step = trace.step;
  const auto any = [&trace](CacheEventKind kind) {
    return std::ranges::find(trace.cache_events, kind, &CacheEvent::kind) !=
           trace.cache_events.end();
  };
  mark.copies = !trace.pre_copies.copies.empty() || !trace.post_copies.copies.empty() ||
                any(CacheEventKind::copied_from);
  mark.evicts = any(CacheEventKind::evicted);
  mark.preempts = !trace.preempted.empty();
  for (const Finding& finding : findings)
    (rule_info(finding.rule).severity == Severity::error ? mark.errs : mark.warns) = true;
  return mark;
}

// How the limit of the history is shared: two logs of writes, the lanes of the timeline, and
// snapshots of the engine. A log holds twice what it is told to while it grows.
constexpr std::size_t kPartOfOneLog = 16;
constexpr std::size_t kPartOfActivities = 32;
constexpr std::size_t kSixteenthsOfSnapshots = 11;

// What was never written has no fingerprint, whatever the checker keeps in its place.
HeldContent held_or_none(const WriteEvent& event, Fingerprint fingerprint) {
  return {event, event.kind == WriteKind::never ? 0 : fingerprint};
}

}  // namespace

LiveRun::LiveRun(RunPlan plan, const Options& options)
    : ShownRun(plan.name, RecordLevel::full),
      options_(options),
      log_({.num_blocks = plan.setup.config.kv_cache_config.num_blocks,
            .mamba_cache_mode = plan.setup.config.mamba_cache_mode}),
      cache_log_(plan_.emplace(std::move(plan)), names_) {}

Result<std::unique_ptr<LiveRun>> LiveRun::create(RunPlan plan, const Options& options) {
  std::unique_ptr<LiveRun> run(new LiveRun(std::move(plan), options));
  if (Status begun = run->begin(); !begun.ok()) return begun.error();
  return run;
}

Status LiveRun::begin() {
  LivePlayer::Options options;
  options.scope = options_.scope;
  options.logs_writes = options_.logs_writes;
  options.sinks = {this};
  auto player = LivePlayer::create(*plan_, std::move(options));
  if (!player.ok()) return player.error();
  player_ = std::move(player).value();
  names_ = make_names(config(), [this](RequestId request) { return name_of(request); });
  note_end();
  return Ok{};
}

void LiveRun::note_end() {
  end_.reset();
  if (!player_->done()) return;
  end_.emplace();
  if (player_->run().end() == EndReason::no_progress)
    end_ = RunEnd{SessionStatus::stopped, "it cannot progress"};
}

// Panels and files also name requests that arrive after the shown step, which the engine no longer
// knows after going back.
std::string LiveRun::name_of(RequestId request) const {
  const auto index = static_cast<std::size_t>(request.value);
  return index < request_names_.size() ? request_names_[index]
                                       : player_->run().engine().name_of(request);
}

Result<Going> LiveRun::take(const CheckedStep& step) {
  const Engine& engine = player_->run().engine();
  for (auto next = static_cast<std::int32_t>(request_names_.size()); next < engine.num_requests();
       ++next)
    request_names_.push_back(engine.name_of({next}));
  log_.take(step.trace, step.writes);
  note_registrations(step.trace);
  marks_.push_back(mark_of(step.trace, step.findings));
  activities_.take(activity_of(step.trace));
  requests_.take(step.trace);
  for (const ScheduledTrace& scheduled : step.trace.scheduled)
    if (scheduled.checkpoint_position > 0)
      checkpoints_[{step.trace.step, scheduled.request}] = scheduled.checkpoint_position;
  cache_log_.take(step.trace);
  take_findings(step);
  return Going::on;
}

// While the step is at hand, the decision behind a chain that begins in it is found.
void LiveRun::take_findings(const CheckedStep& step) {
  const std::size_t before = findings().size();
  note_findings(step.findings);
  if (findings().size() == before) return;
  const std::vector<FindingChain> chains = finding_log_.chains();
  for (std::size_t i = before; i < chains.size(); ++i)
    if (is_first_of(chains[i], i))
      note_decision(i, step.trace,
                    player_->own_counts().before(step.trace.step, findings()[i].finding.request));
}

void LiveRun::note_registrations(const StepTrace& trace) {
  registrations_.resize(static_cast<std::size_t>(config().kv_cache_config.num_blocks));
  for (const auto* events : {&trace.cache_events, &trace.commit_events})
    for (const CacheEvent& event : *events)
      if (event.kind == CacheEventKind::registered && event.block >= 0)
        registrations_[static_cast<std::size_t>(event.block)].push_back(
            static_cast<std::int32_t>(trace.step));
}

std::int64_t LiveRun::registered_in(std::int32_t block) const {
  const std::vector<std::int32_t>& steps = registrations_[static_cast<std::size_t>(block)];
  const auto behind = std::upper_bound(steps.begin(), steps.end(), step());
  return behind == steps.begin() ? 0 : *(behind - 1);
}

Result<bool> LiveRun::make_next() {
  if (player_->done()) return false;
  NamedStepArrays before = arrays_here();
  if (Status moved = player_->step(); !moved.ok()) return moved.error();
  previous_ = std::move(before);
  note_end();
  return true;
}

NamedStepArrays LiveRun::arrays_here() const {
  return step() == 0 ? NamedStepArrays() : step_arrays(player_->trace());
}

// Moves via the step before it.
Status LiveRun::show(std::int64_t known) {
  if (known == step()) return Ok{};
  const auto steps = player_->known_steps();
  const auto at = std::lower_bound(steps.begin(), steps.end(), known);
  NamedStepArrays before;
  previous_ = {};
  if (at != steps.begin()) {
    if (Status moved = player_->go_to(*std::prev(at)); !moved.ok()) return moved;
    before = arrays_here();
  }
  if (Status moved = player_->go_to(known); !moved.ok()) return moved;
  previous_ = std::move(before);
  return Ok{};
}

std::optional<std::int64_t> LiveRun::begin_go_to(std::int64_t step) {
  const auto known = player_->known_steps();
  const auto behind = std::upper_bound(known.begin(), known.end(), step);
  if (behind == known.begin() || step > last_known_step()) return std::nullopt;
  const std::int64_t target = *(behind - 1);
  if (player_->num_steps_to(target) <= kMostStepsAtOnce) return std::nullopt;
  if (!player_->begin_go_to(target).ok()) return std::nullopt;
  previous_ = {};
  return target;
}

// A step that made no progress may be different with another plan.
bool LiveRun::continue_with(const RunPlan& plan, std::int64_t step) {
  const auto known = player_->known_steps();
  const auto at = std::lower_bound(known.begin(), known.end(), step);
  if (at == known.end() || *at != step || num_agreed_steps(*plan_, plan) < step) return false;
  const auto number = static_cast<std::size_t>(at - known.begin());
  const std::int64_t before = this->step();
  if (!show(step).ok() || !player_->can_continue()) {
    (void)go_to(before);
    return false;
  }
  player_->continue_with(plan);
  plan_ = plan;
  title_ = plan.name;
  coming_behind_ = -1;
  log_.forget_after(step);
  older_log_.reset();
  for (auto& steps : registrations_)
    while (!steps.empty() && steps.back() > step) steps.pop_back();
  marks_.resize(number + 1);
  activities_.forget_from(number + 1);
  requests_.forget_after(step);
  std::erase_if(checkpoints_, [step](const auto& stored) { return stored.first.first > step; });
  cache_log_.forget_after(step);
  finding_log_.forget_after(step);
  block_faults_.forget_after(step);
  request_names_.resize(static_cast<std::size_t>(player_->run().engine().num_requests()));
  note_end();
  if (speech_ != nullptr) speech_->continue_with(*plan_, step);
  return true;
}

void LiveRun::speak_with(const std::shared_ptr<const LanguageModel>& speaking) {
  if (speaking == (speech_ == nullptr ? nullptr : speech_->speaking())) return;
  speech_ = speaking == nullptr ? nullptr
                                : std::make_unique<LiveSpeech>(speaking, *plan_, options_.scope);
}

bool LiveRun::load_more() {
  if (speech_ == nullptr) return false;
  speech_->want(step());
  return speech_->take();
}

ShownSpeech LiveRun::speech() {
  if (speech_ == nullptr)
    return {.why = "This run is shown without a language model: run.weights gives it one."};
  return {.speech = speech_->speech(),
          .is_awaited = speech_->is_busy() || speech_->lacks(step()),
          .why = speech_->trouble()};
}

std::vector<StepActivity> LiveRun::activities(std::size_t first, std::size_t count) {
  std::vector<StepActivity> found;
  for (std::size_t number = first; number < first + count; ++number) {
    const StepActivity* activity = activities_.find(number);
    const std::int64_t step = marks_[number].step;
    found.push_back(activity != nullptr    ? *activity
                    : step == this->step() ? activity_of(player_->trace())
                                           : StepActivity{.step = step});
  }
  return found;
}

StepView LiveRun::view() const {
  return {.trace = player_->trace(),
          .config = config(),
          .names = names_,
          .scheduler_tables = player_->tables().scheduler(),
          .worker_tables = player_->tables().worker(),
          .findings = player_->findings(),
          .writes = player_->writes(),
          .worker_changes = player_->worker_changes()};
}

BlockFacts LiveRun::block_facts(std::int32_t block) {
  const CheckState& state = player_->run().state();
  const BlockLabel& label = state.labels[static_cast<std::size_t>(block)];
  const auto last_of_window = static_cast<std::size_t>(state.config.conv_kernel - 2);
  const WriteEvent& write = state.state.temporal(block).event;
  const auto stored = write.kind == WriteKind::prefill
                          ? checkpoints_.find({write.step, write.request})
                          : checkpoints_.end();
  BlockFacts facts{
      .registered = label.registered,
      .label_group = label.group,
      .label_num_tokens = label.num_tokens,
      .block_hash = label.block_hash,
      .registered_in = label.registered ? registered_in(block) : 0,
      .temporal =
          held_or_none(state.state.temporal(block).event, state.state.temporal(block).fingerprint),
      .conv = held_or_none(state.state.conv_event(block), state.state.conv(block)[last_of_window]),
      .attention =
          held_or_none(state.state.attention(block).event, state.state.attention(block).last),
      .checkpoint = stored != checkpoints_.end() && stored->second == write.num_tokens
                        ? write.num_tokens
                        : 0};
  const KVCacheConfig& cache = config().kv_cache_config;
  if (label.registered) note_prefix_end(facts, label.group, label.num_tokens, cache);
  for (const auto& [labelled, more] : state.more_labels)
    if (labelled == block) note_prefix_end(facts, more.group, more.num_tokens, cache);
  return facts;
}

Result<WriteChain> LiveRun::write_chain(std::int32_t block, ContentKind content) {
  const SymbolicState& state = player_->run().state().state;
  const WriteEvent& last = content == ContentKind::temporal ? state.temporal(block).event
                           : content == ContentKind::conv   ? state.conv_event(block)
                                                            : state.attention(block).event;
  WriteChain chain;
  if (last.kind == WriteKind::never) return chain;
  WriteLog::Search from = log_.last(block, content, last.step);
  log_.follow(from, chain);
  const WriteLog* log = &log_;
  for (int i = 0; i < kMostLogsAgain && chain.end == ChainEnd::cut; ++i) {
    log = log_before(std::min(log->first_step(), from.step + 1));
    if (log == nullptr) break;
    log->follow(from, chain);
  }
  return chain;
}

// The log of the steps before this one, which are run again; null: there are too many.
const WriteLog* LiveRun::log_before(std::int64_t step) {
  if (older_log_ && older_log_end_ == step) return &*older_log_;
  if (std::ranges::lower_bound(marks_, step, {}, &StepMark::step) - marks_.begin() >
      kMostStepsAgain)
    return nullptr;
  auto run = CheckedRun::create(*plan_, {.check = options_.scope});
  if (!run.ok()) return nullptr;
  run.value().log_writes();
  WriteLog& log =
      older_log_.emplace(WriteLog::Options{.num_blocks = config().kv_cache_config.num_blocks,
                                           .mamba_cache_mode = config().mamba_cache_mode});
  log.set_capacity(log_.capacity());
  older_log_end_ = step;
  std::int64_t made = 0;
  (void)drive(
      run.value(),
      [&](const CheckedStep& again) {
        made = again.trace.step;
        if (made < step) log.take(again.trace, again.writes);
      },
      [&] { return made + 1 >= step; });
  return &log;
}

void LiveRun::limit_history(std::size_t bytes) {
  if (bytes == history_limit_) return;
  history_limit_ = bytes;
  log_.set_capacity(WriteLog::capacity_for(bytes / kPartOfOneLog));
  activities_.set_limit(bytes / kPartOfActivities / sizeof(RequestActivity));
  constexpr std::size_t kMostSnapshots = 32;
  player_->set_max_snapshots(std::min(
      kMostSnapshots, bytes / 16 * kSixteenthsOfSnapshots / LivePlayer::snapshot_bytes(config())));
}

std::size_t LiveRun::history_bytes() const {
  return log_.bytes() + (older_log_ ? older_log_->bytes() : 0) + activities_.bytes() +
         player_->num_snapshots() * LivePlayer::snapshot_bytes(config());
}

Status LiveRun::set_bookmark(std::int64_t step, std::string_view note) {
  if (Status fits = check_note(note); !fits.ok()) return fits;
  if (mark_index(marks_, step) < 0)
    return Error{ErrorKind::not_found, fmt::format("there is no step {}", step)};
  const auto behind =
      std::upper_bound(bookmarks_.begin(), bookmarks_.end(), step,
                       [](std::int64_t wanted, const auto& mark) { return wanted < mark.step; });
  if (behind != bookmarks_.begin() && std::prev(behind)->step == step)
    std::prev(behind)->note = note;
  else
    bookmarks_.insert(behind, {.step = step, .note = std::string(note)});
  return Ok{};
}

Status LiveRun::remove_bookmarks(std::int64_t step) {
  if (std::erase_if(bookmarks_, [step](const auto& mark) { return mark.step == step; }) > 0)
    return Ok{};
  return Error{ErrorKind::not_found, fmt::format("step {} has no bookmark", step)};
}

Result<std::unique_ptr<StepSource>> LiveRun::source(With with) const {
  const bool speaks = with == With::speech && speech_ != nullptr && speech_->speech() != nullptr;
  CheckedRunOptions options;
  options.check = options_.scope;
  if (speaks) options = speaking_options(*speech_->speaking(), options_.scope);
  auto source = LiveSource::create(*plan_, RecordLevel::full, title(), std::move(options));
  if (!source.ok()) return source.error();
  return std::unique_ptr<StepSource>(std::move(source).value());
}

SessionHeader LiveRun::header() const {
  SessionHeader header = run_header(*plan_, options_.scope);
  header.level = RecordLevel::full;
  if (speech_ != nullptr && speech_->speech() != nullptr)
    header.language = speech_->speech()->info();
  return header;
}

ComingStep LiveRun::look_ahead() {
  if (coming_behind_ == step()) return coming_;
  coming_behind_ = step();
  coming_ = {};
  ++num_looked_ahead_;
  CheckedRun run = player_->run().clone();
  const auto made = run.step();
  if (!made.ok()) return coming_;
  coming_ = {.known = true, .activity = activity_of(made.value().trace), .names = {}};
  for (const RequestActivity& activity : coming_.activity.requests)
    coming_.names.push_back(run.engine().name_of(activity.request));
  return coming_;
}

}  // namespace hybridscope
