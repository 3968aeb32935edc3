#include "sessions/plan/plan_file.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "sessions/scenario/settings_json.h"
#include "sessions/text/json_reader.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kPlanVersion = 2;
constexpr IntegerRange kCounts{.min = 0, .max = INT64_MAX};
constexpr IntegerRange kExactAsDouble{.min = 0, .max = std::int64_t{1} << 53};

struct Size {
  std::string_view key;
  std::int64_t PlanSizes::*value;
};
constexpr Size kSizes[] = {
    {"block_size", &PlanSizes::block_size},
    {"num_blocks", &PlanSizes::num_blocks},
    {"block_bytes", &PlanSizes::block_bytes},
    {"max_num_seqs", &PlanSizes::max_num_seqs},
    {"num_speculative_tokens", &PlanSizes::num_speculative_tokens},
};

// A point is an array of numbers in this order.
template <class Point, class Visit>
void visit_point(Point& point, const Visit& visit) {
  visit(point.first_step);
  visit(point.time_us);
  visit(point.steps);
  visit(point.running);
  visit(point.waiting);
  for (auto& blocks : point.blocks) visit(blocks);
  visit(point.cached_blocks);
  visit(point.hit_tokens);
  visit(point.prompt_tokens);
}

std::string text_at(const JsonValue& object, std::string_view key) {
  return object.string_at(key).value_or("");
}

PlanSizes sizes_of_json(const JsonValue& place) {
  std::vector<std::string_view> keys = {"mamba_cache_mode"};
  for (const Size& size : kSizes) keys.push_back(size.key);
  place.check_keys(keys);
  PlanSizes sizes{.mamba_cache_mode = text_at(place, "mamba_cache_mode")};
  for (const Size& size : kSizes)
    sizes.*size.value = place.int64_at(size.key, kExactAsDouble).value_or(0);
  return sizes;
}

PlanFigures figures_of_json(const JsonValue& place) {
  std::vector<std::string_view> keys;
  for (const PlanFigure& figure : plan_figures()) keys.push_back(figure.key);
  place.check_keys(keys);
  PlanFigures figures;
  for (const PlanFigure& figure : plan_figures())
    if (!figure.of_time || place.find(figure.key))
      figure.value(figures) = place.require(figure.key).int64(kExactAsDouble);
  if (figures.worst_step < 1 || figures.worst_step > figures.steps)
    place.fail_at("worst_step", fmt::format("{} (expected 1 to {}, the number of steps)",
                                            figures.worst_step, figures.steps));
  return figures;
}

PlanPoint point_of_json(const JsonValue& place) {
  const std::vector<JsonValue> numbers = place.elements();
  PlanPoint point;
  std::size_t count = 0;
  visit_point(point, [&](std::int64_t& value) {
    if (count < numbers.size()) value = numbers[count].int64(kExactAsDouble);
    ++count;
  });
  if (count != numbers.size())
    place.fail(fmt::format("{} numbers (expected {})", numbers.size(), count));
  if (point.steps < 1) place.fail("no steps (expected at least 1)");
  return point;
}

// Points are in order, of steps that the run has.
void add_point(const JsonValue& place, PlanResult& result) {
  const PlanPoint point = point_of_json(place);
  const PlanPoint before = result.points.empty() ? PlanPoint{} : result.points.back();
  const std::int64_t least = std::max<std::int64_t>(before.first_step + before.steps, 1);
  if (point.first_step < least || point.first_step + point.steps - 1 > result.figures.steps)
    place.fail(fmt::format("steps {} to {} (expected steps of {} to {})", point.first_step,
                           point.first_step + point.steps - 1, least, result.figures.steps));
  if (point.time_us < before.time_us)
    place.fail(fmt::format("{} us (expected at least {}, as the one before it)", point.time_us,
                           before.time_us));
  if (result.points.size() == kMostPlanPoints)
    place.fail(fmt::format("expected at most {}", kMostPlanPoints));
  result.points.push_back(point);
}

// How the traffic was read: what is not the default.
struct ReadCount {
  std::string_view key;
  std::int64_t& (*value)(PlanHeader&);
};
constexpr ReadCount kReadCounts[] = {
    {"users", [](PlanHeader& h) -> std::int64_t& { return h.how_read.load.users; }},
    {"rate", [](PlanHeader& h) -> std::int64_t& { return h.how_read.load.rate; }},
    {"limit", [](PlanHeader& h) -> std::int64_t& { return h.limit; }},
};

