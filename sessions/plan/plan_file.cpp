#include "sessions/plan/plan_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "sessions/plan/step_time.h"
#include "sessions/scenario/settings_json.h"
#include "sessions/text/json_reader.h"
#include "sessions/text/json_value.h"

namespace hybridscope {
namespace {

std::string sweeps_text(const PlanHeader& header) {
  return header.sweeps.empty() ? "none" : fmt::format("{}", fmt::join(header.sweeps, " "));
}

Error corrupt(const std::string& file, const std::string& message) {
  return Error{ErrorKind::corrupt, fmt::format("{}: {}", file, message)};
}

// Is a result of this name one of a combination, or of one under another step time?
bool is_result_of(const Sweep& sweep, const PlanHeader& header, std::string_view name) {
  if (sweep.called(name)) return true;
  return !header.step_time.empty() &&
         std::ranges::any_of(kOtherStepTimes, [&](const OtherStepTime& other) {
           return name.ends_with(other.suffix) &&
                  sweep.called(name.substr(0, name.size() - other.suffix.size()));
         });
}

// What the header says in words of its own. Error: what of it is not this program's.
Result<Sweep> understood(const PlanHeader& header) {
  if (!header.step_time.empty())
    if (const auto time = parse_step_time(header.step_time); !time.ok())
      return invalid_input("/step_time: " + time.error().message);
  return sweep_of(header);
}

Result<PlanContents> contents_of(const WholeLines& whole, const std::string& file) {
  PlanContents contents;
  std::optional<Sweep> sweep;
  int number = 0;
  for (const std::string_view line : whole.lines()) {
    const auto json = parse_json({.text = line, .file = file, .line = ++number});
    if (!json.ok()) return json.error();
    const JsonValue value(json.value());
    const auto take = [&] {
      if (number == 1) {
        contents.header = plan_header_of_json(value);
        auto read = understood(contents.header);
        if (!read.ok()) value.fail(read.error().message);
        sweep = std::move(read).value();
      } else {
        PlanResult result = plan_result_of_json(value);
        if (!is_result_of(*sweep, contents.header, result.name))
          value.fail_at("name",
                        fmt::format("{} (expected a combination of the sweeps: {})",
                                    quoted_text(result.name), sweeps_text(contents.header)));
        const auto there = contents.results.find(result.name);
        if (there != contents.results.end() && !(there->second == result))
          value.fail_at("name", fmt::format("{} has another result in a line before this one",
                                            quoted_text(result.name)));
        std::string name = result.name;
        contents.results[std::move(name)] = std::move(result);
      }
    };
    const Status taken = read_json(fmt::format("{}:{}", file, number), take, ErrorKind::corrupt);
    if (!taken.ok()) return taken.error();
  }
  return contents;
}

}  // namespace

Result<Sweep> sweep_of(const PlanHeader& header) {
  const auto json = nlohmann::json::parse(header.settings, nullptr, false);
  if (json.is_discarded())
    return invalid_input(fmt::format("/settings: {} is not JSON", quoted_text(header.settings)));
  auto settings = read_json("/settings", [&] { return read_settings(JsonValue(json)); });
  if (!settings.ok()) return settings.error();
  auto axes = parse_axes(header.sweeps);
  if (!axes.ok()) return invalid_input("/sweeps: " + axes.error().message);
  auto sweep = Sweep::create(std::move(settings).value(), std::move(axes).value());
  if (!sweep.ok()) return invalid_input("/sweeps: " + sweep.error().message);
  return sweep;
}

std::string plan_difference(const PlanHeader& a, const PlanHeader& b) {
  const struct {
    std::string_view what;
    std::string a, b;
  } all[] = {{"model", a.model, b.model},
             {"shapes of the model", a.layout, b.layout},
             {"traffic", a.traffic, b.traffic},
             {"content of the traffic", a.digest, b.digest},
             {"settings", a.settings, b.settings},
             {"step time", a.step_time, b.step_time},
             {"sweeps", sweeps_text(a), sweeps_text(b)},
             {"build of hybridscope", a.program, b.program}};
  for (const auto& one : all)
    if (one.a != one.b)
      return fmt::format("{}: {}, not {}", one.what, one.a.empty() ? "none" : one.a,
                         one.b.empty() ? "none" : one.b);
  return {};
}

Result<PlanContents> read_plan(const std::string& file) {
  const auto whole = read_whole_lines(file);
  if (!whole.ok()) return whole.error();
  if (whole.value().num_bytes == 0) return corrupt(file, "no line (expected a plan's header)");
  return contents_of(whole.value(), file);
}

Result<PlanContents> merge_plans(const std::vector<std::string>& files) {
  PlanContents merged;
  for (const std::string& file : files) {
    auto one = read_plan(file);
    if (!one.ok()) return one.error();
    if (&file == &files.front()) merged.header = one.value().header;
    if (const std::string difference = plan_difference(one.value().header, merged.header);
        !difference.empty())
      return invalid_input(
          fmt::format("{} does not belong to {}: {}", file, files.front(), difference));
    for (auto& [name, result] : one.value().results) {
      const auto [there, is_new] = merged.results.emplace(name, result);
      if (!is_new && !(there->second == result))
        return invalid_input(
            fmt::format("{} has another result of {} than a file before it", file, name));
    }
  }
  return merged;
}

bool is_plan_file(const std::string& path) {
  constexpr std::string_view kBegin = R"({"hybridscope_plan":)";
  std::ifstream file(path, std::ios::binary);
  std::string begin(kBegin.size(), '\0');
  return file.read(begin.data(), std::ssize(begin)) && begin == kBegin;
}

Result<PlanFile> PlanFile::open(const std::string& file, const PlanHeader& header) {
  auto lines = LineFile::open(file);
  if (!lines.ok()) return lines.error();
  const auto whole = read_whole_lines(file);
  if (!whole.ok()) return whole.error();
  const std::string first = header_to_json(header).dump();
  // The file begins anew, also after a crash while the header was written.
  const bool begins = whole.value().num_bytes == 0;
  if (begins && !first.starts_with(whole.value().unfinished()))
    return corrupt(file, "no line (expected a plan's header)");
  auto contents = contents_of(whole.value(), file);
  if (!contents.ok()) return contents.error();
  if (begins) contents.value().header = header;
  if (const std::string difference = plan_difference(contents.value().header, header);
      !difference.empty())
    return invalid_input(
        fmt::format("{} has another plan: {} (give another --out)", file, difference));
  if (Status cut = lines.value().cut(whole.value().num_bytes); !cut.ok()) return cut.error();
  if (begins)
    if (Status begun = lines.value().append(first); !begun.ok()) return begun.error();
  return PlanFile(std::move(lines).value(), std::move(contents).value());
}

Status PlanFile::add(const PlanResult& result) {
  if (Status added = file_.append(result_to_json(result).dump(
          -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
      !added.ok())
    return added;
  contents_.results[result.name] = result;
  return Ok{};
}

}  // namespace hybridscope
