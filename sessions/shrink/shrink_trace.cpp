#include "sessions/shrink/shrink_trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "sessions/explain/explain_finding.h"
#include "sessions/shrink/scenario_edits.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

// A line as text and as JSON.
struct TraceText {
  std::string text;
  Json json;
};
using Lines = std::vector<TraceText>;

bool is_error(const TracedFinding& finding) {
  return rule_info(finding.rule).severity == Severity::error;
}

std::vector<std::string> requests_of(const Lines& lines) {
  std::vector<std::string> names;
  for (const TraceText& line : lines)
    for (std::string& name : traced_requests(line.json))
      if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  return names;
}

TraceSize size_of(const Lines& lines) {
  TraceSize size;
  size.lines = static_cast<std::int64_t>(lines.size());
  size.requests = static_cast<std::int64_t>(requests_of(lines).size());
  for (const TraceText& line : lines) {
    const auto output = line.json.find("scheduler_output");
    if (output == line.json.end() || !output->contains("num_scheduled_tokens")) continue;
    size.request_steps += static_cast<std::int64_t>((*output)["num_scheduled_tokens"].size());
  }
  return size;
}

class TraceShrinker {
 public:
  TraceShrinker(std::string file, const ShrinkOptions& options)
      : file_(std::move(file)), options_(options) {}

  // Reads up to the finding. Error: there is nothing to shrink.
  Status begin(LineSource& source) {
    LineJudge judge(file_, options_.scope);
    ++num_runs_;
    bool any = false;
    while (!wanted_) {
      const auto line = source.next();
      if (!line.ok()) return line.error();
      if (!line.value() || !goes_on()) break;
      const auto kind = judge.take(*line.value(), source.line_number());
      if (!kind.ok()) return kind.error();
      if (kind.value() == TraceLine::empty) continue;
      if (kind.value() == TraceLine::header) {
        best_.clear();
        errors_.clear();
      }
      any = true;
      std::string text(line.value()->text);
      Json json = Json::parse(text, nullptr, false);
      if (json.is_discarded())
        return Error{ErrorKind::corrupt,
                     fmt::format("{}:{}: expected JSON that can be written again", file_,
                                 source.line_number())};
      best_.push_back({.text = std::move(text), .json = std::move(json)});
      take_findings(judge.found(), source.line_number());
    }
    if (!any && more())
      return invalid_input(fmt::format("{}: no trace in it, expected a header line", file_));
    if (!wanted_)
      return Error{ErrorKind::not_found,
                   fmt::format("{}no finding {}", more() ? "" : "interrupted: ",
                               options_.rule ? rule_info(*options_.rule).slug
                                             : std::string_view("of severity error"))};
    first_size_ = size_of(best_);
    return Ok{};
  }

  void run() {
    for (bool smaller = true; smaller && more();) {
      smaller = reduce_list(
          requests_of(best_).size(),
          [&](std::size_t first, std::size_t count) {
            return drop_requests_at({first, count});
          },
          [this] { return more(); });
      smaller = drop_idle_lines() || smaller;
    }
  }

  ShrunkTrace result() const {
    ShrunkTrace shrunk;
    for (const TraceText& line : best_) shrunk.lines.push_back(line.text);
    shrunk.rule = wanted_->traced.rule;
    shrunk.violation_step = wanted_->traced.step;
    shrunk.text = wanted_->text;
    shrunk.line = line_;
    shrunk.size_before = first_size_;
    shrunk.size_after = size_of(best_);
    shrunk.num_runs = num_runs_;
    shrunk.end = end_;
    return shrunk;
  }

 private:
  bool more() const { return end_ == ShrinkEnd::smallest; }
  bool goes_on() {
    if (options_.go_on && !options_.go_on({.num_runs = num_runs_})) end_ = ShrinkEnd::interrupted;
    return more();
  }
  bool is_wanted(const TracedFinding& finding) const {
    return options_.rule ? finding.rule == *options_.rule : is_error(finding);
  }
  // Adds a step's findings of the original trace; returns whether the step has the finding.
  bool take_findings(const std::vector<FoundInTrace>& found, std::int64_t line) {
    for (const FoundInTrace& one : found) {
      if (is_error(one.traced)) errors_.insert(one.traced);
      if (wanted_ || !is_wanted(one.traced)) continue;
      wanted_ = one;
      line_ = line;
    }
    return wanted_.has_value();
  }
  // The finding's words, if the candidate has it and no error that the trace does not have.
  std::optional<std::string> holds(const Lines& candidate) {
    ++num_runs_;
    LineJudge judge(file_, options_.scope);
    std::optional<std::string> words;
    for (std::size_t i = 0; i < candidate.size(); ++i) {
      if (!goes_on()) return std::nullopt;
      const auto kind = judge.take(candidate[i].text, static_cast<std::int64_t>(i + 1));
      if (!kind.ok()) return std::nullopt;
      for (const FoundInTrace& found : judge.found()) {
        if (is_error(found.traced) && !errors_.contains(found.traced)) return std::nullopt;
        if (!words && found.traced == wanted_->traced) words = found.text;
      }
    }
    return words;
  }

