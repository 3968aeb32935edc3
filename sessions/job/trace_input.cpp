#include "sessions/job/trace_input.h"

#include <utility>

#include "sessions/text/input_file.h"

namespace hybridscope {

Result<TraceInput> TraceInput::open(const std::string& path, std::function<bool()> stop) {
  TraceInput input;
  auto lines = LineSource::open(path, std::move(stop));
  if (!lines.ok()) return lines.error();
  input.lines_.emplace(std::move(lines).value());
  return input;
}

TraceInput TraceInput::follow(const std::string& place, std::function<bool()> stop,
                              std::function<void(std::string_view)> note) {
  TraceInput input;
  input.followed_ = std::make_unique<Followed>(place, std::move(stop), std::move(note));
  return input;
}

Result<std::optional<TraceInput::Line>> TraceInput::next() {
  if (followed_ != nullptr) return next_followed();
  const auto line = lines_->next();
  if (!line.ok()) return line.error();
  if (!line.value()) return std::optional<Line>();
  number_ = lines_->line_number();
  return std::optional(Line{.text = *line.value(), .number = number_});
}

Result<std::optional<TraceInput::Line>> TraceInput::next_followed() {
  while (!followed_->stop()) {
    const auto line = followed_->trace.next();
    if (!line.ok()) return line.error();
    switch (line.value().kind) {
      case FollowedLine::Kind::trace:
        number_ = line.value().number;
        is_within_trace_ = true;
        return std::optional(Line{.text = line.value().text, .number = number_});
      case FollowedLine::Kind::control:
        if (line.value().control.kind == ControlLine::Kind::end) is_within_trace_ = false;
        if (line.value().control.kind == ControlLine::Kind::full)
          followed_->note(line.value().control.reason);
        break;
      case FollowedLine::Kind::ended:
        if (followed_->stop()) return std::optional<Line>();
        if (!followed_->input.is_socket()) break;
        end_of_stream(line.value().is_cut);
        return std::optional<Line>();
    }
  }
  return std::optional<Line>();
}

void TraceInput::end_of_stream(bool is_cut) {
  if (is_cut)
    ended_early_ = "in the middle of a line";
  else if (is_within_trace_)
    ended_early_ = "without an end mark";
}

}  // namespace hybridscope
