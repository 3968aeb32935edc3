#include "gui/model/attachment.h"

#include <fmt/core.h>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <system_error>
#include <utility>

#include "sessions/explain/explain_finding.h"

namespace hybridscope {

Attachment::Attachment(Options options)
    : options_(std::move(options)),
      input_(options_.place, [this] { return stop_.load(); }),
      lines_(input_),
      judging_{
          .input = options_.place,
          .follow = true,
          .finds_causes = false,
          .files = {.record = {.place = options_.record,
                               .level = options_.level,
                               .begun = [this](const SessionPlace& place) { begin_trace(place); },
                               .committed =
                                   [this](std::int64_t num_steps) {
                                     const std::lock_guard lock(mutex_);
                                     status_.num_written = num_steps;
                                   }}}},
      session_(judging_),
      reader_([this] { read(); }) {}

Attachment::~Attachment() {
  stop_ = true;
  reader_.join();
  finish(SessionStatus::complete, "");
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
  session_.add(*this);
  if (options_.record.empty()) {
    auto folder = TemporaryFolder::make();
    if (!folder.ok()) return end_trace(folder.error());
    judging_.files.record.place = folder.value()->file("judged.db") + ":trace";
    folder_ = std::move(folder).value();
  }
  while (!stop_ && !is_unreadable_) {
    try {
      const Status judged = judge_lines(judging_, *this, session_, [this] { return !stop_; });
      if (!judged.ok() && !has_failed_) end_trace(judged.error());
    } catch (const std::exception& fault) {  // a ContractViolation, or what nobody thought of
      return end_trace({ErrorKind::corrupt, fmt::format("internal error: {}", fault.what())});
    }
  }
}

Result<std::optional<TraceLines::Line>> Attachment::next() {
  for (;;) {
    note_waiting();
    const auto line = lines_.next();
    if (stop_) return std::optional<Line>();
    if (!line.ok()) {
      is_unreadable_ = true;
      return line.error();
    }
    switch (line.value().kind) {
      case FollowedLine::Kind::trace:
        if (!is_news(line.value())) break;
        line_number_ = line.value().number;
        return std::optional(Line{.text = line.value().text, .number = line_number_});
      case FollowedLine::Kind::control: take_control(line.value().control); break;
      case FollowedLine::Kind::ended: take_end_of_stream(); break;
    }
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
bool Attachment::is_news(const FollowedLine& line) {
  switch (known_.take(line.text.text)) {
    case KnownLines::Is::news: break;
    case KnownLines::Is::known: {
      const std::lock_guard lock(mutex_);
      if (status_.state == AttachState::lost) status_.state = AttachState::live;
      return false;
    }
    case KnownLines::Is::another: {
      const bool has_left_out = known_.position() > 0;
      known_.forget();
      if (has_left_out) {
        lines_.start_over();
        return false;
      }
      (void)known_.take(line.text.text);
    }
  }
  return true;
}

void Attachment::begin_trace(const SessionPlace& place) {
  has_failed_ = false;
  const std::lock_guard lock(mutex_);
  status_.state = AttachState::live;
  status_.error.clear();
  status_.has_end_mark = false;
  status_.no_more.clear();
  status_.untold.clear();
  ++status_.trace;
  status_.engine = session_.report().traces.back().engine;
  status_.session = place;
  status_.session_owner = folder_;
  status_.num_judged = 0;
  status_.num_written = 0;
  status_.hold.reset();
  status_.hold_asked_for.reset();
}

Result<Going> Attachment::take(const CheckedStep& step) {
  {
    const std::lock_guard lock(mutex_);
    status_.state = AttachState::live;
    ++status_.num_judged;
    status_.untold = session_.report().traces.back().untold;
    status_.num_request_steps += static_cast<std::int64_t>(step.trace.rows.size());
  }
  check_rules(step);
  return Going::on;
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
    if (auto hit = condition.holds(asked, session_.names().request))
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
              .words = explain_finding(first, session_.names()),
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

// What is known before the next line is waited for.
void Attachment::note_waiting() {
  constexpr double kLeastShare = 0.01;
  const std::lock_guard lock(mutex_);
  status_.num_waiting = lines_.lines_waiting();
  known_lines_ahead_ = static_cast<std::int64_t>(known_.count() - known_.position());
  const std::int64_t bytes =
      lines_.bytes_taken() - std::exchange(bytes_taken_, lines_.bytes_taken());
  if (bytes == 0) return;
  const double share = std::max(1.0 / static_cast<double>(++lines_taken_), kLeastShare);
  mean_line_bytes_ += (static_cast<double>(bytes) - mean_line_bytes_) * share;
}

void Attachment::end_trace(const Error& error) {
  has_failed_ = true;
  finish(SessionStatus::failed, error.message);
  session_.forget_file_failure();
  const std::lock_guard lock(mutex_);
  status_.state = AttachState::ended;
  status_.error = error.message;
}

// If the file cannot be written, or the writer broke, adding steps has said so.
void Attachment::finish(SessionStatus status, const std::string& reason) {
  try {
    session_.finish(status, reason);
  } catch (const std::exception&) {
  }
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