  bool try_keep(Lines candidate) {
    if (!more()) return false;
    if (num_runs_ >= options_.max_runs) {
      end_ = ShrinkEnd::run_limit;
      return false;
    }
    auto words = holds(candidate);
    if (!words) return false;
    wanted_->text = std::move(*words);
    best_ = std::move(candidate);
    return true;
  }

  bool drop_requests_at(ListPart part) {
    const std::vector<std::string> names = requests_of(best_);
    const auto first = names.begin() + static_cast<std::ptrdiff_t>(part.first);
    const std::set<std::string> gone(first, first + static_cast<std::ptrdiff_t>(part.count));
    if (gone.contains(wanted_->traced.request)) return false;
    for (const TracedBatch batch :
         {TracedBatch::without_metadata, TracedBatch::without_metadata_and_graph}) {
      Lines candidate = best_;
      for (TraceText& line : candidate)
        if (drop_requests(
                line.json, [&](const std::string& name) { return gone.contains(name); }, batch))
          line.text = line.json.dump(-1, ' ', false, Json::error_handler_t::replace);
      if (try_keep(std::move(candidate))) return true;
    }
    return false;
  }

  // Removes lines that schedule no request, except for the header and the line with the finding.
  bool drop_idle_lines() {
    std::vector<std::size_t> idle;
    for (std::size_t i = 1; i + 1 < best_.size(); ++i)
      if (!schedules_somebody(best_[i].json)) idle.push_back(i);
    return reduce_list(
        idle.size(),
        [&](std::size_t first, std::size_t count) {
          Lines candidate;
          for (std::size_t i = 0; i < best_.size(); ++i)
            if (std::find(idle.begin() + static_cast<std::ptrdiff_t>(first),
                          idle.begin() + static_cast<std::ptrdiff_t>(first + count),
                          i) == idle.begin() + static_cast<std::ptrdiff_t>(first + count))
              candidate.push_back(best_[i]);
          if (!try_keep(std::move(candidate))) return false;
          idle.erase(idle.begin() + static_cast<std::ptrdiff_t>(first),
                     idle.begin() + static_cast<std::ptrdiff_t>(first + count));
          for (std::size_t i = first; i < idle.size(); ++i) idle[i] -= count;
          return true;
        },
        [this] { return more(); });
  }

  std::string file_;
  const ShrinkOptions& options_;
  Lines best_;
  std::set<TracedFinding> errors_;  // of the original trace up to the finding
  std::optional<FoundInTrace> wanted_;
  TraceSize first_size_;
  std::int64_t line_ = 0;
  std::int64_t num_runs_ = 0;
  ShrinkEnd end_ = ShrinkEnd::smallest;
};

}  // namespace

LineJudge::LineJudge(std::string file, CheckScope scope) : trace_(std::move(file), scope) {}

Result<TraceLine> LineJudge::take(const std::string& text, std::int64_t line) {
  return keep(trace_.take(std::string_view(text), line));
}

Result<TraceLine> LineJudge::take(PaddedLine text, std::int64_t line) {
  return keep(trace_.take(text, line));
}

TracedFinding LineJudge::traced(const Finding& finding) const {
  const auto name = [&](RequestId request) {
    return request.value < 0 ? std::string() : trace_.names().request(request);
  };
  const WriteEvent& cause = finding.cause;
  const bool has_cause = cause.kind != WriteKind::never;
  return {.rule = finding.rule,
          .step = finding.step,
          .request = name(finding.request),
          .numbers = {finding.group, static_cast<std::int64_t>(finding.content), finding.column,
                      finding.block, finding.expected, finding.seen,
                      static_cast<std::int64_t>(cause.kind), has_cause ? cause.step : 0,
                      has_cause ? cause.num_tokens : 0},
          .detail = std::string(finding.detail),
          .cause_request = has_cause ? name(cause.request) : std::string()};
}

Result<TraceLine> LineJudge::keep(const Result<JudgedLine>& taken) {
  found_.clear();
  if (!taken.ok()) return taken.error();
  const auto& [kind, step] = taken.value();
  if (!step) return kind;
  for (const Finding& finding : step->findings)
    found_.push_back({.traced = traced(finding), .text = explain_finding(finding, trace_.names())});
  return kind;
}

Result<ShrunkTrace> shrink_trace(LineSource& source, const std::string& file,
                                 const ShrinkOptions& options) {
  TraceShrinker shrinker(file, options);
  if (Status begun = shrinker.begin(source); !begun.ok()) return begun.error();
  shrinker.run();
  return shrinker.result();
}

