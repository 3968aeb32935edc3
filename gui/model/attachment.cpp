#include "gui/model/attachment.h"

#include <fmt/core.h>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <system_error>
#include <utility>

#include "sessions/explain/explain_finding.h"
#include "sessions/record/session_plan.h"

namespace hybridscope {
namespace {

constexpr CheckScope kCheckScope = CheckScope::step;

}  // namespace

Attachment::Attachment(Options options)
    : options_(std::move(options)),
      input_(options_.place, [this] { return stop_.load(); }),
      lines_(input_),
      judged_(options_.place, kCheckScope),
      reader_([this] { read(); }) {}

Attachment::~Attachment() {
  stop_ = true;
  reader_.join();
  finish_session(SessionStatus::complete, "");
}

AttachStatus Attachment::status() const {
  const bool is_connected = input_.is_open();
  const std::int64_t outside = input_.bytes_waiting();
  const std::lock_guard lock(mutex_);
  AttachStatus status = status_;
  status.is_connected = is_connected;
  const double lines_outside =
      mean_line_bytes_ > 0 ? static_cast<double>(outside) / mean_line_bytes_ : 0;
  status.is_estimate = lines_outside >= 1;
  status.num_waiting += static_cast<std::int64_t>(lines_outside) - known_lines_ahead_;
  status.num_waiting = std::max<std::int64_t>(status.num_waiting, 0);
  return status;
}

std::vector<ArrivedHit> Attachment::take_hits() {
  const std::lock_guard lock(mutex_);
  return std::exchange(hits_, {});
}

void Attachment::set_hold_rules(HoldRules rules) {
  const std::lock_guard lock(mutex_);
  rules_ = std::move(rules);
  ++rules_version_;
}

Status Attachment::hold(const std::string& reason) {
  if (Status sent = input_.send("hold"); !sent.ok()) return sent;
  const std::lock_guard lock(mutex_);
  if (!status_.hold) status_.hold_asked_for = reason;
  return Ok{};
}

Status Attachment::resume() {
  if (Status sent = input_.send("continue"); !sent.ok()) return sent;
  const std::lock_guard lock(mutex_);
  status_.hold_asked_for.reset();
  return Ok{};
}

void Attachment::read() {
  while (!stop_) {
    const auto line = lines_.next();
    if (stop_) return;
    if (!line.ok()) return end_trace(line.error());
    try {
      take(line.value());
    } catch (const std::exception& fault) {  // a ContractViolation, or what nobody thought of
      return end_trace({ErrorKind::corrupt, fmt::format("internal error: {}", fault.what())});
    }
    note_waiting(lines_);
  }
}

void Attachment::take(const FollowedLine& line) {
  switch (line.kind) {
    case FollowedLine::Kind::trace:
      return take_trace_line(line);
    case FollowedLine::Kind::control:
      return take_control(line.control);
    case FollowedLine::Kind::ended:
      return take_end_of_stream();
  }
}

// The reason of a hold that was asked for from here is known better here.
void Attachment::take_control(const ControlLine& control) {
  const std::lock_guard lock(mutex_);
  if (control.kind == ControlLine::Kind::end) status_.has_end_mark = true;
  if (control.kind == ControlLine::Kind::full) status_.no_more = control.reason;
  if (control.kind != ControlLine::Kind::held && control.kind != ControlLine::Kind::running) return;
  const auto asked_for = std::exchange(status_.hold_asked_for, std::nullopt);
  status_.hold.reset();
  if (control.kind == ControlLine::Kind::held)
    status_.hold = {.step = control.step, .reason = asked_for.value_or(control.reason)};
}

void Attachment::take_end_of_stream() {
  known_.begin_again();
  const std::lock_guard lock(mutex_);
  status_.hold.reset();
  status_.hold_asked_for.reset();
  if (status_.state == AttachState::live) status_.state = AttachState::lost;
}

// Lines that are here already are left out. Where another line stands in their place, this is
// another trace, of which the lines that were left out are needed too.
void Attachment::take_trace_line(const FollowedLine& line) {
  switch (known_.take(line.text.text)) {
    case KnownLines::Is::news:
      break;
    case KnownLines::Is::known: {
      const std::lock_guard lock(mutex_);
      if (status_.state == AttachState::lost) status_.state = AttachState::live;
      return;
    }
    case KnownLines::Is::another: {
      const bool has_left_out = known_.position() > 0;
      known_.forget();
      if (has_left_out) return lines_.start_over();
      (void)known_.take(line.text.text);
    }
  }
  judge_line(line);
}

void Attachment::judge_line(const FollowedLine& line) {
  const auto judged = judged_.take(line.text, line.number);
  if (!judged.ok()) {
    if (!has_failed_) end_trace(judged.error());
    return;
  }
  Status done = Ok{};
  if (judged.value().step)
    done = add_step(*judged.value().step);
  else if (judged.value().kind == TraceLine::header)
    done = begin_trace(line.text.text);
  if (done.ok()) return;
  judged_.end();
  end_trace(done.error());
}

// The place of the next trace's session: a temporary file for each, or in the file to record to,
// where the second one cannot have the first one's name.
Result<SessionPlace> Attachment::next_place(std::shared_ptr<const void>& owner) const {
  if (options_.record.empty()) {
    auto folder = TemporaryFolder::make();
    if (!folder.ok()) return folder.error();
    SessionPlace place{.file = folder.value()->file("judged.db"), .name = "trace"};
    owner = std::move(folder).value();
    return place;
  }
  SessionPlace place = parse_session_place(options_.record);
  if (!place.name.empty() && status_.trace > 0) place.name += fmt::format("-{}", status_.trace + 1);
  return place;
}

Status Attachment::begin_trace(std::string_view header_line) {
  finish_session(SessionStatus::complete, "");
  std::shared_ptr<const void> owner;
  auto place = next_place(owner);
  if (!place.ok()) return place.error();
  const ForeignHeader& foreign = judged_.reader().header();
  SessionHeader header = judge_header({.source = judged_.file(),
                                       .engine = foreign.engine,
                                       .header_line = header_line,
                                       .config = foreign.config,
                                       .scope = kCheckScope});
  header.level = options_.level;
  auto recording = SessionSink::begin(std::move(header), judged_.names(),
                                      {.place = place.value(),
                                       .program = options_.program,
                                       .committed = [this](std::int64_t num_steps) {
                                         const std::lock_guard lock(mutex_);
                                         status_.num_written = num_steps;
                                       }});
  if (!recording.ok()) return recording.error();
  recording_ = std::move(recording).value();
  if (recording_->wants_writes()) judged_.log_writes();
  place.value().name = recording_->name();
  has_failed_ = false;
  const std::lock_guard lock(mutex_);
  status_.state = AttachState::live;
  status_.error.clear();
  status_.has_end_mark = false;
  status_.no_more.clear();
  status_.untold.clear();
  ++status_.trace;
  status_.engine = judged_.reader().header().engine;
  status_.session = std::move(place).value();
  status_.session_owner = std::move(owner);
  status_.num_judged = 0;
  status_.num_written = 0;
  status_.hold.reset();
  status_.hold_asked_for.reset();
  return Ok{};
}

Status Attachment::add_step(const CheckedStep& step) {
  if (const auto kept = recording_->take(step); !kept.ok()) return kept.error();
  {
    const std::lock_guard lock(mutex_);
    status_.state = AttachState::live;
    ++status_.num_judged;
    status_.untold = judged_.trace_judge().untold().words();
    status_.num_request_steps += static_cast<std::int64_t>(step.trace.rows.size());
  }
  check_rules(step);
  return Ok{};
}

void Attachment::check_rules(const CheckedStep& step) {
  {
    const std::lock_guard lock(mutex_);
    if (conditions_version_ != rules_version_) {
      conditions_version_ = rules_version_;
      holds_at_findings_ = rules_.at_findings;
      conditions_.clear();
      for (const std::string& text : rules_.breakpoints)
        conditions_.push_back(std::move(BreakCondition::parse(text)).value());
    }
  }
  const BreakStep asked{.trace = step.trace, .findings = step.findings, .writes = step.writes};
  for (BreakCondition& condition : conditions_)
    if (auto hit = condition.holds(asked, judged_.names().request))
      report_hit({.trace = 0,
                  .step = step.trace.step,
                  .breakpoint = condition.text(),
                  .words = std::move(hit->words),
                  .request = hit->request,
                  .block = hit->block,
                  .trouble = {}});
  if (!holds_at_findings_ || step.findings.empty()) return;
  const Finding& first = step.findings.front();
  report_hit({.trace = 0,
              .step = step.trace.step,
              .breakpoint = {},
              .words = explain_finding(first, judged_.names()),
              .request = first.request,
              .block = -1,
              .trouble = {}});
}

void Attachment::report_hit(ArrivedHit hit) {
  const std::string reason =
      hit.breakpoint.empty() ? hit.words : fmt::format("{}: {}", hit.breakpoint, hit.words);
  bool is_asked = false;
  {
    const std::lock_guard lock(mutex_);
    is_asked = status_.hold.has_value() || status_.hold_asked_for.has_value();
  }
  if (!is_asked)
    if (Status sent = hold(reason); !sent.ok()) hit.trouble = sent.error().message;
  const std::lock_guard lock(mutex_);
  hit.trace = status_.trace;
  hits_.push_back(std::move(hit));
}

void Attachment::note_waiting(const FollowedTrace& lines) {
  constexpr double kLeastShare = 0.01;
  const double share = std::max(1.0 / static_cast<double>(++lines_taken_), kLeastShare);
  const auto bytes = static_cast<double>(lines.bytes_taken() - bytes_taken_);
  bytes_taken_ = lines.bytes_taken();
  const std::lock_guard lock(mutex_);
  status_.num_waiting = lines.lines_waiting();
  mean_line_bytes_ += (bytes - mean_line_bytes_) * share;
  known_lines_ahead_ = static_cast<std::int64_t>(known_.count() - known_.position());
}

void Attachment::end_trace(const Error& error) {
  has_failed_ = true;
  finish_session(SessionStatus::failed, error.message);
  const std::lock_guard lock(mutex_);
  status_.state = AttachState::ended;
  status_.error = error.message;
}

// If the file cannot be written, or the writer broke, adding steps has said so.
void Attachment::finish_session(SessionStatus status, const std::string& reason) {
  try {
    if (recording_ != nullptr) (void)recording_->finish(status, reason);
  } catch (const std::exception&) {
  }
  recording_.reset();
}

Result<std::shared_ptr<TemporaryFolder>> TemporaryFolder::make() {
  std::error_code failure;
  const std::filesystem::path base = std::filesystem::temp_directory_path(failure);
  std::string name = (base / "hybridscope-XXXXXX").string();
  if (failure || ::mkdtemp(name.data()) == nullptr)
    return Error{ErrorKind::io, fmt::format("{}: no folder can be made there", base.string())};
  return std::shared_ptr<TemporaryFolder>(new TemporaryFolder(name));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace hybridscope