Json how_read_to_json(PlanHeader header) {
  Json json = Json::object();
  if (!header.how_read.format.empty()) json["format"] = header.how_read.format;
  for (const ReadCount& count : kReadCounts)
    if (count.value(header) != 0) json[std::string(count.key)] = count.value(header);
  if (header.how_read.load.think_us) json["think_us"] = *header.how_read.load.think_us;
  if (header.how_read.load.seed != 0) json["seed"] = header.how_read.load.seed;
  return json;
}

void read_how_read(const JsonValue& place, PlanHeader& header) {
  place.check_keys({"format", "users", "rate", "limit", "think_us", "seed"});
  header.how_read.format = text_at(place, "format");
  for (const ReadCount& count : kReadCounts)
    count.value(header) = place.int64_at(count.key, kCounts).value_or(0);
  header.how_read.load.think_us = place.int64_at("think_us", kCounts);
  header.how_read.load.seed =
      static_cast<std::uint64_t>(place.int64_at("seed", kCounts).value_or(0));
}

PlanHeader plan_header_of_json(const JsonValue& place) {
  place.check_keys({"hybridscope_plan", "program", "model", "layout", "traffic", "how_read",
                    "digest", "arrivals_us", "settings", "step_time", "sweeps"});
  place.require("hybridscope_plan").int64({.min = kPlanVersion, .max = kPlanVersion});
  PlanHeader header{.program = text_at(place, "program"),
                    .model = text_at(place, "model"),
                    .layout = text_at(place, "layout"),
                    .traffic = text_at(place, "traffic"),
                    .how_read = {},
                    .limit = 0,
                    .digest = text_at(place, "digest"),
                    .arrivals_us = place.int64_at("arrivals_us", kExactAsDouble).value_or(0),
                    .settings = text_at(place, "settings"),
                    .step_time = text_at(place, "step_time"),
                    .sweeps = {}};
  if (const auto how_read = place.find("how_read")) read_how_read(*how_read, header);
  header.sweeps = place.require("sweeps").strings();
  return header;
}

}  // namespace

Json header_to_json(const PlanHeader& header) {
  return {{"hybridscope_plan", kPlanVersion},
          {"program", header.program},
          {"model", header.model},
          {"layout", header.layout},
          {"traffic", header.traffic},
          {"how_read", how_read_to_json(header)},
          {"digest", header.digest},
          {"arrivals_us", header.arrivals_us},
          {"settings", header.settings},
          {"step_time", header.step_time},
          {"sweeps", header.sweeps}};
}

Json result_to_json(const PlanResult& result) {
  Json json = {{"name", result.name}};
  if (!result.refused.empty()) json["refused"] = result.refused;
  if (result.figures.steps == 0) return json;
  Json& sizes = json["sizes"] = {{"mamba_cache_mode", result.sizes.mamba_cache_mode}};
  for (const Size& size : kSizes) sizes[std::string(size.key)] = result.sizes.*size.value;
  json["num_changes"] = result.num_changes;
  PlanFigures figures = result.figures;
  for (const PlanFigure& figure : plan_figures())
    if (!figure.of_time || figures.latency.span_us > 0)
      json["figures"][std::string(figure.key)] = figure.value(figures);
  Json& points = json["points"] = Json::array();
  for (const PlanPoint& point : result.points) {
    Json numbers = Json::array();
    visit_point(point, [&](const std::int64_t& value) { numbers.push_back(value); });
    points.push_back(std::move(numbers));
  }
  return json;
}

PlanResult plan_result_of_json(const JsonValue& place) {
  place.check_keys({"name", "refused", "sizes", "num_changes", "figures", "points"});
  PlanResult result{.refused = text_at(place, "refused")};
  result.name = place.require("name").string();
  if (const auto sizes = place.find("sizes")) result.sizes = sizes_of_json(*sizes);
  result.num_changes = place.int64_at("num_changes", kCounts).value_or(0);
  if (const auto figures = place.find("figures")) {
    result.figures = figures_of_json(*figures);
    place.require("sizes");
  } else if (result.refused.empty())
    place.require("figures");
  if (result.has_steps() && !result.ran() && !result.did_not_end())
    place.fail_at("figures",
                  fmt::format("there are some (expected none, or \"refused\" to begin with \"{}\")",
                              kDidNotEnd));
  if (const auto points = place.find("points"))
    for (const JsonValue& one : points->elements()) add_point(one, result);
  return result;
}

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

// Why two files do not belong to one plan: "traffic: conversation.jsonl, not other.jsonl"; empty:
// they do.
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