namespace {

using Json = nlohmann::ordered_json;
using Dropped = std::function<bool(const std::string&)>;

// The member, or null; `Object` is Json or const Json.
template <class Object>
Object* member(Object& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

bool is_dropped(const Json& name, const Dropped& dropped) {
  return name.is_string() && dropped(name.get_ref<const std::string&>());
}

// Removes the elements of an array for which `drop` is true.
template <class Drop>
bool drop_elements(Json* array, const Drop& drop) {
  if (array == nullptr || !array->is_array()) return false;
  Json kept = Json::array();
  for (Json& element : *array)
    if (!drop(element)) kept.push_back(std::move(element));
  const bool changed = kept.size() != array->size();
  *array = std::move(kept);
  return changed;
}

bool drop_names(Json* names, const Dropped& dropped) {
  return drop_elements(names, [&](const Json& name) { return is_dropped(name, dropped); });
}

// Removes objects by their member req_id.
bool drop_objects(Json* objects, const Dropped& dropped) {
  return drop_elements(objects, [&](const Json& object) {
    const Json* name = member(object, "req_id");
    return name != nullptr && is_dropped(*name, dropped);
  });
}

bool drop_keys(Json* map, const Dropped& dropped) {
  if (map == nullptr || !map->is_object()) return false;
  Json kept = Json::object();
  for (auto& [key, value] : map->items())
    if (!dropped(key)) kept[key] = value;
  const bool changed = kept.size() != map->size();
  *map = std::move(kept);
  return changed;
}

// Removes entries of req_ids and of the lists parallel to it; `apart` names a list that is not
// parallel.
bool drop_parallel(Json* lists, const Dropped& dropped, std::string_view apart = {}) {
  if (lists == nullptr) return false;
  const Json* names = member(*lists, "req_ids");
  if (names == nullptr || !names->is_array()) return false;
  const Json req_ids = *names;
  bool changed = false;
  for (auto& [key, list] : lists->items()) {
    if (key == apart || !list.is_array() || list.size() != req_ids.size()) continue;
    std::size_t i = 0;
    changed =
        drop_elements(&list, [&](const Json&) { return is_dropped(req_ids[i++], dropped); }) ||
        changed;
  }
  return changed;
}

void add_name(const Json& name, std::vector<std::string>& names) {
  if (!name.is_string()) return;
  const auto& text = name.get_ref<const std::string&>();
  if (std::ranges::find(names, text) == names.end()) names.push_back(text);
}

void add_names(const Json* list, std::vector<std::string>& names) {
  if (list == nullptr || !list->is_array()) return;
  for (const Json& name : *list) add_name(name, names);
}

}  // namespace

std::vector<std::string> traced_requests(const Json& step) {
  std::vector<std::string> names;
  const Json* output = member(step, "scheduler_output");
  if (output == nullptr) return names;
  if (const Json* admitted = member(*output, "scheduled_new_reqs"))
    for (const Json& request : *admitted)
      if (const Json* name = member(request, "req_id")) add_name(*name, names);
  if (const Json* cached = member(*output, "scheduled_cached_reqs"))
    add_names(member(*cached, "req_ids"), names);
  add_names(member(*output, "finished_req_ids"), names);
  add_names(member(*output, "preempted_req_ids"), names);
  return names;
}

bool schedules_somebody(const Json& step) {
  const Json* output = member(step, "scheduler_output");
  const Json* counts = output == nullptr ? nullptr : member(*output, "num_scheduled_tokens");
  return counts != nullptr && !counts->empty();
}

bool drop_requests(Json& step, const Dropped& dropped, TracedBatch batch) {
  bool changed = false;
  if (Json* output = member(step, "scheduler_output")) {
    changed |= drop_objects(member(*output, "scheduled_new_reqs"), dropped);
    if (Json* cached = member(*output, "scheduled_cached_reqs")) {
      changed |= drop_names(member(*cached, "resumed_req_ids"), dropped);
      changed |= drop_parallel(cached, dropped, "resumed_req_ids");
    }
    changed |= drop_keys(member(*output, "num_scheduled_tokens"), dropped);
    changed |= drop_keys(member(*output, "scheduled_spec_decode_tokens"), dropped);
    changed |= drop_names(member(*output, "finished_req_ids"), dropped);
    changed |= drop_names(member(*output, "preempted_req_ids"), dropped);
    changed |= drop_objects(member(*output, "kv_cache_block_copies"), dropped);
  }
  changed |= drop_keys(member(step, "scheduler_block_ids"), dropped);
  changed |= drop_keys(member(step, "num_cached_block"), dropped);
  changed |= drop_keys(member(step, "num_drafts_offered"), dropped);
  changed |= drop_keys(member(step, "num_drafts_proposed"), dropped);
  changed |= drop_names(member(step, "preempted_by_command"), dropped);
  changed |= drop_objects(member(step, "prefill_checkpoints"), dropped);
  for (const char* time : {"block_hashes", "block_hashes_after_output"})
    if (Json* hashes = member(step, time))
      changed |= drop_objects(member(*hashes, "registered"), dropped);
  changed |= drop_objects(member(step, "preprocess_copies"), dropped);
  changed |= drop_objects(member(step, "postprocess_copies"), dropped);
  changed |= drop_parallel(member(step, "model_runner_output"), dropped);
  if (!drop_parallel(member(step, "input_batch"), dropped)) return changed;
  step.erase("attn_metadata");
  if (batch == TracedBatch::without_metadata_and_graph) step.erase("cudagraph");
  return true;
}

}  // namespace hybridscope
