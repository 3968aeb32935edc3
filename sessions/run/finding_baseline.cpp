#include "sessions/run/finding_baseline.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "sessions/explain/explain_finding.h"
#include "sessions/text/json_reader.h"
#include "sessions/text/json_value.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

constexpr IntegerRange kSteps = {.min = 1, .max = std::numeric_limits<std::int32_t>::max()};
constexpr IntegerRange kGroups = {.min = 0, .max = std::numeric_limits<std::int32_t>::max()};

struct StepRange {
  std::int64_t first = 1;
  std::int64_t last = 1;
};

// 4: step 4; [7, 9]: the steps 7, 8 and 9.
StepRange read_range(const JsonValue& element) {
  if (!element.is_array()) {
    const std::int64_t step = element.int64(kSteps);
    return {step, step};
  }
  const auto ends = element.elements();
  if (ends.size() != 2) element.expected("the first and the last step");
  const StepRange range = {ends[0].int64(kSteps), ends[1].int64(kSteps)};
  if (range.last < range.first)
    element.fail(fmt::format("step {} comes before step {}", range.last, range.first));
  return range;
}

// [4, [7, 9]]: the steps 4, 7, 8 and 9. `left`: how many more the file may have, so that a few
// bytes ask for no memory.
std::vector<std::int64_t> read_steps(const JsonValue& place, std::int64_t& left) {
  std::vector<std::int64_t> steps;
  for (const JsonValue& element : place.elements()) {
    const StepRange range = read_range(element);
    left -= range.last - range.first + 1;
    if (left < 0)
      element.fail(
          fmt::format("more than {} steps in the file", grouped_number(kMostBaselineSteps)));
    for (std::int64_t step = range.first; step <= range.last; ++step) steps.push_back(step);
  }
  return steps;
}

Json steps_to_json(const std::map<std::int64_t, bool>& steps) {
  Json list = Json::array();
  for (auto at = steps.begin(); at != steps.end();) {
    const std::int64_t first = at->first;
    std::int64_t last = first;
    while (++at != steps.end() && at->first == last + 1) ++last;
    list.push_back(first == last ? Json(first) : Json::array({first, last}));
  }
  return list;
}

bool is_rule(std::string_view slug) {
  return std::ranges::any_of(rule_table(), [&](const RuleInfo& rule) { return rule.slug == slug; });
}

}  // namespace

FindingBaseline::Key FindingBaseline::key_of(std::string_view run, const Finding& finding,
                                             const Names& names) {
  return {.run = std::string(run),
          .rule = std::string(rule_info(finding.rule).slug),
          .detail = std::string(finding.detail),
          .request = finding.request.value < 0 ? std::string() : names.request(finding.request),
          .group = finding.group,
          .content = std::string(finding_words::content_name(finding.content))};
}

void FindingBaseline::add(std::string_view run, const Finding& finding, const Names& names) {
  steps_[key_of(run, finding, names)][finding.step] = true;
}

bool FindingBaseline::has(std::string_view run, const Finding& finding, const Names& names) {
  const auto known = steps_.find(key_of(run, finding, names));
  if (known == steps_.end()) return false;
  const auto step = known->second.find(finding.step);
  if (step == known->second.end()) return false;
  step->second = true;
  return true;
}

std::int64_t FindingBaseline::num_unseen(std::string_view run) const {
  std::int64_t unseen = 0;
  for (const auto& [key, steps] : steps_)
    if (key.run == run)
      unseen += std::ranges::count_if(steps, [](const auto& step) { return !step.second; });
  return unseen;
}

std::int64_t FindingBaseline::num_steps() const {
  std::int64_t num_steps = 0;
  for (const auto& [key, steps] : steps_) num_steps += std::ssize(steps);
  return num_steps;
}

std::string FindingBaseline::line_of(const Key& key, const std::map<std::int64_t, bool>& steps) {
  Json line = {{"run", key.run}, {"rule", key.rule}};
  if (!key.detail.empty()) line["detail"] = key.detail;
  if (!key.request.empty()) line["request"] = key.request;
  if (key.group >= 0) line["group"] = key.group;
  if (!key.content.empty()) line["content"] = key.content;
  line["steps"] = steps_to_json(steps);
  return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string FindingBaseline::text() const {
  std::string text = fmt::format("{{\n  \"version\": {},\n  \"findings\": [", kBaselineVersion);
  for (const auto& [key, steps] : steps_)
    text += fmt::format("{}\n    {}", text.ends_with('[') ? "" : ",", line_of(key, steps));
  return text + (steps_.empty() ? "]\n}\n" : "\n  ]\n}\n");
}

Result<FindingBaseline> FindingBaseline::read(const std::string& path) {
  const auto text = read_text_file(path);
  if (!text.ok()) return text.error();
  const auto json = parse_json({.text = text.value(), .file = path});
  if (!json.ok()) return json.error();
  return read_json(path, [&] {
    const JsonValue root(json.value());
    root.check_keys({"version", "findings"});
    root.require("version").int64({.min = kBaselineVersion, .max = kBaselineVersion});
    FindingBaseline baseline;
    std::int64_t steps_left = kMostBaselineSteps;
    for (const JsonValue& element : root.require("findings").elements()) {
      const Key key = read_key(element);
      for (const std::int64_t step : read_steps(element.require("steps"), steps_left))
        baseline.steps_[key][step] = false;
    }
    return baseline;
  });
}

FindingBaseline::Key FindingBaseline::read_key(const JsonValue& element) {
  element.check_keys({"run", "rule", "detail", "request", "group", "content", "steps"});
  const auto text = [&](std::string_view name) { return element.string_at(name).value_or(""); };
  const auto group = element.int32_at("group", kGroups);
  Key key{.run = text("run"),
          .rule = text("rule"),
          .detail = text("detail"),
          .request = text("request"),
          .group = group.value_or(-1),
          .content = text("content")};
  if (!is_rule(key.rule))
    element.fail_at("rule", fmt::format("there is no rule {}", quoted_text(key.rule)));
  return key;
}

}  // namespace hybridscope
