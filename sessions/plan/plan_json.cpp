#include "sessions/plan/plan_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kPlanVersion = 1;
constexpr IntegerRange kCounts{.min = 0, .max = INT64_MAX};
constexpr IntegerRange kExactAsDouble{.min = 0, .max = std::int64_t{1} << 53};

struct Size {
  std::string_view key;
  std::int64_t PlanSizes::*value;
};
constexpr std::array kSizes = {
    Size{"block_size", &PlanSizes::block_size},
    Size{"num_blocks", &PlanSizes::num_blocks},
    Size{"block_bytes", &PlanSizes::block_bytes},
    Size{"max_num_seqs", &PlanSizes::max_num_seqs},
    Size{"num_speculative_tokens", &PlanSizes::num_speculative_tokens},
};

// A point is an array of numbers in this order.
template <class Point, class Visit>
void visit_point(Point& point, const Visit& visit) {
  visit(point.first_step);
  visit(point.time_us);
  visit(point.steps);
  visit(point.running);
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
constexpr std::array kReadCounts = {
    ReadCount{"users", [](PlanHeader& h) -> std::int64_t& { return h.how_read.load.users; }},
    ReadCount{"rate", [](PlanHeader& h) -> std::int64_t& { return h.how_read.load.rate; }},
    ReadCount{"limit", [](PlanHeader& h) -> std::int64_t& { return h.limit; }},
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

}  // namespace

Json header_to_json(const PlanHeader& header) {
  return {{"hybridscope_plan", kPlanVersion},
          {"program", header.program},
          {"model", header.model},
          {"layout", header.layout},
          {"traffic", header.traffic},
          {"how_read", how_read_to_json(header)},
          {"digest", header.digest},
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

PlanHeader plan_header_of_json(const JsonValue& place) {
  place.check_keys({"hybridscope_plan", "program", "model", "layout", "traffic", "how_read",
                    "digest", "settings", "step_time", "sweeps"});
  place.require("hybridscope_plan").int64({.min = kPlanVersion, .max = kPlanVersion});
  PlanHeader header{.program = text_at(place, "program"),
                    .model = text_at(place, "model"),
                    .layout = text_at(place, "layout"),
                    .traffic = text_at(place, "traffic"),
                    .how_read = {},
                    .limit = 0,
                    .digest = text_at(place, "digest"),
                    .settings = text_at(place, "settings"),
                    .step_time = text_at(place, "step_time"),
                    .sweeps = {}};
  if (const auto how_read = place.find("how_read")) read_how_read(*how_read, header);
  header.sweeps = place.require("sweeps").strings();
  return header;
}

PlanResult plan_result_of_json(const JsonValue& place) {
  place.check_keys({"name", "refused", "sizes", "figures", "points"});
  PlanResult result{.refused = text_at(place, "refused")};
  result.name = place.require("name").string();
  if (const auto sizes = place.find("sizes")) result.sizes = sizes_of_json(*sizes);
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

}  // namespace hybridscope
